//! Everything the engine can hear: one closed list.
//!
//! Events of children carry the number of the request or tool run they belong to, so that a late one is recognised and
//! ignored.

use agentd_protocol::approval::ApprovalDecision;
use agentd_protocol::item::{FileUpdateChange, UserInput};
use agentd_protocol::settings::ThreadSettings;
use agentd_protocol::usage::TokenUsageBreakdown;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::rollout::EnvironmentFacts;

/// Names the caller that waits for an answer; the engine hands it back in [`crate::effect::Effect::Reply`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReplyToken(pub u64);

/// One thing that happened.
#[derive(Debug)]
pub enum Input {
    /// A client starts a turn (during a running turn: adds input to it).
    StartTurn(Box<StartTurn>),
    /// A client adds input to the running turn.
    Steer(Box<Steer>),
    /// A client, or the daemon's shutdown, stops the running turn.
    Interrupt {
        /// The turn the client means; `None`: whichever runs.
        turn_id: Option<String>,
        /// Who waits for the answer.
        reply: Option<ReplyToken>,
    },
    /// An approval was answered. `None`: the client answered with an error or with nothing we understand.
    ApprovalAnswer {
        /// Which approval.
        approval_id: String,
        /// The decision.
        decision: Option<ApprovalDecision>,
    },
    /// The model service said something.
    Model {
        /// Number from [`crate::effect::ModelCall::request`].
        request: u64,
        /// What it said.
        event: ModelEvent,
    },
    /// A tool run said something.
    Tool {
        /// Number from [`crate::effect::ToolRun::tool`].
        tool: u64,
        /// What it said.
        event: ToolEvent,
    },
    /// The checkpoint timer fired.
    CheckpointDue,
}

/// What a turn starts with. All facts that need IO were gathered by the caller.
#[derive(Debug)]
pub struct StartTurn {
    /// Who waits for the answer.
    pub reply: ReplyToken,
    /// What the user sent.
    pub input: Vec<UserInput>,
    /// Responses API content parts for `input`, in order (images already loaded as data URLs); raw JSON objects.
    pub content: Vec<Box<RawValue>>,
    /// `clientUserMessageId`.
    pub client_user_message_id: Option<String>,
    /// The settings from this turn on.
    pub settings: ThreadSettings,
    /// What is known of the model.
    pub model: ModelFacts,
    /// What is known of the machine.
    pub facts: TurnFacts,
    /// JSON schema of the final answer, for this turn only.
    pub output_schema: Option<Value>,
}

/// More input for a running turn.
#[derive(Debug)]
pub struct Steer {
    /// Who waits for the answer.
    pub reply: ReplyToken,
    /// The turn the client believes to be running.
    pub expected_turn_id: String,
    /// What the user sent.
    pub input: Vec<UserInput>,
    /// As in [`StartTurn::content`].
    pub content: Vec<Box<RawValue>>,
    /// `clientUserMessageId`.
    pub client_user_message_id: Option<String>,
}

/// What is known of the model and its provider.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFacts {
    /// Base instructions (already replaced by `model_instructions_file` where configured).
    pub instructions: String,
    /// Context window in tokens.
    pub context_window: Option<i64>,
    /// Whether `reasoning` may be sent.
    pub supports_reasoning: bool,
    /// Effort to ask for when the settings name none.
    pub default_effort: Option<String>,
    /// Verbosity to ask for (`text.verbosity`), if the model knows it.
    pub verbosity: Option<String>,
    /// How often a stream that broke is asked for again.
    pub stream_max_retries: u32,
}

/// What is known of the machine when a turn starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnFacts {
    /// Rendered AGENTS.md text, if there is any.
    pub user_instructions: Option<String>,
    /// Developer instructions from the configuration (the thread's own ones win).
    pub developer_instructions: Option<String>,
    /// Environment facts.
    pub environment: EnvironmentFacts,
    /// All folders that commands may write in, absolute, resolved.
    pub writable_roots: Vec<String>,
    /// The user's shell, absolute, e.g. `/bin/bash`.
    pub shell: String,
}

/// What the model service said. Items are raw bytes as received.
#[derive(Debug)]
pub enum ModelEvent {
    /// `response.output_item.added`.
    ItemAdded {
        /// The item.
        item: Box<RawValue>,
    },
    /// `response.output_text.delta`.
    TextDelta {
        /// Id of the message item, if the server sent one.
        item_id: Option<String>,
        /// The text.
        delta: String,
    },
    /// `response.reasoning_summary_part.added`.
    ReasoningSummaryPartAdded {
        /// Id of the reasoning item, if the server sent one.
        item_id: Option<String>,
        /// Part index.
        summary_index: u32,
    },
    /// `response.reasoning_summary_text.delta`.
    ReasoningSummaryDelta {
        /// Id of the reasoning item, if the server sent one.
        item_id: Option<String>,
        /// Part index.
        summary_index: u32,
        /// The text.
        delta: String,
    },
    /// `response.reasoning_text.delta`.
    ReasoningTextDelta {
        /// Id of the reasoning item, if the server sent one.
        item_id: Option<String>,
        /// Part index.
        content_index: u32,
        /// The text.
        delta: String,
    },
    /// `response.output_item.done`.
    ItemDone {
        /// The item; these bytes are what later requests carry.
        item: Box<RawValue>,
    },
    /// `response.completed`.
    Completed {
        /// Usage, if the server sent any.
        usage: Option<TokenUsageBreakdown>,
        /// `response.end_turn`; `Some(false)` asks for another request even without tool calls.
        end_turn: Option<bool>,
    },
    /// The request failed or the stream broke. Nothing more comes for this request.
    Failed(ModelFailure),
}

/// Whether asking again may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAdvice {
    /// It does not help.
    Never,
    /// After a growing delay.
    Backoff,
    /// After this many milliseconds, as the server said.
    AfterMs(u64),
}

/// How a model request failed.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFailure {
    /// For people; names the operation and what the server said.
    pub message: String,
    /// `codexErrorInfo` of the protocol: a string or a one-key object.
    pub info: Value,
    /// More for people (e.g. the server's body).
    pub details: Option<String>,
    /// Whether asking again may help.
    pub retry: RetryAdvice,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecExit {
    /// It ended by itself.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// Its time was up; the whole process tree is gone.
    TimedOut,
    /// We stopped it; the whole process tree is gone.
    Cancelled,
    /// It never ran: the sandbox could not be set up, or the program could not be started.
    NotStarted {
        /// Stable word: `sandboxUnavailable`, `programNotFound`, `spawnFailed`.
        kind: String,
        /// For people and the model.
        message: String,
    },
}

/// What a tool run said.
#[derive(Debug)]
pub enum ToolEvent {
    /// The command runs.
    ExecStarted {
        /// Its process id.
        process_id: String,
    },
    /// The command wrote something (stdout and stderr as they came; valid UTF-8, repaired).
    ExecOutput {
        /// The text, at most 8,192 bytes.
        text: String,
    },
    /// The command ended; nothing more comes for this run.
    ExecEnded {
        /// How.
        exit: ExecExit,
        /// Everything it wrote, at most 1 MiB (head and tail).
        output: String,
        /// Wall time in milliseconds.
        duration_ms: i64,
    },
    /// The patch was read and checked against the files; nothing was changed yet. `Err`: text for the model.
    PatchPrepared(Result<PatchPlan, String>),
    /// The patch was applied, all of it or nothing. `Err`: text for the model; nothing more comes for this run.
    PatchApplied(Result<Vec<PatchedFile>, String>),
}

/// What a patch would do.
#[derive(Clone, Debug, PartialEq)]
pub struct PatchPlan {
    /// The files, for clients.
    pub changes: Vec<FileUpdateChange>,
    /// Real paths (symlinks resolved) of everything the patch touches. What is applied must be what was decided on.
    pub targets: Vec<String>,
    /// Those of them that lie outside the writable roots.
    pub outside: Vec<String>,
}

/// A file after a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchedFile {
    /// Absolute path.
    pub path: String,
    /// For the model: `A`, `M` or `D`.
    pub letter: char,
    /// Path as the patch named it.
    pub shown_path: String,
    /// Content before (lossy text), `None` if there was no file.
    pub before: Option<String>,
    /// Content after (lossy text), `None` if there is no file.
    pub after: Option<String>,
}
