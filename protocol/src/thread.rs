//! Threads: a conversation with its settings and turns.
//!
//! Source: app-server protocol, `Thread` and `ThreadStatus`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::turn::Turn;

/// Why an active thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum ActiveFlag {
    /// An approval is open.
    WaitingOnApproval,
    /// A question to the user is open.
    WaitingOnUserInput,
}

/// How a thread stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ThreadStatus {
    /// Stored, not in memory.
    NotLoaded,
    /// Loaded, no turn runs.
    Idle,
    /// Loaded, the last turn failed.
    SystemError,
    /// A turn runs.
    Active {
        /// Why it waits, if it does.
        active_flags: Vec<ActiveFlag>,
    },
}

/// Where commands run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadEnvironment {
    /// Always `local` here.
    pub environment_id: String,
    /// Absolute working directory.
    pub cwd: String,
    /// Absolute folders of the workspace.
    pub runtime_workspace_roots: Vec<String>,
}

/// Git facts of the working directory when the thread was started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct GitInfo {
    /// Commit.
    pub sha: Option<String>,
    /// Branch.
    pub branch: Option<String>,
    /// URL of `origin`.
    pub origin_url: Option<String>,
}

/// A thread. Members that the protocol reserves for features agentd does not have are always null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    /// Thread id (uuid v7).
    pub id: String,
    /// Where commands run.
    pub environments: Option<Vec<ThreadEnvironment>>,
    /// Reserved.
    pub extra: Option<Value>,
    /// Same as `id`.
    pub session_id: String,
    /// The thread this one was forked from.
    pub forked_from_id: Option<String>,
    /// Reserved.
    pub attached_to_thread_id: Option<String>,
    /// Reserved.
    pub parent_thread_id: Option<String>,
    /// Text of the first user message.
    pub preview: String,
    /// Whether the thread is forgotten when it is unloaded.
    pub ephemeral: bool,
    /// Reserved.
    pub section: Option<Value>,
    /// Reserved.
    pub section_entered_at: Option<i64>,
    /// Reserved.
    pub project_id: Option<String>,
    /// Always `paginated`.
    pub history_mode: String,
    /// Provider id.
    pub model_provider: String,
    /// Model slug.
    pub model: String,
    /// Reasoning effort, if one was asked for.
    pub reasoning_effort: Option<String>,
    /// Unix seconds.
    pub created_at: i64,
    /// Unix seconds.
    pub updated_at: i64,
    /// Unix seconds; what `thread/list` sorts by.
    pub recency_at: i64,
    /// How it stands.
    pub status: ThreadStatus,
    /// Always null: rollouts are rows of a database, not files.
    pub path: Option<String>,
    /// Absolute working directory.
    pub cwd: String,
    /// Protocol version the daemon speaks.
    pub cli_version: String,
    /// `clientInfo.name` of the client that started the thread.
    pub originator: String,
    /// Always `vscode` for threads that app-server clients started (a word the protocol fixes).
    pub source: String,
    /// Whether `turn/start` is possible.
    pub can_accept_direct_input: bool,
    /// Echo of `threadSource`.
    pub thread_source: Option<String>,
    /// Reserved.
    pub agent_nickname: Option<String>,
    /// Reserved.
    pub agent_role: Option<String>,
    /// Git facts.
    pub git_info: Option<GitInfo>,
    /// Name the user gave.
    pub name: Option<String>,
    /// Reserved.
    pub daybreak_enabled: Option<bool>,
    /// Turns in order; empty unless they were asked for.
    pub turns: Vec<Turn>,
}
