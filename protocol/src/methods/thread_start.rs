//! `thread/start`, `thread/resume` and `thread/fork`: bringing a thread into memory, with settings.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::settings::{AskForApproval, SandboxMode, SandboxPolicy};
use crate::thread::Thread;

/// Params of `thread/start`. What is left out comes from the configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(optional_fields = nullable))]
#[serde(rename_all = "camelCase")]
pub struct ThreadStartParams {
    /// Model slug.
    pub model: Option<String>,
    /// Provider id, a key of `model_providers`.
    pub model_provider: Option<String>,
    /// Working directory. A relative one starts from the daemon's.
    pub cwd: Option<String>,
    /// When to ask.
    pub approval_policy: Option<AskForApproval>,
    /// Who answers approvals; only `user` is known.
    pub approvals_reviewer: Option<String>,
    /// What commands may do, as a mode.
    pub sandbox: Option<SandboxMode>,
    /// Configuration for this thread only: dotted keys, as in `config.toml`.
    pub config: Option<BTreeMap<String, Value>>,
    /// Replaces the base instructions.
    pub base_instructions: Option<String>,
    /// Further instructions in the developer role.
    pub developer_instructions: Option<String>,
    /// Personality of the answers.
    pub personality: Option<String>,
    /// Whether the thread is forgotten when it is unloaded.
    pub ephemeral: Option<bool>,
    /// Service tier to ask the model service for.
    pub service_tier: Option<String>,
    /// Name of the service the client belongs to; accepted and ignored.
    pub service_name: Option<String>,
    /// What the thread was started for; echoed in `thread.threadSource`.
    pub thread_source: Option<String>,
}

/// Result of `thread/start` and `thread/fork`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadStartResponse {
    /// The thread.
    pub thread: Thread,
    /// Model slug.
    pub model: String,
    /// Provider id.
    pub model_provider: String,
    /// Service tier, if one was asked for.
    pub service_tier: Option<String>,
    /// Always empty here.
    #[serde(default)]
    pub disabled_plugin_ids: Vec<String>,
    /// Absolute working directory.
    pub cwd: String,
    /// Absolute folders of the workspace.
    #[serde(default)]
    pub runtime_workspace_roots: Vec<String>,
    /// Absolute paths of the AGENTS.md files in force.
    #[serde(default)]
    pub instruction_sources: Vec<String>,
    /// When to ask.
    pub approval_policy: AskForApproval,
    /// Who answers approvals; always `user` here.
    pub approvals_reviewer: String,
    /// What commands may do.
    pub sandbox: SandboxPolicy,
    /// Reserved; always null here.
    pub active_permission_profile: Option<Value>,
    /// Reasoning effort, if one was asked for.
    pub reasoning_effort: Option<String>,
    /// Always `explicitRequestOnly` here.
    #[serde(default)]
    pub multi_agent_mode: String,
}

/// Params of `thread/resume`. The settings override those the thread was left with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(optional_fields = nullable))]
#[serde(rename_all = "camelCase")]
pub struct ThreadResumeParams {
    /// The thread.
    pub thread_id: String,
    /// Model slug.
    pub model: Option<String>,
    /// Provider id, a key of `model_providers`.
    pub model_provider: Option<String>,
    /// Working directory.
    pub cwd: Option<String>,
    /// When to ask.
    pub approval_policy: Option<AskForApproval>,
    /// Who answers approvals; only `user` is known.
    pub approvals_reviewer: Option<String>,
    /// What commands may do, as a mode.
    pub sandbox: Option<SandboxMode>,
    /// Configuration for this thread only: dotted keys, as in `config.toml`.
    pub config: Option<BTreeMap<String, Value>>,
    /// Replaces the base instructions; only a thread without turns takes it.
    pub base_instructions: Option<String>,
    /// Further instructions in the developer role; only a thread without turns takes them.
    pub developer_instructions: Option<String>,
    /// Personality of the answers.
    pub personality: Option<String>,
    /// Service tier to ask the model service for.
    pub service_tier: Option<String>,
    /// Leave `thread.turns` empty.
    pub exclude_turns: Option<bool>,
}

/// Result of `thread/resume`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadResumeResponse {
    /// As in `thread/start`; `thread.turns` holds all turns unless they were excluded.
    #[serde(flatten)]
    pub started: ThreadStartResponse,
    /// Reserved; always null here.
    pub initial_turns_page: Option<Value>,
}

/// Params of `thread/fork`. The settings override those of the source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(optional_fields = nullable))]
#[serde(rename_all = "camelCase")]
pub struct ThreadForkParams {
    /// The source.
    pub thread_id: String,
    /// The last turn the fork has; without it: all.
    pub last_turn_id: Option<String>,
    /// Model slug.
    pub model: Option<String>,
    /// Provider id, a key of `model_providers`.
    pub model_provider: Option<String>,
    /// Working directory.
    pub cwd: Option<String>,
    /// When to ask.
    pub approval_policy: Option<AskForApproval>,
    /// Who answers approvals; only `user` is known.
    pub approvals_reviewer: Option<String>,
    /// What commands may do, as a mode.
    pub sandbox: Option<SandboxMode>,
    /// Configuration for this thread only: dotted keys, as in `config.toml`.
    pub config: Option<BTreeMap<String, Value>>,
    /// Whether the fork is forgotten when it is unloaded.
    pub ephemeral: Option<bool>,
    /// Service tier to ask the model service for.
    pub service_tier: Option<String>,
    /// Leave `thread.turns` empty.
    pub exclude_turns: Option<bool>,
}
