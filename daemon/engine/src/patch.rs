//! Patches: reading the call, having it checked, applied and shown.
//!
//! A patch is read and checked before anything is shown; one that does not fit the files is answered without an item.

use agentd_protocol::item::{FileChangeItem, PatchStatus, ThreadItem};
use agentd_protocol::notification::ServerNotification;
use agentd_protocol::settings::SandboxPolicy;
use serde::Deserialize;
use serde_json::Value;

use crate::approval::{self, Gate};
use crate::effect::ToolAction;
use crate::input::{PatchPlan, PatchedFile};
use crate::out::Out;
use crate::thread::ThreadState;
use crate::tool_calls::{Stage, Work, parse_arguments};
use crate::turn::ActiveTurn;

const VERIFICATION_FAILED: &str = "apply_patch verification failed";

/// A patch the model wants to apply.
#[derive(Clone, Debug)]
pub(crate) struct PatchCall {
    patch: String,
    cwd: String,
    /// What it would do, once it was checked.
    pub(crate) plan: Option<PatchPlan>,
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(alias = "patch")]
    input: String,
}

pub(crate) fn read_function(arguments: &Value, cwd: &str) -> Result<PatchCall, String> {
    let Arguments { input } = parse_arguments("apply_patch", "input (string, required)", arguments)?;
    Ok(PatchCall {
        patch: input,
        cwd: cwd.to_owned(),
        plan: None,
    })
}

pub(crate) fn read_custom(item: &Value, cwd: &str) -> Result<PatchCall, String> {
    match item["input"].as_str() {
        Some(patch) => Ok(PatchCall {
            patch: patch.to_owned(),
            cwd: cwd.to_owned(),
            plan: None,
        }),
        None => Err(format!("{VERIFICATION_FAILED}: the call has no input")),
    }
}

impl ActiveTurn {
    pub(crate) fn prepare_patch(
        &mut self,
        thread: &mut ThreadState,
        at: usize,
        patch: &PatchCall,
        out: &mut Out<'_, '_>,
    ) {
        let action = ToolAction::PreparePatch {
            patch: patch.patch.clone(),
            cwd: patch.cwd.clone(),
            writable_roots: self.patch_roots(thread),
            unrestricted: thread.settings.sandbox_policy == SandboxPolicy::DangerFullAccess,
        };
        self.run_tool(thread, at, action, out);
    }

    /// Folders a patch may write in. The sandbox does not bind the daemon itself, so read-only has to mean none here.
    fn patch_roots(&self, thread: &ThreadState) -> Vec<String> {
        match thread.settings.sandbox_policy {
            SandboxPolicy::ReadOnly { .. } => Vec::new(),
            SandboxPolicy::WorkspaceWrite { .. } | SandboxPolicy::DangerFullAccess => self.facts.writable_roots.clone(),
        }
    }

    pub(crate) fn patch_prepared(
        &mut self,
        thread: &mut ThreadState,
        at: usize,
        result: Result<PatchPlan, String>,
        out: &mut Out<'_, '_>,
    ) {
        let call = &mut self.calls[at];
        let (Stage::Preparing { .. }, Work::Patch(patch)) = (&call.stage, &mut call.work) else {
            return;
        };
        let plan = match result {
            Ok(plan) => plan,
            Err(text) if text.starts_with(VERIFICATION_FAILED) => return self.answer_call(at, text),
            Err(text) => return self.answer_call(at, format!("{VERIFICATION_FAILED}: {text}")),
        };
        patch.plan = Some(plan.clone());
        let patch = patch.clone();
        match approval::patch_gate(thread, &plan) {
            Gate::Refuse(output) => self.answer_call(at, output),
            Gate::Run => {
                let item = self.new_patch_item(thread, at, plan, out);
                self.store_item_started(&item, out);
                self.calls[at].item = Some(self.open_item(item, out));
                self.apply_patch(thread, at, &patch, out);
            }
            Gate::Ask => {
                let item = self.new_patch_item(thread, at, plan, out);
                self.ask_patch(thread, at, item, out);
            }
        }
    }

    fn new_patch_item(
        &self,
        thread: &mut ThreadState,
        at: usize,
        plan: PatchPlan,
        out: &mut Out<'_, '_>,
    ) -> ThreadItem {
        ThreadItem::FileChange(FileChangeItem {
            id: thread.unique_item_id(Some(&self.calls[at].call_id), out),
            changes: plan.changes,
            status: PatchStatus::InProgress,
            started_at_ms: Some(out.ms()),
            completed_at_ms: None,
        })
    }

    /// Applies a patch that nothing stands against any more.
    pub(crate) fn apply_patch(
        &mut self,
        thread: &mut ThreadState,
        at: usize,
        patch: &PatchCall,
        out: &mut Out<'_, '_>,
    ) {
        // A patch is prepared before it is applied.
        let Some(plan) = patch.plan.clone() else { return };
        let leaves_roots = !plan.outside.is_empty();
        let action = ToolAction::ApplyPatch {
            patch: patch.patch.clone(),
            cwd: patch.cwd.clone(),
            writable_roots: self.patch_roots(thread),
            unrestricted: leaves_roots || thread.settings.sandbox_policy == SandboxPolicy::DangerFullAccess,
            plan,
        };
        self.run_tool(thread, at, action, out);
    }

    pub(crate) fn patch_applied(
        &mut self,
        thread: &ThreadState,
        at: usize,
        result: Result<Vec<PatchedFile>, String>,
        out: &mut Out<'_, '_>,
    ) {
        let call = &self.calls[at];
        let (Stage::Running { .. }, Work::Patch(_)) = (&call.stage, &call.work) else {
            return;
        };
        let seconds = call.seconds_since_arrival(out.ms());
        let (status, exit_code, text) = match &result {
            Ok(files) => (PatchStatus::Completed, 0, success_text(files)),
            Err(text) => (PatchStatus::Failed, 1, text.clone()),
        };
        self.complete_patch_item(at, status, out);
        let diff = result
            .ok()
            .and_then(|files| self.diff.apply(files, &thread.settings.cwd));
        if let Some(diff) = diff {
            let (thread_id, turn_id) = (out.thread_id(), self.id.clone());
            out.emit(ServerNotification::TurnDiffUpdated {
                thread_id,
                turn_id,
                diff,
            });
        }
        self.answer_call(
            at,
            format!("Exit code: {exit_code}\nWall time: {seconds:.1} seconds\nOutput:\n{text}"),
        );
    }

    pub(crate) fn complete_patch_item(&mut self, at: usize, status: PatchStatus, out: &mut Out<'_, '_>) {
        let Some(index) = self.calls[at].item else { return };
        if let Some(ThreadItem::FileChange(item)) = self.items.get_mut(index) {
            item.status = status;
        }
        self.complete_item(index, out);
    }
}

fn success_text(files: &[PatchedFile]) -> String {
    let lines: String = files
        .iter()
        .map(|file| format!("{} {}\n", file.letter, file.shown_path))
        .collect();
    format!("Success. Updated the following files:\n{lines}")
}
