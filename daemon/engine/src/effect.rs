//! Everything the engine can ask for: one closed list, carried out in order by the thread's task.
//!
//! An [`Effect::Append`] is acknowledged by the store before any effect after it is carried out. That is what makes
//! "durable before visible" true.

use agentd_protocol::approval::ServerRequest;
use agentd_protocol::notification::ServerNotification;
use agentd_protocol::settings::SandboxPolicy;
use agentd_protocol::turn::Turn;
use bytes::Bytes;

use crate::input::{PatchPlan, ReplyToken};
use crate::rollout::RolloutLine;

/// One thing to do.
#[derive(Debug)]
pub enum Effect {
    /// Store these lines and wait until they are durable.
    Append(Vec<RolloutLine>),
    /// Store these lines; do not wait.
    Checkpoint(Vec<RolloutLine>),
    /// Answer a caller.
    Reply {
        /// Who waits.
        token: ReplyToken,
        /// What to say.
        result: Result<Reply, Rejection>,
    },
    /// Tell every subscriber.
    Emit(Box<ServerNotification>),
    /// Send a request to the model service and report what it says.
    CallModel(ModelCall),
    /// Stop the request with this number, if it still runs; nothing it says is wanted any more.
    CancelModel {
        /// Number from [`ModelCall::request`].
        request: u64,
    },
    /// Run a tool and report what it says.
    RunTool(ToolRun),
    /// Stop the tool run with this number; it still reports its end.
    CancelTool {
        /// Number from [`ToolRun::tool`].
        tool: u64,
    },
    /// Ask every subscriber; report the first answer.
    Ask {
        /// Approval id (uuid v7).
        approval_id: String,
        /// The request.
        request: Box<ServerRequest>,
    },
    /// The question became moot: tell subscribers that it is resolved and forget it.
    Withdraw {
        /// Approval id.
        approval_id: String,
    },
    /// Report [`crate::input::Input::CheckpointDue`] once after this many milliseconds.
    StartCheckpointTimer {
        /// Delay.
        after_ms: u64,
    },
}

/// A good answer.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one per request of a client, never stored")]
pub enum Reply {
    /// To [`crate::input::Input::StartTurn`].
    TurnStarted(Turn),
    /// To [`crate::input::Input::Steer`]: the turn that has the input.
    Steered {
        /// Its id.
        turn_id: String,
    },
    /// To [`crate::input::Input::Interrupt`].
    Interrupted,
}

/// A refusal that is the caller's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// Nothing runs.
    #[error("no active turn to interrupt")]
    NoActiveTurn,
    /// Nothing runs that could take input.
    #[error("no active turn to steer")]
    NoTurnToSteer,
    /// Input was meant for another turn than the one that runs.
    #[error("expected active turn id `{expected}` but found `{found}`")]
    SteeredWrongTurn {
        /// What the caller said.
        expected: String,
        /// What runs.
        found: String,
    },
    /// Another turn runs.
    #[error("expected active turn id {expected} but found {found}")]
    WrongTurn {
        /// What the caller said.
        expected: String,
        /// What runs.
        found: String,
    },
}

/// A request to the model service.
#[derive(Clone, Debug)]
pub struct ModelCall {
    /// Number of the request within the loaded thread.
    pub request: u64,
    /// Provider id.
    pub provider: String,
    /// The JSON body as pieces to be concatenated; kept bytes are shared, not copied.
    pub body: Vec<Bytes>,
    /// The turn it belongs to (for headers and logs).
    pub turn_id: String,
    /// 0 for the first try of this request, counting stream retries.
    pub attempt: u32,
    /// Wait this long before sending (the carrier adds jitter).
    pub delay_ms: u64,
}

/// A tool run.
#[derive(Clone, Debug)]
pub struct ToolRun {
    /// Number of the run within the loaded thread.
    pub tool: u64,
    /// The turn it belongs to.
    pub turn_id: String,
    /// The model's call id.
    pub call_id: String,
    /// What to run.
    pub action: ToolAction,
}

/// What to run.
#[derive(Clone, Debug)]
pub enum ToolAction {
    /// Run a command.
    Exec(ExecAction),
    /// Read a patch and check it against the files.
    PreparePatch {
        /// The patch text.
        patch: String,
        /// Absolute folder that relative paths start from.
        cwd: String,
        /// Folders that may be written without asking.
        writable_roots: Vec<String>,
        /// True under full access: nothing counts as outside.
        unrestricted: bool,
    },
    /// Apply a patch.
    ApplyPatch {
        /// The patch text.
        patch: String,
        /// Absolute folder that relative paths start from.
        cwd: String,
        /// Folders that may be written.
        writable_roots: Vec<String>,
        /// The user allowed paths outside the writable roots, or the policy is full access.
        unrestricted: bool,
        /// What was decided on and perhaps shown to the user; a patch that would do anything else now is not applied.
        plan: PatchPlan,
    },
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecAction {
    /// Program and arguments, e.g. `["/bin/bash", "-lc", "ls"]`.
    pub argv: Vec<String>,
    /// Absolute working directory.
    pub cwd: String,
    /// What it may do.
    pub policy: SandboxPolicy,
    /// Folders it may write in under `workspaceWrite`, absolute, resolved.
    pub writable_roots: Vec<String>,
    /// Wall-clock limit in milliseconds.
    pub timeout_ms: u64,
}
