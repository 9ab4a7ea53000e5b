//! Items: what a turn is made of, as clients see them (`ThreadItem`), and what users send (`UserInput`).
//!
//! Source: app-server protocol, `ThreadItem` and `UserInput`. Model-side items (Responses API) are not here; they stay raw
//! JSON in the engine.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One piece of user input in `turn/start`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum UserInput {
    /// Plain text. `text_elements` marks spans a client wants to render specially; it is echoed, never interpreted.
    Text {
        /// The text.
        text: String,
        /// Client-side annotations (opaque).
        #[serde(default, rename = "text_elements")]
        text_elements: Vec<Value>,
    },
    /// An image by URL (`https:` or `data:`).
    Image {
        /// Where the image is.
        url: String,
        /// Detail hint of the Responses API (`low`, `high`, `auto`, `original`).
        #[serde(default)]
        detail: Option<String>,
    },
    /// An image file on the daemon's machine.
    LocalImage {
        /// Absolute path.
        path: String,
        /// Detail hint of the Responses API.
        #[serde(default)]
        detail: Option<String>,
    },
    /// A skill the user named.
    Skill {
        /// Name of the skill.
        name: String,
        /// Path of its `SKILL.md`.
        path: String,
    },
    /// A file or folder the user mentioned; adds nothing to the model input by itself.
    Mention {
        /// Shown name.
        name: String,
        /// Path that was mentioned.
        path: String,
    },
}

/// What clients see of a turn, tagged by `type`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ThreadItem {
    /// What the user said.
    UserMessage(UserMessageItem),
    /// What the model said to the user.
    AgentMessage(AgentMessageItem),
    /// What the model thought, as far as it is shown.
    Reasoning(ReasoningItem),
    /// A command that ran or waits to run.
    CommandExecution(CommandExecutionItem),
    /// A patch that was applied or waits to be.
    FileChange(FileChangeItem),
}

impl ThreadItem {
    /// The item's id (for commands and patches: the model's call id).
    pub fn id(&self) -> &str {
        match self {
            Self::UserMessage(i) => &i.id,
            Self::AgentMessage(i) => &i.id,
            Self::Reasoning(i) => &i.id,
            Self::CommandExecution(i) => &i.id,
            Self::FileChange(i) => &i.id,
        }
    }

    /// Unix milliseconds at which the item was completed; `None` while it is open.
    pub fn completed_at_ms(&self) -> Option<i64> {
        match self {
            Self::UserMessage(i) => i.completed_at_ms,
            Self::AgentMessage(i) => i.completed_at_ms,
            Self::Reasoning(i) => i.completed_at_ms,
            Self::CommandExecution(i) => i.completed_at_ms,
            Self::FileChange(i) => i.completed_at_ms,
        }
    }

    /// Unix milliseconds at which the item was started.
    pub fn started_at_ms(&self) -> Option<i64> {
        match self {
            Self::UserMessage(i) => i.started_at_ms,
            Self::AgentMessage(i) => i.started_at_ms,
            Self::Reasoning(i) => i.started_at_ms,
            Self::CommandExecution(i) => i.started_at_ms,
            Self::FileChange(i) => i.started_at_ms,
        }
    }
}

/// A user message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct UserMessageItem {
    /// Item id (uuid v7).
    pub id: String,
    /// Echo of `clientUserMessageId`.
    pub client_id: Option<String>,
    /// What was sent.
    pub content: Vec<UserInput>,
    /// Unix milliseconds.
    pub started_at_ms: Option<i64>,
    /// Unix milliseconds.
    pub completed_at_ms: Option<i64>,
}

/// Longest preview, in characters.
const PREVIEW_CHARS: usize = 500;

impl UserMessageItem {
    /// What stands for the message where there is room for a line or two: its texts, at most 500 characters.
    pub fn preview(&self) -> String {
        let texts = self.content.iter().filter_map(|input| match input {
            UserInput::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts
            .collect::<Vec<_>>()
            .join("\n")
            .chars()
            .take(PREVIEW_CHARS)
            .collect()
    }
}

/// An assistant message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AgentMessageItem {
    /// Reserved by the protocol; always null here.
    pub moderation: Option<Value>,
    /// The model's own item id, or a generated one.
    pub id: String,
    /// The text so far (complete once `completedAtMs` is set).
    pub text: String,
    /// `commentary`, `final_answer` or null, as the model labelled it.
    pub phase: Option<String>,
    /// Reserved by the protocol; always null here.
    pub memory_citation: Option<Value>,
    /// Reserved by the protocol; always null here.
    pub delivery: Option<Value>,
    /// Reserved by the protocol; always null here.
    pub questions: Option<Value>,
    /// Unix milliseconds.
    pub started_at_ms: Option<i64>,
    /// Unix milliseconds.
    pub completed_at_ms: Option<i64>,
}

/// Reasoning of the model as far as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ReasoningItem {
    /// The model's own item id, or a generated one.
    pub id: String,
    /// Summary parts in order.
    pub summary: Vec<String>,
    /// Raw reasoning parts in order; empty unless the provider sends them.
    pub content: Vec<String>,
    /// Unix milliseconds.
    pub started_at_ms: Option<i64>,
    /// Unix milliseconds.
    pub completed_at_ms: Option<i64>,
}

/// How a command stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum CommandStatus {
    /// Waits for approval or runs.
    InProgress,
    /// Ended with exit code 0.
    Completed,
    /// Ended otherwise, was stopped, or could not be run.
    Failed,
    /// The user did not allow it.
    Declined,
}

/// What a command does, as far as it is understood.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CommandAction {
    /// Reads one file.
    Read {
        /// The command.
        command: String,
        /// Shown name of the file.
        name: String,
        /// Path of the file.
        path: String,
    },
    /// Lists files.
    ListFiles {
        /// The command.
        command: String,
        /// The folder, if one was named.
        path: Option<String>,
    },
    /// Searches files.
    Search {
        /// The command.
        command: String,
        /// What is searched for.
        query: Option<String>,
        /// Where.
        path: Option<String>,
    },
    /// Anything else.
    Unknown {
        /// The command.
        command: String,
    },
}

/// A command execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct CommandExecutionItem {
    /// The model's call id.
    pub id: String,
    /// Reserved by the protocol; always null here.
    pub plugin_id: Option<String>,
    /// Reserved by the protocol; always null here.
    pub script_path: Option<String>,
    /// The command line as a shell would take it, e.g. `/bin/bash -lc 'ls'`.
    pub command: String,
    /// Absolute working directory.
    pub cwd: String,
    /// Id of the running process, if it is known.
    pub process_id: Option<String>,
    /// Who started it: `agent` (waits for approval), `unifiedExecStartup`, `userShell`.
    pub source: String,
    /// How it stands.
    pub status: CommandStatus,
    /// What it does.
    pub command_actions: Vec<CommandAction>,
    /// stdout and stderr as they came, at most 1 MiB (head and tail); null before the first byte.
    pub aggregated_output: Option<String>,
    /// Exit code; null while it runs and when it ended by a signal from us.
    pub exit_code: Option<i32>,
    /// Wall time in milliseconds.
    pub duration_ms: Option<i64>,
    /// Unix milliseconds.
    pub started_at_ms: Option<i64>,
    /// Unix milliseconds.
    pub completed_at_ms: Option<i64>,
}

/// How a patch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum PatchStatus {
    /// Waits for approval or is being applied.
    InProgress,
    /// Applied.
    Completed,
    /// Could not be applied; no file was changed.
    Failed,
    /// The user did not allow it.
    Declined,
}

/// What happens to one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum PatchChangeKind {
    /// The file is created.
    Add,
    /// The file is removed.
    Delete,
    /// The file is changed and perhaps moved.
    Update {
        /// New absolute path, or null. (snake_case on the wire, as in the protocol.)
        move_path: Option<String>,
    },
}

/// One file of a patch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct FileUpdateChange {
    /// Absolute path.
    pub path: String,
    /// What happens.
    pub kind: PatchChangeKind,
    /// Add and delete: the whole text; update: unified hunks without file headers, then `\n\nMoved to: PATH` for a move.
    pub diff: String,
}

/// A patch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct FileChangeItem {
    /// The model's call id.
    pub id: String,
    /// The files.
    pub changes: Vec<FileUpdateChange>,
    /// How it stands.
    pub status: PatchStatus,
    /// Unix milliseconds.
    pub started_at_ms: Option<i64>,
    /// Unix milliseconds.
    pub completed_at_ms: Option<i64>,
}
