//! One function per piece of context; the wording is in `agentd-prompts`.

use agentd_prompts as prompts;
use agentd_protocol::settings::{AskForApproval, SandboxPolicy, ThreadSettings};

use crate::input::TurnFacts;
use crate::rollout::EnvironmentFacts;

pub(super) fn permissions(settings: &ThreadSettings, facts: &TurnFacts) -> String {
    prompts::permissions(&prompts::Permissions {
        sandbox: match settings.sandbox_policy {
            SandboxPolicy::DangerFullAccess => prompts::Sandbox::DangerFullAccess,
            SandboxPolicy::ReadOnly { .. } => prompts::Sandbox::ReadOnly,
            SandboxPolicy::WorkspaceWrite { .. } => prompts::Sandbox::WorkspaceWrite,
        },
        network_access: settings.sandbox_policy.network_access(),
        writable_roots: &facts.writable_roots,
        approval: match settings.approval_policy {
            AskForApproval::Untrusted => prompts::Approval::Untrusted,
            AskForApproval::OnRequest => prompts::Approval::OnRequest,
            AskForApproval::Never => prompts::Approval::Never,
        },
    })
}

pub(super) fn user_instructions(cwd: &str, text: &str) -> String {
    prompts::user_instructions(cwd, text)
}

/// Empty if nothing differs from `told`.
pub(super) fn environment(now: &EnvironmentFacts, told: Option<&EnvironmentFacts>) -> String {
    prompts::environment_context(&view(now), told.map(view).as_ref())
}

fn view(facts: &EnvironmentFacts) -> prompts::Environment<'_> {
    prompts::Environment {
        cwd: &facts.cwd,
        shell: &facts.shell,
        current_date: &facts.current_date,
        timezone: &facts.timezone,
        network_access: &facts.network_access,
    }
}
