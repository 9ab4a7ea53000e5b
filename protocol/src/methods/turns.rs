//! `turn/start`, `turn/steer`, `turn/interrupt`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::item::UserInput;
use crate::settings::{AskForApproval, SandboxPolicy};
use crate::turn::Turn;

/// Params of `turn/start`. Settings given here hold for later turns too, except `outputSchema`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(optional_fields = nullable))]
#[serde(rename_all = "camelCase")]
pub struct TurnStartParams {
    /// The thread.
    pub thread_id: String,
    /// What the user sends; may be empty.
    pub input: Vec<UserInput>,
    /// Echoed as `clientId` of the user message.
    pub client_user_message_id: Option<String>,
    /// Working directory.
    pub cwd: Option<String>,
    /// When to ask.
    pub approval_policy: Option<AskForApproval>,
    /// Who answers approvals; only `user` is known.
    pub approvals_reviewer: Option<String>,
    /// What commands may do.
    pub sandbox_policy: Option<SandboxPolicy>,
    /// Model slug.
    pub model: Option<String>,
    /// Reasoning effort (`low`, `medium`, …).
    pub effort: Option<String>,
    /// Reasoning summary: `auto`, `concise`, `detailed`, `none`.
    pub summary: Option<String>,
    /// Personality of the answers.
    pub personality: Option<String>,
    /// JSON schema of the final answer.
    pub output_schema: Option<Value>,
    /// Service tier to ask the model service for.
    pub service_tier: Option<String>,
}

/// Result of `turn/start`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TurnStartResponse {
    /// The turn; in progress and without items.
    pub turn: Turn,
}

/// Params of `turn/steer`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(optional_fields = nullable))]
#[serde(rename_all = "camelCase")]
pub struct TurnSteerParams {
    /// The thread.
    pub thread_id: String,
    /// What the user adds; not empty.
    pub input: Vec<UserInput>,
    /// The turn the client believes to be running.
    pub expected_turn_id: String,
    /// Echoed as `clientId` of the user message.
    pub client_user_message_id: Option<String>,
}

/// Result of `turn/steer`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnSteerResponse {
    /// The turn that got the input.
    pub turn_id: String,
}

/// Params of `turn/interrupt`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnInterruptParams {
    /// The thread.
    pub thread_id: String,
    /// The turn the client means.
    pub turn_id: String,
}
