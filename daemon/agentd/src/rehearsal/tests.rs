//! The rehearsal over raw TCP, and its scenes as data.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Rehearsal;
use super::script::{Beat, play};

fn user(text: &str) -> Value {
    json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] })
}

fn output(text: &str) -> Value {
    json!({ "type": "function_call_output", "call_id": "c", "output": text })
}

/// The beats, shortened to what matters.
fn beats(input: &[Value]) -> Vec<String> {
    let shown = |beat: &Beat| match beat {
        Beat::Think(_) => "think".to_owned(),
        Beat::Say { text, .. } => format!("say {text}"),
        Beat::Call { name, arguments } => format!("{name} {arguments}"),
    };
    play(&json!({ "input": input })).iter().map(shown).collect()
}

#[test]
fn the_tour_goes_on_with_each_output() {
    let mut input = vec![user("<environment_context>"), user("please: rehearsal: tour")];
    let step = beats(&input);
    assert_eq!((step.len(), step[0].as_str()), (3, "think"));
    assert!(
        step[1..].iter().all(|call| call.starts_with("exec_command")),
        "{step:?}"
    );

    input.extend([
        output("Process exited with code 0\nOutput:\nx"),
        output("Process exited with code 0\n"),
    ]);
    let step = beats(&input);
    assert!(step[1].contains("/var/tmp/agentd-rehearsal-escape"), "{step:?}");

    input.push(output(
        "Process exited with code 1\nOutput:\nbash: Read-only file system\n",
    ));
    let step = beats(&input);
    assert!(
        step[0].starts_with("update_plan") && step[1].contains("*** Add File: HELLO.md"),
        "{step:?}"
    );

    input.extend([output("Plan updated"), output("rejected by user")]);
    assert!(beats(&input)[0].starts_with("update_plan") && !beats(&input)[0].contains("in_progress"));

    input.push(output("Plan updated"));
    let step = beats(&input);
    assert_eq!(step.len(), 1);
    for said in [
        "not a language model",
        "exit code 1 (bash: Read-only file system)",
        "The patch: rejected by user",
    ] {
        assert!(step[0].contains(said), "{step:?}");
    }

    input.extend([user("rehearsal: tour - again"), output("a"), output("b"), output("c")]);
    assert!(beats(&input)[1].contains("HELLO-2.md"));
}

#[test]
fn other_prompts_get_one_command_and_an_honest_answer() {
    let mut input = vec![user("fix my bug\nplease"), user("<turn_aborted>\n</turn_aborted>")];
    assert_eq!(beats(&input), ["think", r#"exec_command {"cmd":"pwd; ls"}"#]);
    input.push(output("Process exited with code 7\nOutput:\nboom"));
    let step = beats(&input);
    for said in [
        "not a language model",
        "“fix my bug”",
        "exit code 7",
        "OPENAI_API_KEY",
        "[model_providers]",
    ] {
        assert!(step[0].contains(said), "{step:?}");
    }
}

#[test]
fn the_long_scene_is_long() {
    let step = beats(&[user("rehearsal: long")]);
    assert!(
        step[0].split(' ').count() >= 60 && step[1].contains("seq 1 100"),
        "{step:?}"
    );
    assert!(beats(&[user("rehearsal: long"), output("x")])[0].split(' ').count() >= 400);
}

#[test]
fn odd_requests_are_played_too() {
    for request in [
        json!({}),
        json!([]),
        json!({ "input": "rehearsal: tour" }),
        json!({ "input": [1, null, {}] }),
    ] {
        assert!(!play(&request).is_empty(), "{request}");
    }
}

async fn connect(rehearsal: &Rehearsal) -> TcpStream {
    TcpStream::connect(rehearsal.address).await.unwrap()
}

/// Reads up to and including `end`.
async fn read_until(socket: &mut TcpStream, end: &str) -> String {
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains(end) {
        let read = tokio::time::timeout(Duration::from_secs(10), socket.read_buf(&mut bytes))
            .await
            .unwrap()
            .unwrap();
        assert!(read > 0, "ended early: {}", String::from_utf8_lossy(&bytes));
    }
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn streams_over_a_kept_connection_and_stops_at_shutdown() {
    let (tracker, shutdown) = (TaskTracker::new(), CancellationToken::new());
    let rehearsal = Rehearsal::start(&tracker, shutdown.clone()).await.unwrap();
    assert!(rehearsal.base_url().starts_with("http://127.0.0.1:"));
    let body = json!({ "input": [user("hello")] }).to_string();
    let (head, tail) = body.split_at(10);
    let requests = [
        format!(
            "POST /v1/responses?x=1 HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ),
        format!(
            "POST /v1/responses HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\na\r\n{head}\r\n{:x};x\r\n{tail}\r\n0\r\n\r\n",
            tail.len()
        ),
    ];
    let mut socket = connect(&rehearsal).await;
    for request in requests {
        socket.write_all(request.as_bytes()).await.unwrap();
        let answer = read_until(&mut socket, "\r\n0\r\n\r\n").await;
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"),
            "{answer}"
        );
        let kinds: Vec<&str> = answer
            .lines()
            .filter_map(|line| line.strip_prefix("event: response."))
            .collect();
        assert_eq!(
            (kinds[0], kinds[1], kinds[2]),
            ("created", "output_item.added", "reasoning_summary_part.added")
        );
        assert_eq!(kinds.last(), Some(&"completed"));
        for data in answer.lines().filter_map(|line| line.strip_prefix("data: ")) {
            serde_json::from_str::<Value>(data).unwrap();
        }
        assert!(answer.contains(r#""arguments":"{\"cmd\":\"pwd; ls\"}""#), "{answer}");
    }
    shutdown.cancel();
    tracker.close();
    tokio::time::timeout(Duration::from_secs(3), tracker.wait())
        .await
        .unwrap();
}

#[tokio::test]
async fn bad_requests_are_refused() {
    let (tracker, shutdown) = (TaskTracker::new(), CancellationToken::new());
    let rehearsal = Rehearsal::start(&tracker, shutdown).await.unwrap();
    let table = [
        ("GET /v1/models HTTP/1.1\r\n\r\n", "404"),
        ("GET /v1/responses HTTP/1.1\r\n\r\n", "405"),
        ("POST /v1/responses HTTP/1.1\r\nContent-Length: 1\r\n\r\n{", "400"),
        (
            "POST /v1/responses HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
            "400",
        ),
        ("POST /v1/responses HTTP/1.1\r\nContent-Length: x\r\n\r\n", "400"),
        (
            "POST /v1/responses HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "400",
        ),
        ("hello\r\n\r\n", "400"),
    ];
    for (request, status) in table {
        let mut socket = connect(&rehearsal).await;
        socket.write_all(request.as_bytes()).await.unwrap();
        let answer = read_until(&mut socket, "}}").await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request}: {answer}"
        );
    }
}

#[tokio::test]
async fn words_are_paced() {
    let (tracker, shutdown) = (TaskTracker::new(), CancellationToken::new());
    let rehearsal = Rehearsal::start(&tracker, shutdown).await.unwrap();
    let body = json!({ "input": [user("rehearsal: long")] }).to_string();
    let request = format!(
        "POST /v1/responses HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut socket = connect(&rehearsal).await;
    let begun = Instant::now();
    socket.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut socket, "word-20 ").await;
    assert!(begun.elapsed() >= Duration::from_millis(500), "{:?}", begun.elapsed());
}
