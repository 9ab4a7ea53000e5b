//! The envelope around every message: JSON-RPC 2.0 as the app-server protocol speaks it (without the `jsonrpc` member
//! unless a peer sends it).
//!
//! [`parse`] turns the bytes of one message into a [`Message`]; [`lines`] builds the bytes of one. Neither knows what a
//! method means, neither adds or removes line ends or frames: that is the connection's business.

pub mod lines;
mod parse;

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

pub use parse::{MAX_DEPTH, parse};

/// What was received is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// It is JSON, but no request; or the request does not fit the state of the connection or thread.
pub const INVALID_REQUEST: i64 = -32600;
/// Nobody serves this method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The params do not fit the method.
pub const INVALID_PARAMS: i64 = -32602;
/// The daemon failed.
pub const INTERNAL_ERROR: i64 = -32603;
/// Too much at once; the same request may succeed later.
pub const OVERLOADED: i64 = -32001;

/// Id of a request: a string or an integer, kept as the JSON text the peer sent so that it is echoed byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(Box<str>);

impl RequestId {
    /// An integer id.
    pub fn number(id: i64) -> Self {
        Self(id.to_string().into())
    }

    /// A string id.
    pub fn string(id: &str) -> Self {
        Self(Value::from(id).to_string().into())
    }

    /// The id in this JSON text; `None` if it is no string and no integer in the range of `i64`.
    pub fn from_json(text: &str) -> Option<Self> {
        let valid = match text.starts_with('"') {
            true => serde_json::from_str::<Cow<'_, str>>(text).is_ok(),
            false => serde_json::from_str::<i64>(text).is_ok(),
        };
        valid.then(|| Self(text.trim().into()))
    }

    /// The JSON text.
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// The number, if it is one.
    pub fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a peer writes `"jsonrpc":"2.0"`. What is sent to it alone (responses) follows its habit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Without the member, as the app-server protocol has it.
    #[default]
    Bare,
    /// With the member.
    Versioned,
}

/// One message.
#[derive(Debug)]
pub struct Envelope<'a> {
    /// How the peer wrote it.
    pub dialect: Dialect,
    /// What it says.
    pub message: Message<'a>,
}

/// What a message is.
#[derive(Debug)]
pub enum Message<'a> {
    /// Wants exactly one answer.
    Request {
        /// To be echoed.
        id: RequestId,
        /// Name of the method.
        method: Cow<'a, str>,
        /// `None`: absent. An explicit null is there as the text `null`.
        params: Option<&'a RawValue>,
    },
    /// Wants no answer.
    Notification {
        /// Name of the method.
        method: Cow<'a, str>,
        /// `None`: absent. An explicit null is there as the text `null`.
        params: Option<&'a RawValue>,
    },
    /// Answers a request of ours. Never to be answered, whatever it holds.
    Response {
        /// Which request; `None`: null or nothing we can have sent.
        id: Option<RequestId>,
        /// The result as JSON text, or the error.
        outcome: Result<&'a RawValue, ErrorObject>,
    },
    /// None of these. To be answered with this error.
    Invalid {
        /// The id, where it can be known.
        id: Option<RequestId>,
        /// [`PARSE_ERROR`] or [`INVALID_REQUEST`].
        error: ErrorObject,
    },
}

/// The error of a response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ErrorObject {
    /// One of the codes above.
    pub code: i64,
    /// For people; some clients match on it, so wording follows the protocol.
    pub message: String,
    /// For programs: an object with the stable word `kind` and whatever belongs to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl ErrorObject {
    /// An error with `data.kind`.
    pub fn new(code: i64, kind: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: Some(serde_json::json!({ "kind": kind })),
        }
    }

    /// The same error with one more member in `data`.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        match &mut self.data {
            Some(Value::Object(members)) => {
                members.insert(name.to_owned(), value.into());
            }
            data => *data = Some(serde_json::json!({ name: value.into() })),
        }
        self
    }

    /// `data.kind`, if it is there.
    pub fn kind(&self) -> Option<&str> {
        self.data.as_ref()?.get("kind")?.as_str()
    }
}

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", self.message, self.code)
    }
}

impl std::error::Error for ErrorObject {}
