//! A scripted HTTP server: each request gets the next answer of the script, written exactly as given.

// Clippy sees test code only where a test attribute stands.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentd_engine::input::ModelEvent;
use agentd_model::{ModelClient, Provider, RequestContext};
use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// One step of an answer.
#[derive(Clone)]
pub(crate) enum Step {
    Write(Vec<u8>),
    Wait(Duration),
    /// Keep the connection open and silent.
    Hold,
    Close,
}

/// Head and body of each request, in order.
pub(crate) type Seen = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

pub(crate) struct Server {
    pub(crate) base_url: String,
    pub(crate) requests: Seen,
    pub(crate) connections: Arc<Mutex<usize>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// The last answer is repeated for all later requests.
    pub(crate) async fn start(script: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(Mutex::new(0));
        let (seen, count) = (requests.clone(), connections.clone());
        let task = tokio::spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                *count.lock().unwrap() += 1;
                open.spawn(serve(socket, seen.clone(), script.clone()));
            }
        });
        Self {
            base_url,
            requests,
            connections,
            task,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

async fn serve(mut socket: TcpStream, seen: Seen, script: Vec<Vec<Step>>) {
    while let Some(request) = request(&mut socket).await {
        let number = {
            let mut seen = seen.lock().unwrap();
            seen.push(request);
            seen.len() - 1
        };
        for step in &script[number.min(script.len() - 1)] {
            match step {
                Step::Write(bytes) if socket.write_all(bytes).await.is_err() => return,
                Step::Write(_) => socket.flush().await.unwrap(),
                Step::Wait(time) => tokio::time::sleep(*time).await,
                Step::Hold => std::future::pending().await,
                Step::Close => return,
            }
        }
    }
}

async fn request(socket: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let lower = head.to_lowercase();
    let length: usize = lower
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok())
        .expect("Content-Length");
    let mut body = bytes.split_off(end);
    while body.len() < length {
        assert!(socket.read_buf(&mut body).await.ok()? > 0);
    }
    Some((head, body))
}

/// A complete response with this status, headers (each with `\r\n`) and body.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    vec![Step::Write(
        format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}").into_bytes(),
    )]
}

/// The head of an event stream that ends with the connection.
pub(crate) fn stream_head() -> Step {
    Step::Write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec())
}

pub(crate) fn sse(text: &str) -> Vec<Step> {
    vec![stream_head(), Step::Write(text.as_bytes().to_vec()), Step::Close]
}

pub(crate) fn event(data: &str) -> String {
    format!("data: {data}\n\n")
}

/// A short good answer.
pub(crate) fn good() -> String {
    event(r#"{"type":"response.output_text.delta","delta":"hi"}"#)
        + &event(r#"{"type":"response.completed","response":{}}"#)
}

pub(crate) fn provider(base_url: &str, retries: u32, idle: Duration) -> Provider {
    Provider {
        id: "test".into(),
        name: "Test".into(),
        base_url: base_url.into(),
        api_key: None,
        http_headers: Vec::new(),
        query_params: vec![("key".into(), "topsecret".into())],
        request_max_retries: retries,
        stream_idle_timeout: idle,
    }
}

/// Sends a request and returns all batches.
pub(crate) async fn ask(provider: &Provider, body: Vec<Bytes>) -> Vec<Vec<ModelEvent>> {
    ask_with(&ModelClient::new(), provider, body).await
}

pub(crate) async fn ask_with(client: &ModelClient, provider: &Provider, body: Vec<Bytes>) -> Vec<Vec<ModelEvent>> {
    let (events, mut batches) = mpsc::channel(4);
    let context = RequestContext {
        thread_id: "thread-1".into(),
        ..RequestContext::default()
    };
    let respond = client.respond(provider, &context, body, events, CancellationToken::new());
    let collect = async {
        let mut all = Vec::new();
        while let Some(batch) = batches.recv().await {
            assert!(!batch.is_empty());
            all.push(batch);
        }
        all
    };
    let (_, all) = tokio::join!(respond, collect);
    let ends = |event: &ModelEvent| matches!(event, ModelEvent::Completed { .. } | ModelEvent::Failed(_));
    assert_eq!(all.iter().flatten().filter(|event| ends(event)).count(), 1, "{all:?}");
    assert!(all.last().unwrap().last().is_some_and(ends), "{all:?}");
    all
}
