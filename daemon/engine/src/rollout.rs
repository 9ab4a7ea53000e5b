//! The rollout: the append-only record of a thread, and the truth from which everything else can be rebuilt.
//!
//! Owns the closed list of line kinds and their stored form (a kind word and a JSON payload). The store writes lines and
//! derives its projections from them; [`crate::Engine::replay`] derives live state from them. Payloads only ever gain
//! optional members.

use agentd_protocol::item::ThreadItem;
use agentd_protocol::settings::ThreadSettings;
use agentd_protocol::thread::GitInfo;
use agentd_protocol::turn::{TurnError, TurnStatus};
use agentd_protocol::usage::ThreadTokenUsage;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// One line of a rollout.
#[derive(Clone, Debug)]
pub enum RolloutLine {
    /// First line of every thread.
    ThreadStarted(ThreadRecord),
    /// The settings from here on (first one right after `ThreadStarted`).
    Settings(ThreadSettings),
    /// The context that the model has been told; the base of later differences.
    Context(ContextSnapshot),
    /// A turn began.
    TurnStarted(TurnStarted),
    /// The user added input to a running turn; it waits for its place in the history. Superseded by the item's
    /// `ItemCompleted`.
    InputQueued(InputQueued),
    /// An item of the model-visible history, in order. Payload bytes of `item` are what is sent, unchanged, for ever.
    ResponseItem(ResponseItemLine),
    /// A shown item began whose beginning must survive a crash. For a tool call: written before it runs.
    ItemStarted(ItemLine),
    /// More text of an open item (a checkpoint; superseded by the item's `ItemCompleted`).
    ItemText(ItemText),
    /// A shown item ended.
    ItemCompleted(ItemLine),
    /// The user was asked.
    ApprovalAsked(ApprovalAsked),
    /// The user answered, or the question became moot.
    ApprovalAnswered(ApprovalAnswered),
    /// Usage after a model response.
    Usage(UsageLine),
    /// A turn ended.
    TurnCompleted(TurnCompleted),
    /// The user named the thread.
    ThreadNamed(ThreadNamed),
}

/// What is fixed at the start of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadRecord {
    /// Thread id (uuid v7).
    pub id: String,
    /// Unix milliseconds.
    pub created_at_ms: i64,
    /// `clientInfo.name` of the client that started it.
    pub originator: String,
    /// `vscode` for app-server clients.
    pub source: String,
    /// Echo of `threadSource`.
    #[serde(default)]
    pub thread_source: Option<String>,
    /// Whether it is forgotten when unloaded (such threads are never stored).
    #[serde(default)]
    pub ephemeral: bool,
    /// The thread it was forked from.
    #[serde(default)]
    pub forked_from_id: Option<String>,
    /// Replaces the model's base instructions for the whole thread.
    #[serde(default)]
    pub base_instructions: Option<String>,
    /// Developer instructions for the whole thread, verbatim.
    #[serde(default)]
    pub developer_instructions: Option<String>,
    /// Git facts at the start.
    #[serde(default)]
    pub git_info: Option<GitInfo>,
    /// `config` overrides of `thread/start`, kept for resume.
    #[serde(default)]
    pub config: Option<Value>,
}

/// Facts about the machine that the model is told. All strings are final text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentFacts {
    /// Absolute working directory.
    pub cwd: String,
    /// Shell name, e.g. `bash`.
    pub shell: String,
    /// `YYYY-MM-DD`.
    pub current_date: String,
    /// IANA name.
    pub timezone: String,
    /// `enabled` or `restricted`.
    pub network_access: String,
}

/// What the model has been told so far; a turn appends only what differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextSnapshot {
    /// Rendered permissions text.
    pub permissions: String,
    /// Developer instructions, verbatim.
    #[serde(default)]
    pub developer_instructions: Option<String>,
    /// Rendered AGENTS.md text.
    #[serde(default)]
    pub user_instructions: Option<String>,
    /// Environment facts.
    #[serde(default)]
    pub environment: EnvironmentFacts,
}

/// See [`RolloutLine::TurnStarted`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnStarted {
    /// Turn id (uuid v7).
    pub turn_id: String,
    /// Unix milliseconds.
    pub started_at_ms: i64,
}

/// See [`RolloutLine::InputQueued`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InputQueued {
    /// The turn it belongs to.
    pub turn_id: String,
    /// The user message to be shown.
    pub item: ThreadItem,
    /// The message for the model, if there is anything to tell it.
    #[serde(default)]
    pub message: Option<Box<RawValue>>,
}

/// See [`RolloutLine::ResponseItem`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ResponseItemLine {
    /// The turn it belongs to.
    pub turn_id: String,
    /// The item, byte for byte as sent or received.
    pub item: Box<RawValue>,
}

/// See [`RolloutLine::ItemStarted`] and [`RolloutLine::ItemCompleted`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemLine {
    /// The turn it belongs to.
    pub turn_id: String,
    /// The item.
    pub item: ThreadItem,
}

/// Which text of an item grew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextChannel {
    /// `agentMessage.text`.
    Message,
    /// `reasoning.summary[index]`.
    ReasoningSummary,
    /// `reasoning.content[index]`.
    ReasoningContent,
    /// `commandExecution.aggregatedOutput`.
    CommandOutput,
}

/// See [`RolloutLine::ItemText`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemText {
    /// The turn it belongs to.
    pub turn_id: String,
    /// The open item.
    pub item_id: String,
    /// Which text grew.
    pub channel: TextChannel,
    /// Part index for reasoning, else 0.
    pub index: u32,
    /// What was added.
    pub text: String,
}

/// See [`RolloutLine::ApprovalAsked`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalAsked {
    /// Approval id (uuid v7).
    pub approval_id: String,
    /// The turn that waits.
    pub turn_id: String,
    /// The item it is about.
    pub item_id: String,
    /// Unix milliseconds.
    pub asked_at_ms: i64,
    /// The request as clients got it (`{"method":…,"params":…}`).
    pub request: Value,
}

/// See [`RolloutLine::ApprovalAnswered`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalAnswered {
    /// Approval id.
    pub approval_id: String,
    /// The decision word, or `withdrawn`.
    pub decision: String,
    /// Unix milliseconds.
    pub answered_at_ms: i64,
    /// What `acceptForSession` granted: opaque keys that the engine compares later calls with.
    #[serde(default)]
    pub session_grants: Vec<String>,
}

/// See [`RolloutLine::Usage`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UsageLine {
    /// The turn it belongs to.
    pub turn_id: String,
    /// Usage of the thread.
    pub usage: ThreadTokenUsage,
}

/// See [`RolloutLine::TurnCompleted`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnCompleted {
    /// Turn id.
    pub turn_id: String,
    /// How it ended.
    pub status: TurnStatus,
    /// Why it failed.
    #[serde(default)]
    pub error: Option<TurnError>,
    /// Unix milliseconds.
    pub completed_at_ms: i64,
    /// Wall time in milliseconds.
    pub duration_ms: i64,
}

/// See [`RolloutLine::ThreadNamed`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadNamed {
    /// The name.
    pub name: Option<String>,
}

/// A stored line that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RolloutError {
    /// The first lines are missing.
    #[error("the rollout does not begin with its thread and settings")]
    NoBeginning,
    /// A newer daemon wrote it.
    #[error("unknown rollout line kind `{0}`")]
    UnknownKind(String),
    /// The payload does not fit its kind.
    #[error("rollout line `{kind}`: {source}")]
    Payload {
        /// The kind word.
        kind: String,
        /// What is wrong.
        source: serde_json::Error,
    },
}

macro_rules! kinds {
    ($($variant:ident = $word:literal),+ $(,)?) => {
        impl RolloutLine {
            /// The kind word the line is stored under.
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$variant(_) => $word,)+ }
            }

            /// The JSON payload the line is stored with.
            pub fn payload(&self) -> Result<String, RolloutError> {
                let text = match self { $(Self::$variant(p) => serde_json::to_string(p),)+ };
                text.map_err(|source| RolloutError::Payload { kind: self.kind().to_owned(), source })
            }

            /// Reads a stored line back.
            pub fn decode(kind: &str, payload: &str) -> Result<Self, RolloutError> {
                match kind {
                    $($word => serde_json::from_str(payload).map(Self::$variant)
                        .map_err(|source| RolloutError::Payload { kind: kind.to_owned(), source }),)+
                    _ => Err(RolloutError::UnknownKind(kind.to_owned())),
                }
            }
        }
    };
}

kinds! {
    ThreadStarted = "thread_started",
    Settings = "settings",
    Context = "context",
    TurnStarted = "turn_started",
    InputQueued = "input_queued",
    ResponseItem = "response_item",
    ItemStarted = "item_started",
    ItemText = "item_text",
    ItemCompleted = "item_completed",
    ApprovalAsked = "approval_asked",
    ApprovalAnswered = "approval_answered",
    Usage = "usage",
    TurnCompleted = "turn_completed",
    ThreadNamed = "thread_named",
}
