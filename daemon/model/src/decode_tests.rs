//! Stream events as data: what each becomes.

use super::*;

/// A printed form that is easy to compare.
fn shown(events: &[ModelEvent]) -> Vec<String> {
    events
        .iter()
        .map(|event| match event {
            ModelEvent::ItemAdded { item } => format!("added {item}"),
            ModelEvent::ItemDone { item } => format!("done {item}"),
            ModelEvent::Failed(failure) => format!("failed {} {:?} {}", failure.info, failure.retry, failure.message),
            ModelEvent::Completed { usage, end_turn } => {
                format!(
                    "completed {:?} {end_turn:?}",
                    usage.map(|u| (u.input_tokens, u.cached_input_tokens, u.output_tokens, u.total_tokens))
                )
            }
            other => format!("{other:?}"),
        })
        .collect()
}

fn decode(events: &[&str]) -> (Vec<String>, Progress) {
    let (mut decoder, mut out) = (Decoder::default(), Vec::new());
    let mut progress = Progress::Open;
    for event in events {
        progress = decoder.event(event, &mut out);
    }
    (shown(&out), progress)
}

#[test]
fn single_events() {
    let table: &[(&str, &[&str])] = &[
        (r#"{"type":"response.created","response":{"id":"r"}}"#, &[]),
        (
            r#"{"type":"response.output_text.delta","delta":"a\n","item_id":"m"}"#,
            &[r#"TextDelta { item_id: Some("m"), delta: "a\n" }"#],
        ),
        (
            r#"{"delta":"a","item_id":null,"type":"response.output_text.delta"}"#,
            &[r#"TextDelta { item_id: None, delta: "a" }"#],
        ),
        (
            r#"{"type":"response.reasoning_summary_part.added","summary_index":2}"#,
            &["ReasoningSummaryPartAdded { item_id: None, summary_index: 2 }"],
        ),
        (
            r#"{"type":"response.reasoning_summary_text.delta","summary_index":1,"delta":"s"}"#,
            &[r#"ReasoningSummaryDelta { item_id: None, summary_index: 1, delta: "s" }"#],
        ),
        (
            r#"{"type":"response.reasoning_text.delta","content_index":3,"delta":"t"}"#,
            &[r#"ReasoningTextDelta { item_id: None, content_index: 3, delta: "t" }"#],
        ),
        (
            r#"{"type":"response.output_item.added","item": {"b" : 1.50,"a":2}}"#,
            &[r#"added {"b" : 1.50,"a":2}"#],
        ),
        (
            r#"{"type":"response.output_item.done","item":{"type":"function_call"}}"#,
            &[r#"done {"type":"function_call"}"#],
        ),
        (r#"{"type":"response.function_call_arguments.delta","delta":"{"}"#, &[]),
        (r#"{"type":"response.audio.delta","delta":{"x":1}}"#, &[]),
        (r#"{"type":"response.output_text.delta"}"#, &[]),
        (r#"{"type":"codex.rate_limits"}"#, &[]),
        (r#"{"type":7}"#, &[]),
        ("[DONE]", &[]),
        ("{", &[]),
        ("", &[]),
    ];
    for (data, want) in table {
        let (got, progress) = decode(&[data]);
        assert_eq!(
            (got.as_slice(), progress),
            (
                want.iter().map(|s| s.to_string()).collect::<Vec<_>>().as_slice(),
                Progress::Open
            ),
            "{data}"
        );
    }
}

#[test]
fn last_events() {
    let table = [
        (r#"{"type":"response.completed"}"#, "completed None None"),
        (
            r#"{"type":"response.completed","response":{"usage":null,"end_turn":false}}"#,
            "completed None Some(false)",
        ),
        (
            r#"{"type":"response.completed","response":{"usage":{},"end_turn":"x"}}"#,
            "completed None None",
        ),
        (
            r#"{"type":"response.completed","response":{"usage":{"input_tokens":5,"input_tokens_details":null,"output_tokens":2}}}"#,
            "completed Some((5, 0, 2, 7)) None",
        ),
        (
            r#"{"type":"response.completed","response":{"usage":{"input_tokens":5,"input_tokens_details":{"cached_tokens":4},"output_tokens":2,"total_tokens":9.0}}}"#,
            "completed Some((5, 4, 2, 9)) None",
        ),
        (
            r#"{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"full"}}}"#,
            r#"failed "contextWindowExceeded" Never full"#,
        ),
        (
            r#"{"type":"response.completed","response":{"error":{"code":"insufficient_quota","message":"pay"}}}"#,
            r#"failed "usageLimitExceeded" Never pay"#,
        ),
        (
            r#"{"type":"response.completed","response":{"status":"cancelled","error":{"message":"stopped"}}}"#,
            r#"failed "other" Backoff stopped"#,
        ),
        (
            r#"{"type":"response.failed","response":{"error":null}}"#,
            r#"failed "other" Backoff the model service reported a failure without saying which"#,
        ),
        (
            r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}"#,
            r#"failed "other" Never Incomplete response returned, reason: max_output_tokens"#,
        ),
        (
            r#"{"type":"response.completed","response":{"status":"incomplete","incomplete_details":{"reason":"x"}}}"#,
            r#"failed "other" Never Incomplete response returned, reason: x"#,
        ),
    ];
    for (data, want) in table {
        assert_eq!(decode(&[data]), (vec![want.to_owned()], Progress::Ended), "{data}");
    }
}

#[test]
fn items_that_only_the_completed_response_names() {
    let done = r#"{"type":"response.output_item.done","item":{"id":"a"}}"#;
    let table: &[(&[&str], &str, &[&str])] = &[
        (
            &[],
            r#"[{"id":"a"},{"x":1}]"#,
            &[r#"done {"id":"a"}"#, r#"done {"x":1}"#],
        ),
        (
            &[done],
            r#"[{"id":"a"},{"id":"b"}]"#,
            &[r#"done {"id":"a"}"#, r#"done {"id":"b"}"#],
        ),
        (&[done], r#"[{"id":"renamed"}]"#, &[r#"done {"id":"a"}"#]),
        (&[done], r#"[]"#, &[r#"done {"id":"a"}"#]),
        (&[done], r#"{"odd":1}"#, &[r#"done {"id":"a"}"#]),
    ];
    for (before, output, want) in table {
        let completed = format!(r#"{{"type":"response.completed","response":{{"output":{output}}}}}"#);
        let events: Vec<&str> = before.iter().copied().chain([completed.as_str()]).collect();
        let (mut got, _) = decode(&events);
        assert_eq!(got.pop().as_deref(), Some("completed None None"));
        assert_eq!(got, *want, "{before:?} {output}");
    }
}

#[test]
fn an_error_event_explains_a_stream_that_ends() {
    let table = [
        (r#"{"type":"error","code":"x","message":"boom"}"#, "boom"),
        (r#"{"type":"error","error":{"message":"inner"}}"#, "inner"),
        (r#"{"error":{"message":"no type"}}"#, "no type"),
    ];
    for (data, want) in table {
        let mut decoder = Decoder::default();
        decoder.event(data, &mut Vec::new());
        let failure = decoder.cut_short("closed");
        assert_eq!(failure.message, want);
        assert!(failure.details.unwrap().contains("before completion: closed"));
    }
    assert_eq!(
        Decoder::default().cut_short("closed").message,
        "stream disconnected before completion: closed"
    );
}

#[test]
fn whole_responses() {
    let table: &[(&str, &[&str])] = &[
        (
            r#"{"status":"completed","output":[{"id":"m","type":"message"}],"usage":{"input_tokens":1,"output_tokens":1}}"#,
            &[
                r#"done {"id":"m","type":"message"}"#,
                "completed Some((1, 0, 1, 2)) None",
            ],
        ),
        (
            r#"{"status":"failed","error":{"code":"invalid_prompt","message":"no"}}"#,
            &[r#"failed "other" Never no"#],
        ),
    ];
    for (body, want) in table {
        let mut out = Vec::new();
        Decoder::default().whole(body.as_bytes(), &mut out);
        assert_eq!(shown(&out), *want);
    }
    for body in ["{}", "[]", "<html>", ""] {
        let mut out = Vec::new();
        Decoder::default().whole(body.as_bytes(), &mut out);
        assert!(matches!(out.as_slice(), [ModelEvent::Failed(_)]), "{body}");
    }
}
