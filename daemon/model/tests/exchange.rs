//! Whole exchanges with a scripted server: retries, limits, breaks, cancellation, throughput.

mod support;

use std::time::{Duration, Instant};

use agentd_engine::input::{ModelEvent, ModelFailure, RetryAdvice};
use agentd_model::{ModelClient, RequestContext};
use bytes::Bytes;
use serde_json::json;
use support::{Server, Step, answer, ask, ask_with, event, good, provider, sse, stream_head};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_secs(20);

fn failure(batches: &[Vec<ModelEvent>]) -> Option<&ModelFailure> {
    match batches.last()?.last()? {
        ModelEvent::Failed(failure) => Some(failure),
        _ => None,
    }
}

fn text(batches: &[Vec<ModelEvent>]) -> String {
    let delta = |event: &ModelEvent| match event {
        ModelEvent::TextDelta { delta, .. } => Some(delta.clone()),
        _ => None,
    };
    batches.iter().flatten().filter_map(delta).collect()
}

#[tokio::test]
async fn pieces_arrive_as_one_sized_body_and_connections_are_reused() {
    let chunked = good();
    let response = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{chunked}\r\n0\r\n\r\n",
        chunked.len()
    );
    let server = Server::start(vec![vec![Step::Write(response.into_bytes())]]).await;
    let client = ModelClient::new();
    let large = vec![
        Bytes::from(vec![b'a'; 3 << 20]),
        Bytes::new(),
        Bytes::from(vec![b'b'; 2 << 20]),
    ];
    let small = vec![Bytes::from_static(b"{\"a\":"), Bytes::from_static(b"1}")];
    for body in [large, small.clone(), vec![Bytes::from_static(b"{}")]] {
        let batches = ask_with(&client, &provider(&server.base_url, 0, LONG), body.clone()).await;
        assert_eq!((text(&batches).as_str(), failure(&batches)), ("hi", None));
        assert_eq!(server.requests.lock().unwrap().last().unwrap().1, body.concat());
    }
    assert_eq!((server.count(), *server.connections.lock().unwrap()), (3, 1));
    let head = server.requests.lock().unwrap()[0].0.to_lowercase();
    assert!(
        head.starts_with("post /v1/responses?key=topsecret http/1.1\r\n"),
        "{head}"
    );
    for line in [
        "thread-id: thread-1",
        "accept: text/event-stream",
        "content-type: application/json",
    ] {
        assert!(head.contains(&format!("{line}\r\n")), "{head}");
    }
    assert_eq!(head.matches("content-length").count(), 1, "{head}");
    assert!(!head.contains("authorization"), "{head}");
}

#[tokio::test]
async fn refusals_are_retried_as_often_as_allowed() {
    let ok = sse(&good());
    let busy = |code: &str| answer(code, "retry-after-ms: 1\r\n", "");
    // answers, allowed retries, requests seen, whether it failed
    let table = [
        (vec![busy("500 X"), ok.clone()], 4, 2, false),
        (
            vec![busy("503 X"), busy("408 X"), busy("409 X"), ok.clone()],
            3,
            4,
            false,
        ),
        (vec![busy("500 X")], 2, 3, true),
        (vec![busy("500 X")], 0, 1, true),
        (vec![busy("400 X"), ok.clone()], 4, 1, true),
        (vec![busy("401 X"), ok.clone()], 4, 1, true),
        (vec![busy("429 X"), ok.clone()], 4, 1, true),
        (
            vec![answer("500 X", "x-should-retry: false\r\n", ""), ok.clone()],
            4,
            1,
            true,
        ),
        (vec![vec![Step::Close], ok.clone()], 4, 2, false),
    ];
    for (number, (script, retries, requests, fails)) in table.into_iter().enumerate() {
        let server = Server::start(script).await;
        let batches = ask(
            &provider(&server.base_url, retries, LONG),
            vec![Bytes::from_static(b"{}")],
        )
        .await;
        assert_eq!(
            (server.count(), failure(&batches).is_some()),
            (requests, fails),
            "row {number}: {batches:?}"
        );
        assert!(
            !format!("{batches:?}").contains("topsecret"),
            "row {number}: {batches:?}"
        );
    }
}

#[tokio::test]
async fn a_refused_connection_ends_after_the_retries() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let begun = Instant::now();
    let batches = ask(&provider(&base_url, 1, LONG), vec![]).await;
    let failure = failure(&batches).unwrap();
    assert_eq!(failure.info, json!({"httpConnectionFailed": {"httpStatusCode": null}}));
    assert_eq!(failure.retry, RetryAdvice::Backoff);
    assert!(
        failure.message.contains(&base_url) && !failure.message.contains("topsecret"),
        "{}",
        failure.message
    );
    assert!((Duration::from_millis(180)..Duration::from_secs(5)).contains(&begun.elapsed()));
}

#[tokio::test]
async fn silence_ends_at_the_idle_limit() {
    let created = Step::Write(event(r#"{"type":"response.created"}"#).into_bytes());
    let comment = Step::Write(b": still here\n\n".to_vec());
    let pause = Step::Wait(Duration::from_millis(150));
    let table = [
        ("nothing at all", vec![Step::Hold]),
        ("headers only", vec![stream_head(), Step::Hold]),
        ("created only", vec![stream_head(), created, Step::Hold]),
        (
            "comments only",
            vec![stream_head(), comment.clone(), pause.clone(), comment, Step::Hold],
        ),
    ];
    for (name, script) in table {
        let server = Server::start(vec![script]).await;
        let idle = Duration::from_millis(300);
        let begun = Instant::now();
        let batches = ask(&provider(&server.base_url, 4, idle), vec![]).await;
        let failure = failure(&batches).unwrap();
        assert_eq!(
            failure.info,
            json!({"responseStreamDisconnected": {"httpStatusCode": null}}),
            "{name}"
        );
        assert_eq!(failure.retry, RetryAdvice::Backoff, "{name}");
        assert!(failure.message.contains("idle limit"), "{name}: {}", failure.message);
        assert!(
            (idle..idle * 4).contains(&begun.elapsed()),
            "{name}: {:?}",
            begun.elapsed()
        );
        assert_eq!(server.count(), 1, "{name}");
    }
}

#[tokio::test]
async fn streams_that_break_say_so_and_keep_what_came() {
    let delta = event(r#"{"type":"response.output_text.delta","delta":"hi"}"#);
    let sized = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n{delta}");
    let error = event(r#"{"type":"error","message":"gpu on fire"}"#);
    let table = [
        ("closed", sse(&delta), "stream closed before response.completed"),
        (
            "cut",
            vec![Step::Write(sized.into_bytes()), Step::Close],
            "stream disconnected before completion",
        ),
        (
            "half an event",
            sse(&format!("{delta}data: {{\"type\":\"response.comp")),
            "stream closed",
        ),
        ("error event", sse(&(delta.clone() + &error)), "gpu on fire"),
    ];
    for (name, script, want) in table {
        let server = Server::start(vec![script]).await;
        let batches = ask(&provider(&server.base_url, 4, LONG), vec![]).await;
        let failure = failure(&batches).unwrap();
        assert_eq!((text(&batches).as_str(), server.count()), ("hi", 1), "{name}");
        assert!(failure.message.contains(want), "{name}: {}", failure.message);
        assert_eq!(failure.retry, RetryAdvice::Backoff, "{name}");
    }
}

#[tokio::test]
async fn a_response_in_one_piece_is_read_too() {
    let body = r#"{"status":"completed","output":[{"type":"message","id":"m"}],"usage":{"input_tokens":1}}"#;
    let server = Server::start(vec![answer(
        "200 OK",
        "content-type: application/json; charset=utf-8\r\n",
        body,
    )])
    .await;
    let batches = ask(&provider(&server.base_url, 0, LONG), vec![]).await;
    let items: Vec<_> = batches.iter().flatten().collect();
    assert!(
        matches!(items.as_slice(), [ModelEvent::ItemDone { item }, ModelEvent::Completed { usage: Some(_), .. }]
        if item.get() == r#"{"type":"message","id":"m"}"#),
        "{items:?}"
    );
}

#[tokio::test]
async fn https_without_a_tls_server_fails_clearly() {
    let server = Server::start(vec![vec![Step::Close]]).await;
    let base_url = server.base_url.replace("http:", "https:");
    let batches = ask(&provider(&base_url, 0, Duration::from_secs(2)), vec![]).await;
    assert!(
        failure(&batches).unwrap().message.contains("https://127.0.0.1"),
        "{batches:?}"
    );
}

#[tokio::test]
async fn cancelling_ends_every_kind_of_wait_without_an_event() {
    let table = [
        ("headers", vec![vec![Step::Hold]]),
        ("events", vec![vec![stream_head(), Step::Hold]]),
        ("between tries", vec![answer("500 X", "retry-after: 30\r\n", "")]),
        (
            "error body",
            vec![vec![
                Step::Write(b"HTTP/1.1 500 X\r\ncontent-length: 9\r\n\r\n".to_vec()),
                Step::Hold,
            ]],
        ),
    ];
    for (name, script) in table {
        let server = Server::start(script).await;
        let (events, mut batches) = mpsc::channel(1);
        let cancel = CancellationToken::new();
        let (client, provider) = (ModelClient::new(), provider(&server.base_url, 4, LONG));
        let context = RequestContext::default();
        let respond = client.respond(&provider, &context, vec![], events, cancel.clone());
        let stop = async {
            while server.count() == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            cancel.cancel();
        };
        let both = tokio::time::timeout(Duration::from_secs(3), async { tokio::join!(respond, stop) });
        both.await.unwrap_or_else(|_| panic!("{name}: still waiting"));
        assert!(batches.recv().await.is_none(), "{name}");
    }
}

#[tokio::test]
async fn cancelling_ends_a_wait_for_a_full_channel() {
    let server = Server::start(vec![sse(&good())]).await;
    let (events, _batches) = mpsc::channel(1);
    events.send(Vec::new()).await.unwrap();
    let cancel = CancellationToken::new();
    let (client, provider) = (ModelClient::new(), provider(&server.base_url, 0, LONG));
    let context = RequestContext::default();
    let respond = client.respond(&provider, &context, vec![], events, cancel.clone());
    let stop = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        cancel.cancel();
    };
    tokio::time::timeout(Duration::from_secs(3), async { tokio::join!(respond, stop) })
        .await
        .unwrap();
}

/// `cargo test --release -p agentd-model -- --ignored --nocapture throughput`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures; needs a release build"]
async fn throughput() {
    const COUNT: usize = 50_000;
    let mut stream = String::new();
    for number in 0..COUNT {
        stream.push_str(&format!(
            "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"sequence_number\":{number},\"item_id\":\"msg_0123456789abcdef\",\"output_index\":0,\"content_index\":0,\"delta\":\" word\"}}\n\n"
        ));
    }
    stream.push_str(&good());
    let server = Server::start(vec![sse(&stream)]).await;
    let begun = Instant::now();
    let batches = ask(&provider(&server.base_url, 0, LONG), vec![]).await;
    let (elapsed, events) = (begun.elapsed(), batches.iter().flatten().count());
    assert_eq!(events, COUNT + 2);
    eprintln!(
        "{events} events in {} batches: {elapsed:?}, {:.0} events/s",
        batches.len(),
        events as f64 / elapsed.as_secs_f64()
    );
}
