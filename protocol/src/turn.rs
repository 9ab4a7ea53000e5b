//! Turns: from one user input to one final answer.
//!
//! Source: app-server protocol, `Turn` and `TurnError`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::item::ThreadItem;

/// How a turn stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum TurnStatus {
    /// Runs.
    InProgress,
    /// Ended with the model's final answer.
    Completed,
    /// Stopped by the user, a shutdown or a crash.
    Interrupted,
    /// Ended by an error.
    Failed,
}

/// Which items a `Turn` object carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum ItemsView {
    /// None.
    NotLoaded,
    /// The first user message and the last agent message (in `turn/completed`: the latter only).
    Summary,
    /// All.
    Full,
}

/// Why a turn failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnError {
    /// For people.
    pub message: String,
    /// For programs: a string such as `serverOverloaded` or a one-key object such as
    /// `{"httpConnectionFailed":{"httpStatusCode":401}}`.
    pub codex_error_info: Option<Value>,
    /// More for people.
    pub additional_details: Option<String>,
    /// Reserved by the protocol; always null here.
    pub misalignment: Option<Value>,
}

/// A turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// Turn id (uuid v7).
    pub id: String,
    /// Id of the turn that started this one; its own id for a turn a client started.
    pub root_turn_id: String,
    /// Items as `itemsView` says.
    pub items: Vec<ThreadItem>,
    /// Which items are there.
    pub items_view: ItemsView,
    /// How it stands.
    pub status: TurnStatus,
    /// Why it failed.
    pub error: Option<TurnError>,
    /// Unix seconds.
    pub started_at: Option<i64>,
    /// Unix seconds.
    pub completed_at: Option<i64>,
    /// Wall time in milliseconds.
    pub duration_ms: Option<i64>,
}
