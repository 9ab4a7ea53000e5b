//! Sends a request until a response begins, then has it read.
//!
//! Retries here are silent and only for requests that got no usable answer. Once a response began, it is reported as it
//! comes, and a break is reported too.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use agentd_engine::input::{ModelEvent, ModelFailure};
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use reqwest::header::CONTENT_LENGTH;
use reqwest::{Body, Client, Response};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::connections::Connections;
use crate::failure::{self, Refusal};
use crate::provider::{Provider, RequestContext, Target};
use crate::{retry, stream as response_stream};

/// Bodies up to this size are copied into one piece; larger ones are sent piece by piece.
const JOIN_LIMIT: usize = 1 << 20;
/// How much of an error body is read, and how long each wait for it may be.
const ERROR_BODY_LIMIT: usize = 64 << 10;
const ERROR_BODY_WAIT: Duration = Duration::from_secs(5);

/// Talks to model services. Cheap to make and to clone; clones share their connections.
#[derive(Clone, Default)]
pub struct ModelClient {
    connections: Arc<Connections>,
}

impl std::fmt::Debug for ModelClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ModelClient")
    }
}

impl ModelClient {
    /// A client without connections. Nothing is loaded or opened before the first request.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends one request (`body` is JSON in pieces) and reports events in batches. The last batch ends with exactly one
    /// [`ModelEvent::Completed`] or [`ModelEvent::Failed`], unless `cancel` fired or the receiver is gone. Returns when
    /// the request is over; cancelling closes the connection.
    pub async fn respond(
        &self,
        provider: &Provider,
        ctx: &RequestContext,
        body: Vec<Bytes>,
        events: mpsc::Sender<Vec<ModelEvent>>,
        cancel: CancellationToken,
    ) {
        let exchange = async {
            match self.open(provider, ctx, &body).await {
                Ok(response) => response_stream::read(response, provider.stream_idle_timeout, &events).await,
                Err(failure) => {
                    tracing::debug!(turn = %ctx.turn_id, provider = %provider.id, message = %failure.message, "model request failed");
                    // Without a receiver nobody wants to know.
                    let _ = events.send(vec![ModelEvent::Failed(failure)]).await;
                }
            }
        };
        // Everything inside is dropped with the branch: waits, sleeps and the connection.
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            () = Box::pin(exchange) => {}
        }
    }

    /// A response with a good status, after as many tries as the provider allows.
    async fn open(&self, provider: &Provider, ctx: &RequestContext, body: &[Bytes]) -> Result<Response, ModelFailure> {
        let target = Target::new(provider, ctx)?;
        let client = self.connections.client(&target)?;
        let mut attempt = 0;
        loop {
            let refusal = match send(&client, &target, body, provider.stream_idle_timeout).await {
                Ok(response) => return Ok(response),
                Err(refusal) => refusal,
            };
            if !refusal.again || attempt >= provider.request_max_retries {
                return Err(refusal.failure);
            }
            let wait = refusal.wait.unwrap_or_else(|| retry::backoff(attempt));
            attempt += 1;
            tracing::debug!(turn = %ctx.turn_id, attempt, ?wait, message = %refusal.failure.message, "asking again");
            sleep(wait).await;
        }
    }
}

/// One try. A server that takes the request and stays silent is a break, not a refusal: asking again at once would
/// multiply the wait, so that is left to the turn.
async fn send(client: &Client, target: &Target, body: &[Bytes], idle: Duration) -> Result<Response, Box<Refusal>> {
    let length: usize = body.iter().map(Bytes::len).sum();
    let request = client
        .post(target.url.clone())
        .headers(target.headers.clone())
        .header(CONTENT_LENGTH, length)
        .body(joined(body, length));
    let response = match timeout(idle, request.send()).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(Box::new(failure::transport(error, &target.shown))),
        Err(_) => {
            let why = format!("{} sent no response headers for {idle:?} (idle limit)", target.shown);
            return Err(Box::new(Refusal {
                failure: failure::disconnected(&why),
                again: false,
                wait: None,
            }));
        }
    };
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let headers = response.headers().clone();
    // A body that breaks off is still shown as far as it came.
    let (text, _) = response_stream::beginning(response, idle.min(ERROR_BODY_WAIT), ERROR_BODY_LIMIT).await;
    let now_ms = jiff::Timestamp::now().as_millisecond();
    Err(Box::new(failure::status(
        status,
        &headers,
        &text,
        &target.shown,
        now_ms,
    )))
}

fn joined(pieces: &[Bytes], length: usize) -> Body {
    match pieces {
        [only] => Body::from(only.clone()),
        _ if length <= JOIN_LIMIT => {
            let mut whole = BytesMut::with_capacity(length);
            pieces.iter().for_each(|piece| whole.extend_from_slice(piece));
            Body::from(whole.freeze())
        }
        _ => {
            let full: Vec<_> = pieces
                .iter()
                .filter(|piece| !piece.is_empty())
                .cloned()
                .map(Ok::<_, Infallible>)
                .collect();
            Body::wrap_stream(stream::iter(full))
        }
    }
}
