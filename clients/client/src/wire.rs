//! One line of the wire, sorted into reply, notification or server request. It owns the envelope and no state.

use std::fmt;

use agentd_protocol::approval::ServerRequest;
use agentd_protocol::notification::ServerNotification;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// Id of a request the server sent; goes back unchanged in the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestId {
    /// A number, as agentd sends.
    Number(i64),
    /// Text.
    Text(String),
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(n) => n.fmt(f),
            Self::Text(t) => t.fmt(f),
        }
    }
}

/// What the daemon said without being asked, in the order it said it.
#[derive(Clone, Debug)]
pub enum Event {
    /// A notification.
    Notification(Notified),
    /// A request that waits for an answer.
    Request(ServerAsk),
    /// The connection ended; nothing follows.
    Closed {
        /// Why, as far as it is known.
        reason: String,
    },
}

/// A notification with its text.
#[derive(Clone, Debug)]
pub struct Notified {
    /// Its name.
    pub method: String,
    /// Decoded; `None` if this version of the protocol crate does not know it.
    pub known: Option<Box<ServerNotification>>,
    /// The line as it was received, without the line end.
    pub raw: String,
}

/// A server request with its text.
#[derive(Clone, Debug)]
pub struct ServerAsk {
    /// What to answer to.
    pub id: RequestId,
    /// Its name.
    pub method: String,
    /// Decoded; `None` if this version of the protocol crate does not know it.
    pub known: Option<Box<ServerRequest>>,
    /// The line as it was received, without the line end.
    pub raw: String,
}

/// A reply to one of our calls.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) id: u64,
    pub(crate) outcome: Result<Box<RawValue>, RpcError>,
}

/// The error member of a reply.
#[derive(Debug, Deserialize)]
pub(crate) struct RpcError {
    #[serde(default)]
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) data: Option<Value>,
}

impl RpcError {
    pub(crate) fn kind(&self) -> Option<String> {
        self.data.as_ref()?.get("kind")?.as_str().map(str::to_owned)
    }
}

/// A line, sorted.
#[derive(Debug)]
pub(crate) enum Incoming {
    Reply(Reply),
    Event(Event),
    /// Not a message, or an answer to nobody. Ignored, as the protocol asks of both sides.
    Noise,
}

#[derive(Deserialize)]
struct Envelope {
    id: Option<Value>,
    method: Option<String>,
    result: Option<Box<RawValue>>,
    error: Option<RpcError>,
}

/// Sorts one line.
pub(crate) fn sort(line: &str) -> Incoming {
    let Ok(envelope) = serde_json::from_str::<Envelope>(line) else {
        return Incoming::Noise;
    };
    match (envelope.id, envelope.method) {
        (None, Some(method)) => {
            let known = serde_json::from_str(line).ok().map(Box::new);
            Incoming::Event(Event::Notification(Notified {
                method,
                known,
                raw: line.to_owned(),
            }))
        }
        (Some(id), Some(method)) => {
            let Ok(id) = serde_json::from_value(id) else {
                return Incoming::Noise;
            };
            let known = serde_json::from_str(line).ok().map(Box::new);
            Incoming::Event(Event::Request(ServerAsk {
                id,
                method,
                known,
                raw: line.to_owned(),
            }))
        }
        (Some(id), None) => {
            let Some(id) = id.as_u64() else { return Incoming::Noise };
            let outcome = match (envelope.error, envelope.result) {
                (Some(error), _) => Err(error),
                (None, Some(result)) => Ok(result),
                // `"result":null` reads as absent here; both mean "done, nothing to say".
                (None, None) => Ok(RawValue::NULL.to_owned()),
            };
            Incoming::Reply(Reply { id, outcome })
        }
        (None, None) => Incoming::Noise,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_sorted_by_their_members() {
        let cases = [
            (r#"{"id":3,"result":{}}"#, "reply"),
            (r#"{"id":3,"result":null}"#, "reply"),
            (r#"{"error":{"code":-32600,"message":"x"},"id":3}"#, "reply"),
            (r#"{"method":"a/b","params":{},"emittedAtMs":1}"#, "notification"),
            (r#"{"id":0,"method":"item/x","params":{}}"#, "request"),
            (r#"{"id":"r1","method":"item/x","params":{}}"#, "request"),
            (r#"{"id":"mine?","result":{}}"#, "noise"),
            ("{}", "noise"),
            ("not json", "noise"),
        ];
        for (line, expected) in cases {
            let got = match sort(line) {
                Incoming::Reply(_) => "reply",
                Incoming::Event(Event::Notification(_)) => "notification",
                Incoming::Event(Event::Request(_)) => "request",
                Incoming::Event(Event::Closed { .. }) => "closed",
                Incoming::Noise => "noise",
            };
            assert_eq!(got, expected, "{line}");
        }
    }

    #[test]
    fn extra_members_do_not_hide_a_known_notification() {
        let line = r#"{"method":"warning","params":{"threadId":null,"message":"m","new":1},"emittedAtMs":5}"#;
        let Incoming::Event(Event::Notification(notified)) = sort(line) else {
            panic!("not a notification")
        };
        assert!(matches!(
            notified.known.as_deref(),
            Some(ServerNotification::Warning { .. })
        ));
        assert_eq!(notified.raw, line);
    }
}
