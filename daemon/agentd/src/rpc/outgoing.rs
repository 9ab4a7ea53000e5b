//! One message to a client, serialised once; its bytes are shared by all connections it goes to.
//!
//! Owns the layout of what leaves: notifications carry `emittedAtMs` at top level, nothing carries `jsonrpc` except
//! responses to peers that sent it. Knows which notifications are deltas and how two of one item become one.

use std::sync::Arc;

use agentd_protocol::approval::ServerRequest;
use agentd_protocol::notification::ServerNotification;
use agentd_protocol::rpc::{Dialect, ErrorObject, RequestId, lines};
use bytes::Bytes;

/// Longest text that merging may build; command output has its own, smaller limit in the protocol.
const MAX_MERGED: usize = 64 * 1024;
/// Longest text of one `item/commandExecution/outputDelta`.
const MAX_OUTPUT_DELTA: usize = 8 * 1024;

/// A response above this size, in bytes, is large.
pub const LARGE: usize = 64 * 1024;

/// A serialised message (no line end).
#[derive(Clone, Debug)]
pub struct Outgoing {
    bytes: Bytes,
    /// The notification, if it is a delta that may be merged with its neighbours.
    delta: Option<Arc<Delta>>,
    /// Length of the method name if it is a notification, which starts right after [`METHOD_PREFIX`].
    method_len: usize,
}

#[derive(Debug)]
struct Delta {
    notification: ServerNotification,
    emitted_at_ms: i64,
}

/// How every notification begins.
const METHOD_PREFIX: &str = r#"{"method":""#;

impl Outgoing {
    /// A notification, stamped with the time it was emitted at (unix milliseconds).
    pub fn notification(notification: &ServerNotification, emitted_at_ms: i64) -> Self {
        let bytes = written(lines::notification(notification, emitted_at_ms));
        let rest = bytes.strip_prefix(METHOD_PREFIX.as_bytes()).unwrap_or_default();
        let method_len = rest.iter().position(|byte| *byte == b'"').unwrap_or(0);
        let delta = delta_text(notification).map(|_| {
            Arc::new(Delta {
                notification: notification.clone(),
                emitted_at_ms,
            })
        });
        Self {
            bytes,
            delta,
            method_len,
        }
    }

    /// A request to a client.
    pub fn request(id: i64, request: &ServerRequest) -> Self {
        Self::plain(written(lines::server_request(&RequestId::number(id), request)))
    }

    /// An error that no handler made. `None` as id: it cannot be known.
    pub fn error(dialect: Dialect, id: Option<&RequestId>, error: &ErrorObject) -> Self {
        Self::plain(written(lines::error(dialect, id, error)))
    }

    /// A message that is serialised already.
    pub fn plain(bytes: impl Into<Bytes>) -> Self {
        Self {
            bytes: bytes.into(),
            delta: None,
            method_len: 0,
        }
    }

    /// The bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The method, if this is a notification.
    pub fn method(&self) -> Option<&str> {
        let name = self
            .bytes
            .get(METHOD_PREFIX.len()..METHOD_PREFIX.len() + self.method_len)?;
        std::str::from_utf8(name).ok().filter(|name| !name.is_empty())
    }

    /// Whether this is a large response. Large requests to clients count as well; they are rare.
    pub fn is_large_response(&self) -> bool {
        self.method_len == 0 && self.bytes.len() > LARGE
    }

    /// Names what a delta belongs to; deltas with equal keys may be merged.
    pub fn delta_key(&self) -> Option<DeltaKey<'_>> {
        delta_key(&self.delta.as_ref()?.notification)
    }

    /// Length of a delta's text.
    pub fn text_len(&self) -> usize {
        self.delta
            .as_ref()
            .and_then(|delta| delta_text(&delta.notification))
            .map_or(0, str::len)
    }

    /// How long the text of a delta of this kind may become by merging.
    pub fn text_limit(&self) -> usize {
        self.delta.as_ref().map_or(0, |delta| merged_limit(&delta.notification))
    }

    /// The first delta with the texts of all, stamped like the last. They must have the same key. `None` if one is no delta.
    pub fn joined(deltas: &[Self]) -> Option<Self> {
        let parts: Option<Vec<&Delta>> = deltas.iter().map(|message| message.delta.as_deref()).collect();
        let parts = parts?;
        let (first, last) = (parts.first()?, parts.last()?);
        let text = parts
            .iter()
            .filter_map(|delta| delta_text(&delta.notification))
            .collect();
        Some(Self::notification(
            &with_text(first.notification.clone(), text),
            last.emitted_at_ms,
        ))
    }
}

/// Kind, thread, item and part of a delta.
pub type DeltaKey<'a> = (u8, &'a str, &'a str, u32);

fn delta_key(notification: &ServerNotification) -> Option<DeltaKey<'_>> {
    use ServerNotification as N;
    match notification {
        N::AgentMessageDelta { thread_id, item_id, .. } => Some((0, thread_id, item_id, 0)),
        N::ReasoningSummaryTextDelta {
            thread_id,
            item_id,
            summary_index,
            ..
        } => Some((1, thread_id, item_id, *summary_index)),
        N::ReasoningTextDelta {
            thread_id,
            item_id,
            content_index,
            ..
        } => Some((2, thread_id, item_id, *content_index)),
        N::CommandExecutionOutputDelta { thread_id, item_id, .. } => Some((3, thread_id, item_id, 0)),
        _ => None,
    }
}

fn delta_text(notification: &ServerNotification) -> Option<&str> {
    use ServerNotification as N;
    match notification {
        N::AgentMessageDelta { delta, .. }
        | N::ReasoningSummaryTextDelta { delta, .. }
        | N::ReasoningTextDelta { delta, .. }
        | N::CommandExecutionOutputDelta { delta, .. } => Some(delta),
        _ => None,
    }
}

fn with_text(mut notification: ServerNotification, text: String) -> ServerNotification {
    use ServerNotification as N;
    match &mut notification {
        N::AgentMessageDelta { delta, .. }
        | N::ReasoningSummaryTextDelta { delta, .. }
        | N::ReasoningTextDelta { delta, .. }
        | N::CommandExecutionOutputDelta { delta, .. } => *delta = text,
        _ => {}
    }
    notification
}

fn merged_limit(notification: &ServerNotification) -> usize {
    match notification {
        ServerNotification::CommandExecutionOutputDelta { .. } => MAX_OUTPUT_DELTA,
        _ => MAX_MERGED,
    }
}

/// Our own types always serialise; should one not, the client sees a message that says so instead of a gap.
fn written(line: Result<Vec<u8>, serde_json::Error>) -> Bytes {
    match line {
        Ok(line) => line.into(),
        Err(error) => {
            tracing::error!(%error, "a message cannot be serialised");
            let message =
                r#"{"method":"warning","params":{"threadId":null,"message":"a message could not be serialised"}}"#;
            Bytes::from_static(message.as_bytes())
        }
    }
}
