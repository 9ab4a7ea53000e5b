//! What every kind of message is taken for.

use super::*;

/// One line that shows everything about a parsed message.
fn show(bytes: &[u8]) -> String {
    let envelope = parse(bytes);
    let params = |params: Option<&RawValue>| params.map_or("absent".to_owned(), |raw| raw.get().to_owned());
    let id = |id: Option<RequestId>| id.map_or("null".to_owned(), |id| id.as_json().to_owned());
    let shown = match envelope.message {
        Message::Request { id, method, params: p } => format!("request {id} {method} {}", params(p)),
        Message::Notification { method, params: p } => format!("notification {method} {}", params(p)),
        Message::Response {
            id: i,
            outcome: Ok(result),
        } => format!("result {} {}", id(i), result.get()),
        Message::Response {
            id: i,
            outcome: Err(error),
        } => format!("error {} {} {}", id(i), error.code, error.message),
        Message::Invalid { id: i, error } => {
            assert!(error.kind().is_some());
            format!("invalid {} {}", id(i), error.code)
        }
    };
    match envelope.dialect {
        Dialect::Bare => shown,
        Dialect::Versioned => format!("2.0 {shown}"),
    }
}

#[test]
fn messages_are_told_apart() {
    let cases: &[(&str, &str)] = &[
        (
            r#"{"id":1,"method":"a/b","params":{"x":1}}"#,
            r#"request 1 a/b {"x":1}"#,
        ),
        (r#" {"method":"a","id":-7} "#, "request -7 a absent"),
        (r#"{"id":1,"method":"a","params":null}"#, "request 1 a null"),
        (r#"{"id":"","method":"a","params":[]}"#, r#"request "" a []"#),
        (
            r#"{"id":"\u0061\n","method":"\u0061"}"#,
            r#"request "\u0061\n" a absent"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":9223372036854775807,"method":"a"}"#,
            "2.0 request 9223372036854775807 a absent",
        ),
        (
            r#"{"jsonrpc":"1.0","method":"a","extra":[{}]}"#,
            "notification a absent",
        ),
        (
            r#"{"method":"a","params":{"s":"}{]["}}"#,
            r#"notification a {"s":"}{]["}"#,
        ),
        (r#"{"id":3,"result":null}"#, "result 3 null"),
        (r#"{"id":"x","result":{"a":1},"error":null}"#, r#"result "x" {"a":1}"#),
        (
            r#"{"id":3,"error":{"code":-1,"message":"no","data":5}}"#,
            "error 3 -1 no",
        ),
        (
            r#"{"id":null,"error":{"code":-32700,"message":"no"}}"#,
            "error null -32700 no",
        ),
        (r#"{"id":3,"error":"odd"}"#, r#"error 3 -32603 "odd""#),
        (r#"{"id":1.5,"result":{}}"#, "result null {}"),
    ];
    for (text, shown) in cases {
        assert_eq!(show(text.as_bytes()), *shown, "{text}");
    }
}

#[test]
fn what_is_no_message_gets_the_right_code_and_id() {
    let cases: &[(&[u8], &str)] = &[
        (b"", "invalid null -32700"),
        (b"  \r", "invalid null -32700"),
        (b"{", "invalid null -32700"),
        (b"hello", "invalid null -32700"),
        (
            b"{\"id\":1,\"method\":\"a\"}{\"id\":2,\"method\":\"a\"}",
            "invalid null -32700",
        ),
        (b"{\"id\":1,\"method\":\"a\0\"}", "invalid null -32700"),
        (b"\0", "invalid null -32700"),
        (b"{\"id\":1,\"method\":\"\xff\"}", "invalid null -32700"),
        (b"\xef\xbb\xbf{\"id\":1,\"method\":\"a\"}", "invalid null -32700"),
        (b"[1,", "invalid null -32700"),
        (b"42", "invalid null -32600"),
        (b"null", "invalid null -32600"),
        (b"\"text\"", "invalid null -32600"),
        (b"{}", "invalid null -32600"),
        (b"[]", "invalid null -32600"),
        (b"[{\"id\":1,\"method\":\"a\"}]", "invalid null -32600"),
        (b"{\"id\":7}", "invalid 7 -32600"),
        (b"{\"id\":7,\"error\":null}", "invalid 7 -32600"),
        (b"{\"id\":7,\"method\":5}", "invalid 7 -32600"),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":null}",
            "2.0 invalid \"x\" -32600",
        ),
        (b"{\"id\":1,\"id\":2,\"method\":\"a\"}", "invalid null -32600"),
        (
            b"{\"id\":7,\"method\":\"a\",\"params\":{\"s\":\"\\ud83d\"}}",
            "invalid 7 -32600",
        ),
        (b"{\"id\":7,\"method\":\"\\ude00\"}", "invalid 7 -32600"),
        (b"{\"id\":\"\\ud83d\",\"method\":\"a\"}", "invalid null -32600"),
    ];
    for (bytes, shown) in cases {
        assert_eq!(show(bytes), *shown, "{}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn ids_are_strings_or_whole_numbers() {
    for id in [
        "1.0",
        "1e3",
        "null",
        "{}",
        "[1]",
        "true",
        "9223372036854775808",
        "-9223372036854775809",
    ] {
        let text = format!("{{\"id\":{id},\"method\":\"a\"}}");
        assert_eq!(show(text.as_bytes()), "invalid null -32600", "{id}");
    }
}

#[test]
fn surrogate_pairs_and_escaped_backslashes_are_fine() {
    for string in [
        r"\ud83d\ude00",
        r"\uD83D\uDE00x",
        r"\\ud83d",
        r#"\"\u0000"#,
        "\u{1F600}",
    ] {
        let text = format!("{{\"id\":1,\"method\":\"a\",\"params\":\"{string}\"}}");
        assert_eq!(show(text.as_bytes()), format!("request 1 a \"{string}\""));
    }
}

#[test]
fn depth_is_limited_wherever_it_is() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    for (depth, valid) in [
        (MAX_DEPTH - 1, true),
        (MAX_DEPTH, false),
        (5_000, false),
        (1_000_000, false),
    ] {
        for member in ["params", "unknown"] {
            let text = format!("{{\"id\":1,\"method\":\"a\",\"{member}\":{}}}", nested(depth));
            assert_eq!(show(text.as_bytes()).starts_with("request"), valid, "{member} {depth}");
        }
        let id = format!("{{\"id\":{},\"method\":\"a\"}}", nested(depth));
        assert_eq!(show(id.as_bytes()), "invalid null -32600");
    }
    assert_eq!(show(nested(5_000).as_bytes()), "invalid null -32600");
    assert_eq!(show("[".repeat(1_000_000).as_bytes()), "invalid null -32700");
    assert_eq!(show("{\"a\":".repeat(200_000).as_bytes()), "invalid null -32700");
}

#[test]
fn params_of_the_greatest_depth_can_be_decoded() {
    let depth = MAX_DEPTH - 1;
    let text = format!(
        "{{\"id\":1,\"method\":\"a\",\"params\":{}{}}}",
        "[".repeat(depth),
        "]".repeat(depth)
    );
    match parse(text.as_bytes()).message {
        Message::Request {
            params: Some(params), ..
        } => {
            assert!(serde_json::from_str::<serde_json::Value>(params.get()).is_ok());
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_cut_and_every_changed_byte_is_survived() {
    let text = br#"{"jsonrpc":"2.0","id":"q\u00e9","method":"a/b","params":{"x":[1,-2.5e3,"\ud83d\ude00",null]}}"#;
    for cut in 0..text.len() {
        assert!(show(&text[..cut]).contains("-32700"), "{cut}");
        for byte in [0, b'"', b'\\', b'{', b'}', b'u', 0xff] {
            let mut changed = text.to_vec();
            changed[cut] = byte;
            show(&changed);
        }
    }
}

#[test]
fn methods_and_params_are_borrowed() {
    let envelope = parse(br#"{"id":1,"method":"turn/start","params":{}}"#);
    assert!(matches!(
        envelope.message,
        Message::Request {
            method: Cow::Borrowed("turn/start"),
            ..
        }
    ));
}
