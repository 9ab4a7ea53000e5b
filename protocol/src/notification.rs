//! Notifications the server sends.
//!
//! Source: app-server protocol. On the wire each carries `emittedAtMs` (unix milliseconds) beside `method` and `params`;
//! the daemon adds it when it serialises.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::item::ThreadItem;
use crate::settings::ThreadSettings;
use crate::thread::{Thread, ThreadStatus};
use crate::turn::{Turn, TurnError};
use crate::usage::ThreadTokenUsage;

/// A notification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "method", content = "params", rename_all_fields = "camelCase")]
// Boxing the thread would change every place that builds one; where notifications are kept, they are boxed as a whole.
#[allow(clippy::large_enum_variant)]
pub enum ServerNotification {
    /// A thread exists (after `thread/start`).
    #[serde(rename = "thread/started")]
    ThreadStarted {
        /// The thread, without turns.
        thread: Thread,
    },
    /// A thread stands differently.
    #[serde(rename = "thread/status/changed")]
    ThreadStatusChanged {
        /// The thread.
        thread_id: String,
        /// How it stands.
        status: ThreadStatus,
    },
    /// The user named a thread.
    #[serde(rename = "thread/name/updated")]
    ThreadNameUpdated {
        /// The thread.
        thread_id: String,
        /// Its name from now on.
        thread_name: Option<String>,
    },
    /// The user put a thread away; it is not in memory any more.
    #[serde(rename = "thread/archived")]
    ThreadArchived {
        /// The thread.
        thread_id: String,
    },
    /// The user brought a thread back.
    #[serde(rename = "thread/unarchived")]
    ThreadUnarchived {
        /// The thread.
        thread_id: String,
    },
    /// The settings changed.
    #[serde(rename = "thread/settings/updated")]
    ThreadSettingsUpdated {
        /// The thread.
        thread_id: String,
        /// The settings from now on.
        thread_settings: ThreadSettings,
    },
    /// Usage after a model response.
    #[serde(rename = "thread/tokenUsage/updated")]
    ThreadTokenUsageUpdated {
        /// The thread.
        thread_id: String,
        /// The turn.
        turn_id: String,
        /// Usage of the thread.
        token_usage: ThreadTokenUsage,
    },
    /// A turn began.
    #[serde(rename = "turn/started")]
    TurnStarted {
        /// The thread.
        thread_id: String,
        /// The turn.
        turn: Turn,
    },
    /// A turn ended.
    #[serde(rename = "turn/completed")]
    TurnCompleted {
        /// The thread.
        thread_id: String,
        /// The turn; `items` holds the last agent message only.
        turn: Turn,
    },
    /// All changes of the turn so far as one git-style diff.
    #[serde(rename = "turn/diff/updated")]
    TurnDiffUpdated {
        /// The thread.
        thread_id: String,
        /// The turn.
        turn_id: String,
        /// The diff.
        diff: String,
    },
    /// The model's plan.
    #[serde(rename = "turn/plan/updated")]
    TurnPlanUpdated {
        /// The thread.
        thread_id: String,
        /// The turn.
        turn_id: String,
        /// Why it changed.
        explanation: Option<String>,
        /// The steps.
        plan: Vec<PlanStep>,
    },
    /// An item began.
    #[serde(rename = "item/started")]
    ItemStarted {
        /// The item.
        item: ThreadItem,
        /// The thread.
        thread_id: String,
        /// The turn.
        turn_id: String,
        /// Unix milliseconds.
        started_at_ms: i64,
    },
    /// An item ended.
    #[serde(rename = "item/completed")]
    ItemCompleted {
        /// The item.
        item: ThreadItem,
        /// The thread.
        thread_id: String,
        /// The turn.
        turn_id: String,
        /// Reserved; always null here.
        content_token_count: Option<i64>,
        /// Unix milliseconds.
        completed_at_ms: i64,
    },
    /// More text of an assistant message.
    #[serde(rename = "item/agentMessage/delta")]
    AgentMessageDelta {
        /// The thread.
        thread_id: String,
        /// The turn.
        turn_id: String,
        /// The item.
        item_id: String,
        /// The text.
        delta: String,
    },
    /// A new part of a reasoning summary.
    #[serde(rename = "item/reasoning/summaryPartAdded")]
    ReasoningSummaryPartAdded {
        /// The thread.
        thread_id: String,
        /// The turn.
        turn_id: String,
        /// The item.
        item_id: String,
        /// Part index.
        summary_index: u32,
    },
    /// More text of a reasoning summary.
    #[serde(rename = "item/reasoning/summaryTextDelta")]
    ReasoningSummaryTextDelta {
        /// The thread.
        thread_id: String,
        /// The turn.
        turn_id: String,
        /// The item.
        item_id: String,
        /// The text.
        delta: String,
        /// Part index.
        summary_index: u32,
    },
    /// More text of raw reasoning.
    #[serde(rename = "item/reasoning/textDelta")]
    ReasoningTextDelta {
        /// The thread.
        thread_id: String,
        /// The turn.
        turn_id: String,
        /// The item.
        item_id: String,
        /// The text.
        delta: String,
        /// Part index.
        content_index: u32,
    },
    /// More output of a command.
    #[serde(rename = "item/commandExecution/outputDelta")]
    CommandExecutionOutputDelta {
        /// The thread.
        thread_id: String,
        /// The turn.
        turn_id: String,
        /// The item.
        item_id: String,
        /// The text, at most 8,192 bytes.
        delta: String,
    },
    /// A server request was answered or became moot.
    #[serde(rename = "serverRequest/resolved")]
    ServerRequestResolved {
        /// The thread.
        thread_id: String,
        /// Id of the server request.
        request_id: i64,
    },
    /// Something went wrong in a turn.
    #[serde(rename = "error")]
    Error {
        /// What.
        error: TurnError,
        /// Whether the daemon tries again by itself.
        will_retry: bool,
        /// The thread.
        thread_id: String,
        /// The turn.
        turn_id: String,
    },
    /// Something the user should know about a thread.
    #[serde(rename = "warning")]
    Warning {
        /// The thread, if it is about one.
        thread_id: Option<String>,
        /// For people.
        message: String,
    },
    /// Something in the configuration was not understood.
    #[serde(rename = "configWarning")]
    ConfigWarning {
        /// For people.
        summary: String,
        /// More for people.
        details: Option<String>,
    },
    /// Rate limits as the model service reported them.
    #[serde(rename = "account/rateLimits/updated")]
    AccountRateLimitsUpdated {
        /// The limits.
        rate_limits: Value,
    },
}

impl ServerNotification {
    /// Name on the wire.
    pub fn method(&self) -> &'static str {
        match self {
            Self::ThreadStarted { .. } => "thread/started",
            Self::ThreadStatusChanged { .. } => "thread/status/changed",
            Self::ThreadNameUpdated { .. } => "thread/name/updated",
            Self::ThreadArchived { .. } => "thread/archived",
            Self::ThreadUnarchived { .. } => "thread/unarchived",
            Self::ThreadSettingsUpdated { .. } => "thread/settings/updated",
            Self::ThreadTokenUsageUpdated { .. } => "thread/tokenUsage/updated",
            Self::TurnStarted { .. } => "turn/started",
            Self::TurnCompleted { .. } => "turn/completed",
            Self::TurnDiffUpdated { .. } => "turn/diff/updated",
            Self::TurnPlanUpdated { .. } => "turn/plan/updated",
            Self::ItemStarted { .. } => "item/started",
            Self::ItemCompleted { .. } => "item/completed",
            Self::AgentMessageDelta { .. } => "item/agentMessage/delta",
            Self::ReasoningSummaryPartAdded { .. } => "item/reasoning/summaryPartAdded",
            Self::ReasoningSummaryTextDelta { .. } => "item/reasoning/summaryTextDelta",
            Self::ReasoningTextDelta { .. } => "item/reasoning/textDelta",
            Self::CommandExecutionOutputDelta { .. } => "item/commandExecution/outputDelta",
            Self::ServerRequestResolved { .. } => "serverRequest/resolved",
            Self::Error { .. } => "error",
            Self::Warning { .. } => "warning",
            Self::ConfigWarning { .. } => "configWarning",
            Self::AccountRateLimitsUpdated { .. } => "account/rateLimits/updated",
        }
    }

    /// The thread it is about, if it is about one.
    pub fn thread_id(&self) -> Option<&str> {
        match self {
            Self::ThreadStarted { thread } => Some(&thread.id),
            Self::Warning { thread_id, .. } => thread_id.as_deref(),
            Self::ThreadStatusChanged { thread_id, .. }
            | Self::ThreadNameUpdated { thread_id, .. }
            | Self::ThreadArchived { thread_id }
            | Self::ThreadUnarchived { thread_id }
            | Self::ThreadSettingsUpdated { thread_id, .. }
            | Self::ThreadTokenUsageUpdated { thread_id, .. }
            | Self::TurnStarted { thread_id, .. }
            | Self::TurnCompleted { thread_id, .. }
            | Self::TurnDiffUpdated { thread_id, .. }
            | Self::TurnPlanUpdated { thread_id, .. }
            | Self::ItemStarted { thread_id, .. }
            | Self::ItemCompleted { thread_id, .. }
            | Self::AgentMessageDelta { thread_id, .. }
            | Self::ReasoningSummaryPartAdded { thread_id, .. }
            | Self::ReasoningSummaryTextDelta { thread_id, .. }
            | Self::ReasoningTextDelta { thread_id, .. }
            | Self::CommandExecutionOutputDelta { thread_id, .. }
            | Self::ServerRequestResolved { thread_id, .. }
            | Self::Error { thread_id, .. } => Some(thread_id),
            Self::ConfigWarning { .. } | Self::AccountRateLimitsUpdated { .. } => None,
        }
    }
}

/// One step of the model's plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct PlanStep {
    /// What.
    pub step: String,
    /// How it stands.
    pub status: PlanStepStatus,
}

/// How a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum PlanStepStatus {
    /// Not begun.
    Pending,
    /// Under way.
    InProgress,
    /// Done.
    Completed,
}
