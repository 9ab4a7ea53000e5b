//! Methods about one thread that neither start nor page through it: read, name, archive, unsubscribe.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::thread::Thread;

/// Params of methods that need no more than the thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadIdParams {
    /// The thread.
    pub thread_id: String,
}

/// Result of methods that answer with the thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadResponse {
    /// The thread, without turns.
    pub thread: Thread,
}

/// Params of `thread/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(optional_fields = nullable))]
#[serde(rename_all = "camelCase")]
pub struct ThreadReadParams {
    /// The thread, loaded or not.
    pub thread_id: String,
    /// Fill `thread.turns`, with all items.
    pub include_turns: Option<bool>,
}

/// Result of `thread/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadReadResponse {
    /// The thread.
    pub thread: Thread,
    /// Reserved; always null here.
    pub read_state: Option<Value>,
}

/// Params of `thread/name/set`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadNameSetParams {
    /// The thread.
    pub thread_id: String,
    /// The name; not blank.
    pub name: String,
}

/// Result of `thread/unsubscribe`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadUnsubscribeResponse {
    /// Always `unsubscribed`.
    pub status: String,
}
