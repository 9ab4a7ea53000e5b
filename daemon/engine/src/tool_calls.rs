//! Tool calls of the model: reading them, keeping their order, handing their outputs over.
//!
//! Commands start as soon as they are known, side by side; a patch waits for all calls before it and holds back all
//! calls behind it. Outputs enter the history in call order, once the response that made the calls has ended. What a
//! command or a patch does in detail is in [`crate::exec`] and [`crate::patch`].

use serde_json::Value;

use crate::effect::{Effect, ToolAction, ToolRun};
use crate::exec::{self, ExecCall};
use crate::flow::Flow;
use crate::history::{CallKind, call_output};
use crate::input::ToolEvent;
use crate::out::Out;
use crate::patch::{self, PatchCall};
use crate::stop::Stop;
use crate::thread::ThreadState;
use crate::tool_specs;
use crate::turn::ActiveTurn;
use crate::{plan, tokens};

/// Calls of one turn that run or wait for the user at the same time; more wait for these.
const MAX_UNDER_WAY: usize = 16;

/// A call whose output is not yet in the history.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) call_id: String,
    kind: CallKind,
    /// When the call was made, Unix milliseconds.
    pub(crate) arrived_at_ms: i64,
    pub(crate) work: Work,
    pub(crate) stage: Stage,
    /// Position of its shown item, once there is one.
    pub(crate) item: Option<usize>,
    /// How much of its output was shown.
    pub(crate) flow: Flow,
}

/// What a call asks for.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Exec(ExecCall),
    Patch(PatchCall),
    /// Nothing to run; it was answered on arrival.
    Answered,
}

/// How far a call is.
#[derive(Debug)]
pub(crate) enum Stage {
    /// Waits for its turn.
    Queued,
    /// Waits for the user.
    Asking { approval_id: String },
    /// A patch is being read; nothing was changed yet.
    Preparing { tool: u64 },
    /// A command runs, or a patch is being applied.
    Running { tool: u64 },
    /// Has its output.
    Done { output: String },
}

impl Call {
    pub(crate) fn is_asking(&self) -> bool {
        matches!(self.stage, Stage::Asking { .. })
    }

    fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Done { .. })
    }

    fn is_under_way(&self) -> bool {
        !matches!(self.stage, Stage::Queued | Stage::Done { .. })
    }

    fn runs_as(&self, number: u64) -> bool {
        matches!(self.stage, Stage::Preparing { tool } | Stage::Running { tool } if tool == number)
    }

    pub(crate) fn seconds_since_arrival(&self, ms: i64) -> f64 {
        ms_to_seconds(ms - self.arrived_at_ms)
    }
}

/// Milliseconds as seconds, for texts to the model.
#[expect(clippy::cast_precision_loss, reason = "durations are far below 2^52 ms")]
pub(crate) fn ms_to_seconds(ms: i64) -> f64 {
    ms.max(0) as f64 / 1000.0
}

impl ActiveTurn {
    /// Takes a finished call item. Nothing runs before [`ActiveTurn::advance`].
    pub(crate) fn receive_call(
        &mut self,
        thread: &ThreadState,
        kind: CallKind,
        call_id: &str,
        item: &Value,
        out: &mut Out<'_, '_>,
    ) {
        let (work, stage) = match self.read_call(thread, kind, item, out) {
            Ok(work) => (work, Stage::Queued),
            Err(output) => (Work::Answered, Stage::Done { output }),
        };
        let (call_id, arrived_at_ms) = (call_id.to_owned(), out.ms());
        self.calls.push_back(Call {
            call_id,
            kind,
            arrived_at_ms,
            work,
            stage,
            item: None,
            flow: Flow::default(),
        });
    }

    /// What the call asks for; `Err`: its output.
    fn read_call(
        &mut self,
        thread: &ThreadState,
        kind: CallKind,
        item: &Value,
        out: &mut Out<'_, '_>,
    ) -> Result<Work, String> {
        let cwd = &thread.settings.cwd;
        if item["type"] == "local_shell_call" {
            return exec::read_local_shell(&item["action"], cwd).map(Work::Exec);
        }
        let name = item["name"].as_str().unwrap_or_default();
        if kind == CallKind::Custom {
            return match name {
                "apply_patch" => patch::read_custom(item, cwd).map(Work::Patch),
                _ => Err(unsupported(name)),
            };
        }
        let arguments = &item["arguments"];
        match name {
            "exec_command" => exec::read_exec_command(arguments, cwd, &self.facts.shell).map(Work::Exec),
            "shell" | "shell_command" | "local_shell" => {
                exec::read_shell(name, arguments, cwd, &self.facts.shell).map(Work::Exec)
            }
            "apply_patch" => patch::read_function(arguments, cwd).map(Work::Patch),
            "update_plan" => Err(plan::update(&self.id, arguments, out)),
            _ => Err(unsupported(name)),
        }
    }

    /// Starts one call that may start now. `false`: there is none.
    pub(crate) fn start_next_call(&mut self, thread: &mut ThreadState, out: &mut Out<'_, '_>) -> bool {
        let mut all_done_before = true;
        let under_way = self.calls.iter().filter(|call| call.is_under_way()).count();
        for at in 0..self.calls.len() {
            let call = &self.calls[at];
            let is_patch = matches!(call.work, Work::Patch(_));
            if matches!(call.stage, Stage::Queued) && (!is_patch || all_done_before) {
                if under_way >= MAX_UNDER_WAY {
                    return false;
                }
                self.start_call(thread, at, out);
                return true;
            }
            if is_patch && !call.is_done() {
                return false;
            }
            all_done_before &= call.is_done();
        }
        false
    }

    fn start_call(&mut self, thread: &mut ThreadState, at: usize, out: &mut Out<'_, '_>) {
        match self.calls[at].work.clone() {
            Work::Exec(exec) => self.start_exec(thread, at, exec, out),
            Work::Patch(patch) => self.prepare_patch(thread, at, &patch, out),
            Work::Answered => self.answer_call(at, String::new()),
        }
    }

    /// Runs something for a call and remembers under which number.
    pub(crate) fn run_tool(&mut self, thread: &mut ThreadState, at: usize, action: ToolAction, out: &mut Out<'_, '_>) {
        let tool = thread.next_tool();
        let call = &mut self.calls[at];
        call.stage = match action {
            ToolAction::PreparePatch { .. } => Stage::Preparing { tool },
            ToolAction::Exec(_) | ToolAction::ApplyPatch { .. } => Stage::Running { tool },
        };
        let (turn_id, call_id) = (self.id.clone(), call.call_id.clone());
        out.push(Effect::RunTool(ToolRun {
            tool,
            turn_id,
            call_id,
            action,
        }));
    }

    pub(crate) fn answer_call(&mut self, at: usize, output: String) {
        self.calls[at].stage = Stage::Done { output };
    }

    pub(crate) fn on_tool_event(
        &mut self,
        thread: &mut ThreadState,
        tool: u64,
        event: ToolEvent,
        out: &mut Out<'_, '_>,
    ) {
        let Some(at) = self.calls.iter().position(|call| call.runs_as(tool)) else {
            return;
        };
        match event {
            ToolEvent::ExecStarted { process_id } => self.exec_started(at, process_id),
            ToolEvent::ExecOutput { text } => self.exec_output(at, text, out),
            ToolEvent::ExecEnded {
                exit,
                output,
                duration_ms,
            } => self.exec_ended(at, &exit, output, duration_ms, out),
            ToolEvent::PatchPrepared(result) => self.patch_prepared(thread, at, result, out),
            ToolEvent::PatchApplied(result) => self.patch_applied(thread, at, result, out),
        }
        self.advance(thread, out);
    }

    /// Hands over the outputs that are due, in call order.
    pub(crate) fn flush_outputs(&mut self, thread: &mut ThreadState, out: &mut Out<'_, '_>) {
        while self.calls.front().is_some_and(Call::is_done) {
            let Some(call) = self.calls.pop_front() else { return };
            if let Stage::Done { output } = call.stage {
                thread.append_history(&self.id, call_output(call.kind, &call.call_id, &output), out);
            }
        }
    }

    /// The output of a call that the end of its turn cut off.
    pub(crate) fn aborted_text(&self, at: usize, ms: i64) -> String {
        match self.stop {
            Some(Stop::Failed(_)) => "aborted".to_owned(),
            _ => format!(
                "Wall time: {:.1} seconds\naborted by user",
                self.calls[at].seconds_since_arrival(ms)
            ),
        }
    }

    /// Stops one call because the turn stops. What runs is cancelled and still reports its end; a patch that is being
    /// applied finishes first.
    pub(crate) fn stop_call(&mut self, at: usize, out: &mut Out<'_, '_>) {
        let aborted = self.aborted_text(at, out.ms());
        let call = &self.calls[at];
        match &call.stage {
            Stage::Done { .. } => {}
            Stage::Queued => self.answer_call(at, aborted),
            Stage::Preparing { tool } => {
                out.push(Effect::CancelTool { tool: *tool });
                self.answer_call(at, aborted);
            }
            Stage::Asking { .. } => {
                self.withdraw_approval(at, out);
                self.answer_call(at, aborted);
            }
            Stage::Running { tool } => {
                if matches!(call.work, Work::Exec(_)) {
                    out.push(Effect::CancelTool { tool: *tool });
                }
            }
        }
    }
}

fn unsupported(name: &str) -> String {
    let name = tokens::cut(name, 64);
    format!("unsupported call: {name}; available tools: {}", tool_specs::NAMES)
}

/// The arguments of a function call as JSON. They are a string by the book, an object on some servers.
pub(crate) fn parse_arguments<T: serde::de::DeserializeOwned>(
    tool: &str,
    fields: &str,
    arguments: &Value,
) -> Result<T, String> {
    let parsed = match arguments {
        Value::String(text) => serde_json::from_str(text),
        other => T::deserialize(other),
    };
    parsed.map_err(|error| {
        format!("failed to parse function arguments: {error}. {tool} takes a JSON object with {fields}.")
    })
}
