//! The `update_plan` tool: the model's list of steps, shown to clients and not kept.

use agentd_protocol::notification::{PlanStep, PlanStepStatus, ServerNotification};
use serde::Deserialize;
use serde_json::Value;

use crate::out::Out;
use crate::tool_calls::parse_arguments;

#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    explanation: Option<String>,
    plan: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    step: String,
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

/// Shows the plan; returns the call's output.
pub(crate) fn update(turn_id: &str, arguments: &Value, out: &mut Out<'_, '_>) -> String {
    let fields = "plan (array of {step, status: pending|in_progress|completed}, required), explanation";
    let Arguments { explanation, plan } = match parse_arguments("update_plan", fields, arguments) {
        Ok(arguments) => arguments,
        Err(output) => return output,
    };
    let plan = plan
        .into_iter()
        .map(|Step { step, status }| PlanStep {
            step,
            status: shown(&status),
        })
        .collect();
    let (thread_id, turn_id) = (out.thread_id(), turn_id.to_owned());
    out.emit(ServerNotification::TurnPlanUpdated {
        thread_id,
        turn_id,
        explanation,
        plan,
    });
    "Plan updated".to_owned()
}

fn shown(status: &Status) -> PlanStepStatus {
    match status {
        Status::Pending => PlanStepStatus::Pending,
        Status::InProgress => PlanStepStatus::InProgress,
        Status::Completed => PlanStepStatus::Completed,
    }
}
