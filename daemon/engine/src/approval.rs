//! When the user is asked, and what an answer leads to.
//!
//! The gates decide from the policies alone; asking writes the item and the question down before anybody sees them.

use agentd_protocol::approval::{
    ApprovalDecision, CommandExecutionRequestApprovalParams, FileChangeRequestApprovalParams, ServerRequest,
};
use agentd_protocol::item::{CommandExecutionItem, CommandStatus, PatchStatus, ThreadItem};
use agentd_protocol::settings::{AskForApproval, SandboxPolicy};
use serde_json::{Value, json};

use crate::effect::Effect;
use crate::exec::ExecCall;
use crate::input::PatchPlan;
use crate::items;
use crate::out::Out;
use crate::rollout::{ApprovalAnswered, ApprovalAsked, RolloutLine};
use crate::thread::ThreadState;
use crate::tool_calls::{Call, Stage, Work};
use crate::turn::ActiveTurn;

/// Whether a call may go on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    Run,
    Ask,
    /// Not even asked; the text is the call's output.
    Refuse(String),
}

/// May this command run?
pub(crate) fn exec_gate(thread: &ThreadState, exec: &ExecCall) -> Gate {
    let full_access = thread.settings.sandbox_policy == SandboxPolicy::DangerFullAccess;
    let escalates = exec.escalated && !full_access;
    match thread.settings.approval_policy {
        AskForApproval::Untrusted => ask_unless(exec_granted(thread, exec)),
        AskForApproval::OnRequest if escalates => ask_unless(exec_granted(thread, exec)),
        AskForApproval::Never if escalates => Gate::Refuse(
            "approval policy is never: the command was not run, because nobody can be asked for escalated permissions. \
             Run it without sandbox_permissions or find another way."
                .to_owned(),
        ),
        AskForApproval::OnRequest | AskForApproval::Never => Gate::Run,
    }
}

/// May this patch be applied?
pub(crate) fn patch_gate(thread: &ThreadState, plan: &PatchPlan) -> Gate {
    let full_access = thread.settings.sandbox_policy == SandboxPolicy::DangerFullAccess;
    let leaves_roots = !plan.outside.is_empty() && !full_access;
    match thread.settings.approval_policy {
        AskForApproval::Untrusted => ask_unless(patch_granted(thread, plan)),
        AskForApproval::OnRequest if leaves_roots => ask_unless(patch_granted(thread, plan)),
        AskForApproval::Never if leaves_roots => Gate::Refuse(format!(
            "patch rejected: approval policy is never, and it would write outside the writable folders: {}",
            plan.outside.join(", ")
        )),
        AskForApproval::OnRequest | AskForApproval::Never => Gate::Run,
    }
}

fn ask_unless(granted: bool) -> Gate {
    if granted { Gate::Run } else { Gate::Ask }
}

/// Whether the user allowed exactly this command for the session.
pub(crate) fn exec_granted(thread: &ThreadState, exec: &ExecCall) -> bool {
    thread.grants.contains(&exec_grant(exec))
}

fn patch_granted(thread: &ThreadState, plan: &PatchPlan) -> bool {
    let grants = patch_grants(plan);
    !grants.is_empty() && grants.iter().all(|grant| thread.grants.contains(grant))
}

fn exec_grant(exec: &ExecCall) -> String {
    json!(["command", exec.argv, exec.cwd, exec.escalated]).to_string()
}

/// One grant for each real path the patch touches: a grant for a path does not follow a symlink that is put there later.
fn patch_grants(plan: &PatchPlan) -> Vec<String> {
    plan.targets
        .iter()
        .map(|path| json!(["patch", path]).to_string())
        .collect()
}

fn session_grants(work: &Work) -> Vec<String> {
    match work {
        Work::Exec(exec) => vec![exec_grant(exec)],
        Work::Patch(patch) => patch.plan.as_ref().map(patch_grants).unwrap_or_default(),
        Work::Answered => Vec::new(),
    }
}

impl ActiveTurn {
    pub(crate) fn ask_exec(
        &mut self,
        thread: &ThreadState,
        at: usize,
        exec: &ExecCall,
        item: ThreadItem,
        out: &mut Out<'_, '_>,
    ) {
        let ThreadItem::CommandExecution(CommandExecutionItem {
            id,
            command,
            command_actions,
            ..
        }) = &item
        else {
            return;
        };
        let request = ServerRequest::CommandExecutionRequestApproval(CommandExecutionRequestApprovalParams {
            kind: "command".to_owned(),
            thread_id: thread.record.id.clone(),
            turn_id: self.id.clone(),
            item_id: id.clone(),
            started_at_ms: out.ms(),
            environment_id: "local".to_owned(),
            reason: exec.justification.clone(),
            command: command.clone(),
            cwd: exec.cwd.clone(),
            command_actions: command_actions.clone(),
            available_decisions: Some(vec![
                ApprovalDecision::Accept,
                ApprovalDecision::AcceptForSession,
                ApprovalDecision::Decline,
                ApprovalDecision::Cancel,
            ]),
        });
        self.ask(at, request, item, out);
    }

    pub(crate) fn ask_patch(&mut self, thread: &ThreadState, at: usize, item: ThreadItem, out: &mut Out<'_, '_>) {
        let request = ServerRequest::FileChangeRequestApproval(FileChangeRequestApprovalParams {
            thread_id: thread.record.id.clone(),
            turn_id: self.id.clone(),
            item_id: item.id().to_owned(),
            started_at_ms: out.ms(),
            reason: None,
            grant_root: None,
        });
        self.ask(at, request, item, out);
    }

    fn ask(&mut self, at: usize, request: ServerRequest, item: ThreadItem, out: &mut Out<'_, '_>) {
        let first = !self.calls.iter().any(Call::is_asking);
        let approval_id = out.new_id();
        self.store_item_started(&item, out);
        out.append(RolloutLine::ApprovalAsked(ApprovalAsked {
            approval_id: approval_id.clone(),
            turn_id: self.id.clone(),
            item_id: item.id().to_owned(),
            asked_at_ms: out.ms(),
            request: serde_json::to_value(&request).unwrap_or(Value::Null),
        }));
        self.calls[at].stage = Stage::Asking {
            approval_id: approval_id.clone(),
        };
        if first {
            out.emit_status(self.status());
        }
        self.calls[at].item = Some(self.open_item(item, out));
        out.push(Effect::Ask {
            approval_id,
            request: Box::new(request),
        });
    }

    /// An answer came. Late ones and unknown ones are ignored.
    pub(crate) fn on_answer(
        &mut self,
        thread: &mut ThreadState,
        approval_id: &str,
        decision: Option<ApprovalDecision>,
        out: &mut Out<'_, '_>,
    ) {
        let asks = |call: &Call| matches!(&call.stage, Stage::Asking { approval_id: id } if id == approval_id);
        let Some(at) = self.calls.iter().position(asks) else {
            return;
        };
        let grants = match decision {
            Some(ApprovalDecision::AcceptForSession) => session_grants(&self.calls[at].work),
            _ => Vec::new(),
        };
        thread.grants.extend(grants.iter().cloned());
        store_answer(approval_id.to_owned(), decision_word(decision), grants, out);
        match decision {
            Some(ApprovalDecision::Accept | ApprovalDecision::AcceptForSession) => self.accepted(thread, at, out),
            Some(ApprovalDecision::Decline) => {
                self.refused(
                    at,
                    CommandStatus::Declined,
                    PatchStatus::Declined,
                    "rejected by user",
                    out,
                );
            }
            None => {
                self.refused(
                    at,
                    CommandStatus::Failed,
                    PatchStatus::Failed,
                    "approval request failed",
                    out,
                );
            }
            Some(ApprovalDecision::Cancel) => self.cancelled(thread, at, out),
        }
        self.advance(thread, out);
    }

    fn accepted(&mut self, thread: &mut ThreadState, at: usize, out: &mut Out<'_, '_>) {
        self.calls[at].stage = Stage::Queued;
        self.emit_status_unless_asking(out);
        match self.calls[at].work.clone() {
            Work::Exec(exec) => self.run_exec(thread, at, &exec, true, out),
            Work::Patch(patch) => self.apply_patch(thread, at, &patch, out),
            Work::Answered => self.answer_call(at, String::new()),
        }
    }

    fn refused(&mut self, at: usize, command: CommandStatus, patch: PatchStatus, reason: &str, out: &mut Out<'_, '_>) {
        let output = match self.calls[at].work {
            Work::Patch(_) => format!("patch {reason}"),
            Work::Exec(_) | Work::Answered => format!("exec_command failed: {reason}; the command was not run"),
        };
        self.complete_asked_item(at, command, patch, out);
        self.answer_call(at, output);
        self.emit_status_unless_asking(out);
    }

    fn cancelled(&mut self, thread: &mut ThreadState, at: usize, out: &mut Out<'_, '_>) {
        let aborted = self.aborted_text(at, out.ms());
        self.complete_asked_item(at, CommandStatus::Declined, PatchStatus::Declined, out);
        self.answer_call(at, aborted);
        self.emit_status_unless_asking(out);
        self.stop_by_user(thread, out);
    }

    fn complete_asked_item(&mut self, at: usize, command: CommandStatus, patch: PatchStatus, out: &mut Out<'_, '_>) {
        let Some(index) = self.calls[at].item else { return };
        match self.items.get_mut(index) {
            Some(ThreadItem::CommandExecution(item)) => item.status = command,
            Some(ThreadItem::FileChange(item)) => item.status = patch,
            _ => return,
        }
        self.complete_item(index, out);
    }

    /// The question of this call became moot.
    pub(crate) fn withdraw_approval(&mut self, at: usize, out: &mut Out<'_, '_>) {
        let Stage::Asking { approval_id } = &self.calls[at].stage else {
            return;
        };
        let approval_id = approval_id.clone();
        store_answer(approval_id.clone(), "withdrawn", Vec::new(), out);
        out.push(Effect::Withdraw { approval_id });
        if let Some(index) = self.calls[at].item {
            if let Some(item) = self.items.get_mut(index) {
                items::mark_failed(item);
            }
            self.complete_item(index, out);
        }
    }

    fn emit_status_unless_asking(&self, out: &mut Out<'_, '_>) {
        if !self.calls.iter().any(Call::is_asking) {
            out.emit_status(self.status());
        }
    }
}

fn store_answer(approval_id: String, decision: &str, session_grants: Vec<String>, out: &mut Out<'_, '_>) {
    let (decision, answered_at_ms) = (decision.to_owned(), out.ms());
    let line = ApprovalAnswered {
        approval_id,
        decision,
        answered_at_ms,
        session_grants,
    };
    out.append(RolloutLine::ApprovalAnswered(line));
}

fn decision_word(decision: Option<ApprovalDecision>) -> &'static str {
    match decision {
        Some(ApprovalDecision::Accept) => "accept",
        Some(ApprovalDecision::AcceptForSession) => "acceptForSession",
        Some(ApprovalDecision::Decline) => "decline",
        Some(ApprovalDecision::Cancel) => "cancel",
        None => "failed",
    }
}
