//! Malformed input: every bad line gets exactly one error, and the connection stays useful. W02.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use agentd_tests::daemon::{Home, eventually};
use agentd_tests::model::MockModel;
use serde_json::{Value, json};

/// Bad input, and the code and id of its error.
fn bad() -> Vec<(Vec<u8>, i64, Value)> {
    let deep = format!(
        "{{\"id\":5,\"method\":\"thread/list\",\"params\":{}{}}}",
        "{\"a\":".repeat(5000),
        "1".to_owned() + &"}".repeat(5000)
    );
    vec![
        (b"not json".to_vec(), -32700, Value::Null),
        (br#"[{"id":1,"method":"thread/list"}]"#.to_vec(), -32600, Value::Null),
        (
            br#"{"id":null,"method":"thread/list","params":{}}"#.to_vec(),
            -32600,
            Value::Null,
        ),
        (
            br#"{"id":1.5,"method":"thread/list","params":{}}"#.to_vec(),
            -32600,
            Value::Null,
        ),
        (
            br#"{"id":9223372036854775808,"method":"thread/list","params":{}}"#.to_vec(),
            -32600,
            Value::Null,
        ),
        (deep.into_bytes(), -32700, Value::Null),
        (b"42".to_vec(), -32600, Value::Null),
        (b"{}".to_vec(), -32600, Value::Null),
        (br#"{"id":7,"method":5}"#.to_vec(), -32600, json!(7)),
        (
            br#"{"id":8,"method":"thread/list","params":{}} {"id":9}"#.to_vec(),
            -32700,
            Value::Null,
        ),
        (
            b"{\"id\":10,\"method\":\"thread/list\",\"params\":{\"cursor\":\"\xff\"}}".to_vec(),
            -32700,
            Value::Null,
        ),
        (
            br#"{"id":11,"method":"thread/list","params":[]}"#.to_vec(),
            -32602,
            json!(11),
        ),
    ]
}

fn judge(answer: &str, code: i64, id: &Value, input: &[u8]) {
    let answer: Value = serde_json::from_str(answer).unwrap();
    let shown = String::from_utf8_lossy(&input[..input.len().min(60)]).into_owned();
    let accepted_codes = [code, -32700, -32600];
    assert!(
        accepted_codes.contains(&answer["error"]["code"].as_i64().unwrap_or(0)),
        "{shown}: {answer}"
    );
    assert!(answer["error"]["data"]["kind"].is_string(), "{shown}: {answer}");
    assert!(
        answer["id"] == *id || answer["id"].is_null() || id.is_null(),
        "{shown}: {answer}"
    );
}

/// `utf8`: whether the transport itself insists on UTF-8 (a WebSocket must be closed on a text frame that is not).
fn exchange(utf8: bool, mut write: impl FnMut(&[u8]), mut read: impl FnMut() -> String) {
    write(br#"{"id":"i","method":"initialize","params":{"clientInfo":{"name":"x","title":null,"version":"1"}}}"#);
    assert!(read().contains("userAgent"));
    for (input, code, id) in bad()
        .into_iter()
        .filter(|(input, ..)| !utf8 || std::str::from_utf8(input).is_ok())
    {
        write(&input);
        judge(&read(), code, &id, &input);
    }
    write(br#"{"id":99,"method":"thread/list","params":{"searchTerm":"\ud83d"}}"#);
    let surrogate: Value = serde_json::from_str(&read()).unwrap();
    assert!(
        surrogate.get("error").is_some(),
        "a lone surrogate is an error: {surrogate}"
    );
    write(br#"{"id":100,"method":"thread/list","params":{}}"#);
    let good: Value = serde_json::from_str(&read()).unwrap();
    assert_eq!(good["id"], 100);
    assert!(good["result"]["data"].is_array(), "{good}");
}

#[test]
fn over_stdio() {
    let model = MockModel::replies(vec![]);
    let home = Home::new(&model);
    let mut daemon = home.spawn();
    let (mut input, mut output) = (
        daemon.child.stdin.take().unwrap(),
        BufReader::new(daemon.child.stdout.take().unwrap()),
    );
    exchange(
        false,
        |bytes| {
            input.write_all(bytes).unwrap();
            input.write_all(b"\n").unwrap();
        },
        || {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            line
        },
    );
}

fn socket(home: &Home) -> UnixStream {
    let path = home.path().join("agentd.sock");
    eventually("the socket is there", Duration::from_secs(5), || {
        UnixStream::connect(&path).is_ok()
    });
    let stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream
}

#[test]
fn over_the_unix_socket_as_json_lines() {
    let model = MockModel::replies(vec![]);
    let home = Home::new(&model);
    let _daemon = home.spawn();
    let mut writer = socket(&home);
    let mut reader = BufReader::new(writer.try_clone().unwrap());
    exchange(
        false,
        |bytes| writer.write_all(&[bytes, b"\n"].concat()).unwrap(),
        || {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            line
        },
    );
}

#[test]
fn over_the_unix_socket_as_websocket() {
    let model = MockModel::replies(vec![]);
    let home = Home::new(&model);
    let _daemon = home.spawn();
    let mut writer = socket(&home);
    writer
        .write_all(b"GET /any/path HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        .unwrap();
    let mut reader = BufReader::new(writer.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
    }
    assert!(
        head.starts_with("HTTP/1.1 101") && head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
        "{head}"
    );
    exchange(
        true,
        |bytes| writer.write_all(&frame(bytes)).unwrap(),
        || read_frame(&mut reader),
    );
}

/// A masked text frame (mask of zeros).
fn frame(payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x81];
    match payload.len() {
        n if n < 126 => frame.push(0x80 | n as u8),
        n if n < 65536 => {
            frame.push(0xfe);
            frame.extend_from_slice(&(n as u16).to_be_bytes());
        }
        n => {
            frame.push(0xff);
            frame.extend_from_slice(&(n as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(payload);
    frame
}

fn read_frame(reader: &mut impl Read) -> String {
    let mut head = [0; 2];
    reader.read_exact(&mut head).unwrap();
    let mut length = u64::from(head[1] & 0x7f);
    if length == 126 {
        let mut more = [0; 2];
        reader.read_exact(&mut more).unwrap();
        length = u16::from_be_bytes(more).into();
    } else if length == 127 {
        let mut more = [0; 8];
        reader.read_exact(&mut more).unwrap();
        length = u64::from_be_bytes(more);
    }
    let mut payload = vec![0; usize::try_from(length).unwrap()];
    reader.read_exact(&mut payload).unwrap();
    String::from_utf8(payload).unwrap()
}
