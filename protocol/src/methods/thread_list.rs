//! Paging: lists of threads, turns and items. Cursors are opaque to clients.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::item::ThreadItem;
use crate::thread::Thread;
use crate::turn::{ItemsView, Turn};

/// Which way a list runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum SortDirection {
    /// Oldest first.
    Asc,
    /// Newest first.
    Desc,
}

/// What threads are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ThreadSortKey {
    /// When they were created.
    #[serde(rename = "created_at", alias = "createdAt")]
    CreatedAt,
    /// When they last changed.
    #[serde(rename = "updated_at", alias = "updatedAt")]
    UpdatedAt,
    /// When a turn last began or ended.
    #[serde(rename = "recency_at", alias = "recencyAt")]
    RecencyAt,
}

/// One working directory or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(untagged)]
pub enum CwdFilter {
    /// This one.
    One(String),
    /// Any of these.
    Any(Vec<String>),
}

impl CwdFilter {
    /// The directories.
    pub fn paths(&self) -> &[String] {
        match self {
            Self::One(path) => std::slice::from_ref(path),
            Self::Any(paths) => paths,
        }
    }
}

/// Params of `thread/list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(optional_fields = nullable))]
#[serde(rename_all = "camelCase")]
pub struct ThreadListParams {
    /// Where an earlier page ended.
    pub cursor: Option<String>,
    /// At most this many.
    pub limit: Option<u32>,
    /// What to sort by.
    pub sort_key: Option<ThreadSortKey>,
    /// Which way; newest first by default.
    pub sort_direction: Option<SortDirection>,
    /// Only threads of these providers; empty means all.
    pub model_providers: Option<Vec<String>>,
    /// Only threads of these sources; empty means all.
    pub source_kinds: Option<Vec<String>>,
    /// Archived threads instead of the others.
    pub archived: Option<bool>,
    /// Only threads of these working directories.
    pub cwd: Option<CwdFilter>,
    /// Only threads whose name or preview holds this text.
    pub search_term: Option<String>,
    /// Accepted and ignored: there is nothing but the database here.
    pub use_state_db_only: Option<bool>,
}

/// Result of `thread/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadListResponse {
    /// The threads, without turns.
    pub data: Vec<Thread>,
    /// Reserved; always empty here.
    #[serde(default)]
    pub read_states: BTreeMap<String, Value>,
    /// For the next page, if there is more.
    pub next_cursor: Option<String>,
    /// For what is before this page; only with the other sort direction.
    pub backwards_cursor: Option<String>,
}

/// Params of `thread/loaded/list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(optional_fields = nullable))]
#[serde(rename_all = "camelCase")]
pub struct ThreadLoadedListParams {
    /// Where an earlier page ended.
    pub cursor: Option<String>,
    /// At most this many.
    pub limit: Option<u32>,
}

/// Result of `thread/loaded/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadLoadedListResponse {
    /// Ids of the threads in memory.
    pub data: Vec<String>,
    /// For the next page, if there is more.
    pub next_cursor: Option<String>,
}

/// Params of `thread/turns/list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(optional_fields = nullable))]
#[serde(rename_all = "camelCase")]
pub struct ThreadTurnsListParams {
    /// The thread.
    pub thread_id: String,
    /// Where an earlier page ended.
    pub cursor: Option<String>,
    /// At most this many.
    pub limit: Option<u32>,
    /// Which way; newest first by default.
    pub sort_direction: Option<SortDirection>,
    /// Which items the turns carry; the summary by default.
    pub items_view: Option<ItemsView>,
}

/// Result of `thread/turns/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadTurnsListResponse {
    /// The turns.
    pub data: Vec<Turn>,
    /// For the next page, if there is more.
    pub next_cursor: Option<String>,
    /// For what is before this page; only with the other sort direction.
    pub backwards_cursor: Option<String>,
}

/// Params of `thread/items/list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(optional_fields = nullable))]
#[serde(rename_all = "camelCase")]
pub struct ThreadItemsListParams {
    /// The thread.
    pub thread_id: String,
    /// Only items of this turn.
    pub turn_id: Option<String>,
    /// Where an earlier page ended.
    pub cursor: Option<String>,
    /// At most this many.
    pub limit: Option<u32>,
    /// Which way; oldest first by default.
    pub sort_direction: Option<SortDirection>,
}

/// An item with its turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadItemEntry {
    /// The turn.
    pub turn_id: String,
    /// The item.
    pub item: ThreadItem,
    /// Unix milliseconds.
    pub started_at_ms: Option<i64>,
    /// Unix milliseconds.
    pub completed_at_ms: Option<i64>,
}

/// Result of `thread/items/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadItemsListResponse {
    /// The items.
    pub data: Vec<ThreadItemEntry>,
    /// For the next page, if there is more.
    pub next_cursor: Option<String>,
    /// For what is before this page; only with the other sort direction.
    pub backwards_cursor: Option<String>,
}
