//! Requests the server sends to clients (approvals) and their answers.
//!
//! Source: app-server protocol, server requests.

use serde::{Deserialize, Serialize};

use crate::item::CommandAction;

/// A request from the server to its clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "method", content = "params")]
pub enum ServerRequest {
    /// May this command run?
    #[serde(rename = "item/commandExecution/requestApproval")]
    CommandExecutionRequestApproval(CommandExecutionRequestApprovalParams),
    /// May this patch be applied?
    #[serde(rename = "item/fileChange/requestApproval")]
    FileChangeRequestApproval(FileChangeRequestApprovalParams),
}

/// Params of `item/commandExecution/requestApproval`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct CommandExecutionRequestApprovalParams {
    /// Always `command` here.
    pub kind: String,
    /// The thread.
    pub thread_id: String,
    /// The turn that waits.
    pub turn_id: String,
    /// The item it is about (the model's call id).
    pub item_id: String,
    /// Unix milliseconds.
    pub started_at_ms: i64,
    /// Always `local` here.
    pub environment_id: String,
    /// Why the model wants it.
    pub reason: Option<String>,
    /// The command line as a shell would take it.
    pub command: String,
    /// Absolute working directory.
    pub cwd: String,
    /// What it does.
    pub command_actions: Vec<CommandAction>,
    /// Decisions that make sense, best first. Sent only to clients that asked for the experimental API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_decisions: Option<Vec<ApprovalDecision>>,
}

/// Params of `item/fileChange/requestApproval`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct FileChangeRequestApprovalParams {
    /// The thread.
    pub thread_id: String,
    /// The turn that waits.
    pub turn_id: String,
    /// The item it is about (the model's call id).
    pub item_id: String,
    /// Unix milliseconds.
    pub started_at_ms: i64,
    /// Why it has to be asked.
    pub reason: Option<String>,
    /// Reserved; always null here.
    pub grant_root: Option<String>,
}

/// What the user decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum ApprovalDecision {
    /// Yes, this once.
    Accept,
    /// Yes, and the same again without asking until the thread is unloaded.
    AcceptForSession,
    /// No; the model is told and the turn goes on.
    Decline,
    /// No; the turn ends.
    Cancel,
}

/// The answer to either request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ApprovalResponse {
    /// The decision.
    pub decision: ApprovalDecision,
}
