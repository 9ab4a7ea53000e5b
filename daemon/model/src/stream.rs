//! A response that began, read to its end: bytes in, batches of model events out.
//!
//! Every wait for the server is bounded by the provider's idle limit. A full channel makes us stop reading, so a slow
//! owner slows the server down instead of filling memory.

use std::time::Duration;

use agentd_engine::input::ModelEvent;
use futures_util::{FutureExt, StreamExt};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::decode::{Decoder, Progress};
use crate::failure;
use crate::sse::{self, SseError};

/// Events in one batch at most.
const BATCH_LIMIT: usize = 1024;
/// After the last event: wait this long for the end of the body, so that the connection can be used again.
const END_LIMIT: Duration = Duration::from_millis(100);
/// Largest response that comes in one piece.
const WHOLE_LIMIT: usize = 64 << 20;

/// Reads the response and reports it. Returns early if nobody listens any more.
pub(crate) async fn read(response: Response, idle: Duration, events: &mpsc::Sender<Vec<ModelEvent>>) {
    if is_json(&response) {
        let _ = events.send(whole(response, idle).await).await;
        return;
    }
    let mut stream = sse::events(response.bytes_stream());
    let mut decoder = Decoder::default();
    loop {
        let mut batch = Vec::new();
        let next = timeout(idle, stream.next()).await;
        let mut progress = match next {
            Ok(next) => take(next, &mut decoder, &mut batch),
            Err(_) => {
                let why = format!("nothing came for {idle:?} (idle limit)");
                batch.push(ModelEvent::Failed(decoder.cut_short(&why)));
                Progress::Ended
            }
        };
        // What is already here joins the batch; nothing is waited for.
        while progress == Progress::Open && batch.len() < BATCH_LIMIT {
            let Some(next) = stream.next().now_or_never() else {
                break;
            };
            progress = take(next, &mut decoder, &mut batch);
        }
        let failed = matches!(batch.last(), Some(ModelEvent::Failed(_)));
        if !batch.is_empty() && events.send(batch).await.is_err() {
            return;
        }
        if progress == Progress::Ended {
            if !failed {
                let _ = timeout(END_LIMIT, async { while let Some(Ok(_)) = stream.next().await {} }).await;
            }
            return;
        }
    }
}

fn take(
    next: Option<Result<String, SseError<reqwest::Error>>>,
    decoder: &mut Decoder,
    batch: &mut Vec<ModelEvent>,
) -> Progress {
    let why = match next {
        Some(Ok(data)) => return decoder.event(&data, batch),
        Some(Err(SseError::Transport(error))) => failure::chain(&error.without_url()),
        Some(Err(error)) => error.to_string(),
        None => "stream closed before response.completed".to_owned(),
    };
    batch.push(ModelEvent::Failed(decoder.cut_short(&why)));
    Progress::Ended
}

fn is_json(response: &Response) -> bool {
    let kind = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("application/json")
}

async fn whole(response: Response, idle: Duration) -> Vec<ModelEvent> {
    let mut events = Vec::new();
    match body(response, idle, WHOLE_LIMIT).await {
        Ok(body) => Decoder::default().whole(&body, &mut events),
        Err(why) => events.push(ModelEvent::Failed(failure::disconnected(&why))),
    }
    events
}

/// The body, at most `limit` bytes; what is beyond is an error. Each wait is bounded by `idle`.
async fn body(response: Response, idle: Duration, limit: usize) -> Result<Vec<u8>, String> {
    let (bytes, end) = beginning(response, idle, limit).await;
    match end {
        Ok(true) => Ok(bytes),
        Ok(false) => Err(format!("the body is larger than {} MB", limit >> 20)),
        Err(why) => Err(why),
    }
}

/// The first `limit` bytes of the body, and whether that was all of it.
pub(crate) async fn beginning(response: Response, idle: Duration, limit: usize) -> (Vec<u8>, Result<bool, String>) {
    let mut bytes = Vec::new();
    let mut stream = response.bytes_stream();
    loop {
        match timeout(idle, stream.next()).await {
            Ok(Some(Ok(chunk))) => bytes.extend_from_slice(&chunk),
            Ok(Some(Err(error))) => return (bytes, Err(failure::chain(&error.without_url()))),
            Ok(None) => return (bytes, Ok(true)),
            Err(_) => return (bytes, Err(format!("nothing came for {idle:?} (idle limit)"))),
        }
        if bytes.len() > limit {
            bytes.truncate(limit);
            return (bytes, Ok(false));
        }
    }
}
