//! The life of one connection: a reader that starts requests in arrival order, a writer that drains the outbox.
//!
//! Owns the connection's tasks. Every request gets exactly one response, also when its handler panics; what was asked
//! before the client closed its side is still answered.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use agentd_protocol::rpc::{Dialect, ErrorObject, Message, RequestId, parse};
use futures_util::FutureExt;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::task::JoinSet;

use super::conn::{ConnHandle, Outgoing};
use super::dispatch::{Dispatch, Response};
use super::error::RpcError;
use super::transport::{MAX_MESSAGE, Receive, Received, Transmit};
use crate::daemon::Daemon;

/// How long requests of a client that left may still take.
const FINISH_LIMIT: Duration = Duration::from_secs(10);
/// Requests of one connection that may be under way; its reader pauses while there are as many. Bounds what a client that
/// asks for much and reads little can make the daemon hold.
const MAX_RUNNING: usize = 8;
/// How long the rest of the outbox may take once nothing more is coming.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);

/// What serves connections: the daemon and its method table.
#[derive(Clone)]
pub struct Server {
    /// The daemon.
    pub daemon: Arc<Daemon>,
    /// The way of requests.
    pub dispatch: Arc<Dispatch>,
}

impl Server {
    /// Serves one connection until its client leaves, it cannot keep up, or the daemon ends it.
    pub async fn serve(self, mut reader: impl Receive, writer: impl Transmit) {
        let conn = self.daemon.connections.add();
        let mut writing = self.daemon.tracker.spawn(write(conn.clone(), writer));
        let mut requests = JoinSet::new();
        self.read(&conn, &mut reader, &mut requests).await;
        let finished = async { while requests.join_next().await.is_some() {} };
        tokio::select! {
            // The time is up or the client is unreachable: what is left is dropped with the set.
            _ = tokio::time::timeout(FINISH_LIMIT, finished) => {}
            () = conn.closed() => {}
        }
        conn.outbox().finish();
        if tokio::time::timeout(FLUSH_LIMIT, &mut writing).await.is_err() {
            writing.abort();
        }
        conn.hang_up();
        self.daemon.connections.remove(conn.id());
    }

    async fn read(&self, conn: &ConnHandle, reader: &mut impl Receive, requests: &mut JoinSet<()>) {
        loop {
            let received = tokio::select! {
                biased;
                () = conn.closed() => return,
                Some(_) = requests.join_next(), if !requests.is_empty() => continue,
                received = next(conn, reader), if requests.len() < MAX_RUNNING => received,
            };
            match received {
                Ok(Received::Message(bytes)) => self.on_message(conn, &bytes, requests).await,
                Ok(Received::TooLarge) => refuse(conn, RpcError::message_too_large(MAX_MESSAGE).object()),
                Ok(Received::Unreadable(error)) => refuse(conn, &error),
                Ok(Received::End) => return,
                Err(error) => {
                    tracing::debug!(connection = conn.id(), %error, "cannot read from the connection");
                    return;
                }
            }
        }
    }

    async fn on_message(&self, conn: &ConnHandle, bytes: &[u8], requests: &mut JoinSet<()>) {
        let envelope = parse(bytes);
        match envelope.message {
            Message::Request { id, method, params } => {
                let request = Request {
                    dialect: envelope.dialect,
                    id,
                };
                self.on_request(
                    conn,
                    request,
                    method.into_owned(),
                    params.map(ToOwned::to_owned),
                    requests,
                )
                .await;
            }
            // `initialized`, or one that we do not know: neither has an effect.
            Message::Notification { method, .. } => tracing::trace!(connection = conn.id(), %method, "notification"),
            Message::Response { id, outcome } => self.on_response(id.as_ref(), outcome),
            Message::Invalid { id, error } => {
                conn.send(Outgoing::error(envelope.dialect, id.as_ref(), &error));
            }
        }
    }

    /// Polls the handler once, so that requests begin in the order they came; it becomes a task only if it has to wait.
    async fn on_request(
        &self,
        conn: &ConnHandle,
        request: Request,
        method: String,
        params: Option<Box<RawValue>>,
        requests: &mut JoinSet<()>,
    ) {
        let mut running = Box::pin(AssertUnwindSafe(self.dispatch.call(conn, method, params)).catch_unwind());
        let first = std::future::poll_fn(|cx| Poll::Ready(running.as_mut().poll(cx))).await;
        match first {
            Poll::Ready(outcome) => request.answer(conn, outcome).await,
            Poll::Pending => {
                let conn = conn.clone();
                requests.spawn(async move { request.answer(&conn, running.await).await });
            }
        }
    }

    fn on_response(&self, id: Option<&RequestId>, outcome: Result<&RawValue, ErrorObject>) {
        let Some(id) = id.and_then(RequestId::as_i64) else {
            return;
        };
        let answer = match outcome {
            Ok(result) => serde_json::from_str(result.get()).map_err(|error| Value::String(error.to_string())),
            Err(error) => Err(Value::String(error.to_string())),
        };
        self.daemon.server_requests.answer(id, answer);
    }
}

/// What a response needs of its request.
struct Request {
    dialect: Dialect,
    id: RequestId,
}

impl Request {
    async fn answer(&self, conn: &ConnHandle, outcome: std::thread::Result<Response>) {
        let response = outcome.unwrap_or_else(|_| {
            tracing::error!(connection = conn.id(), id = %self.id, "a request handler panicked");
            Dispatch::panicked(conn)
        });
        response.send(self.dialect, &self.id).await;
    }
}

/// The next message; not before the client has read most of what it was told.
async fn next(conn: &ConnHandle, reader: &mut impl Receive) -> std::io::Result<Received> {
    conn.outbox().room().await;
    reader.receive().await
}

/// Answers something whose id cannot be known.
fn refuse(conn: &ConnHandle, error: &ErrorObject) {
    conn.send(Outgoing::error(Dialect::Bare, None, error));
}

async fn write(conn: ConnHandle, mut writer: impl Transmit) {
    while let Some(batch) = conn.outbox().next_batch().await {
        let written = tokio::select! {
            biased;
            written = writer.transmit(batch) => written,
            () = conn.closed() => break,
        };
        if let Err(error) = written {
            tracing::debug!(connection = conn.id(), %error, "cannot write to the connection");
            break;
        }
    }
    writer.end().await;
    conn.hang_up();
}
