//! The model's plan as a checklist.

use agentd_protocol::notification::{PlanStep, PlanStepStatus};

use super::screen::Screen;
use super::text::one_line;

/// Longest step shown, in characters.
const STEP_LIMIT: usize = 200;

/// Shows all steps.
pub(crate) fn show(plan: &[PlanStep], screen: &mut Screen) {
    screen.gap();
    screen.line(&screen.style.bold("plan"));
    for step in plan {
        let text = one_line(&step.step, STEP_LIMIT);
        let line = match step.status {
            PlanStepStatus::Completed => screen.style.dim(&format!("  [x] {text}")).into_owned(),
            PlanStepStatus::InProgress => format!("  [>] {text}"),
            PlanStepStatus::Pending => format!("  [ ] {text}"),
        };
        screen.line(&line);
    }
    screen.gap();
}
