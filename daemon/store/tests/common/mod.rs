//! Builders of rollout lines for the store's tests.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use agentd_engine::rollout::*;
use agentd_protocol::item::{
    AgentMessageItem, CommandExecutionItem, CommandStatus, ReasoningItem, ThreadItem, UserInput, UserMessageItem,
};
use agentd_protocol::settings::{AskForApproval, SandboxMode, SandboxPolicy, ThreadSettings};
use agentd_protocol::turn::{TurnError, TurnStatus};
use agentd_protocol::usage::{ThreadTokenUsage, TokenUsageBreakdown};
use serde_json::value::RawValue;

pub fn record(id: &str, created_at_ms: i64) -> ThreadRecord {
    ThreadRecord {
        id: id.to_owned(),
        created_at_ms,
        originator: "test".to_owned(),
        source: "vscode".to_owned(),
        thread_source: None,
        ephemeral: false,
        forked_from_id: None,
        base_instructions: None,
        developer_instructions: None,
        git_info: None,
        config: None,
    }
}

pub fn settings(cwd: &str, provider: &str) -> ThreadSettings {
    ThreadSettings {
        cwd: cwd.to_owned(),
        approval_policy: AskForApproval::OnRequest,
        approvals_reviewer: "user".to_owned(),
        sandbox_policy: SandboxPolicy::from_mode(SandboxMode::ReadOnly),
        model: "model-x".to_owned(),
        model_provider: provider.to_owned(),
        service_tier: None,
        effort: None,
        summary: None,
        personality: None,
    }
}

/// The two lines every thread begins with.
pub fn beginning(id: &str, created_at_ms: i64) -> Vec<RolloutLine> {
    vec![
        RolloutLine::ThreadStarted(record(id, created_at_ms)),
        RolloutLine::Settings(settings("/w", "openai")),
    ]
}

pub fn turn_started(turn: &str, ms: i64) -> RolloutLine {
    RolloutLine::TurnStarted(TurnStarted {
        turn_id: turn.to_owned(),
        started_at_ms: ms,
    })
}

pub fn turn_completed(turn: &str, status: TurnStatus, ms: i64) -> RolloutLine {
    let error = (status == TurnStatus::Failed).then(|| TurnError {
        message: "no".to_owned(),
        codex_error_info: None,
        additional_details: None,
        misalignment: None,
    });
    let line = TurnCompleted {
        turn_id: turn.to_owned(),
        status,
        error,
        completed_at_ms: ms,
        duration_ms: 1500,
    };
    RolloutLine::TurnCompleted(line)
}

pub fn started(turn: &str, item: ThreadItem) -> RolloutLine {
    RolloutLine::ItemStarted(ItemLine {
        turn_id: turn.to_owned(),
        item,
    })
}

pub fn completed(turn: &str, item: ThreadItem) -> RolloutLine {
    RolloutLine::ItemCompleted(ItemLine {
        turn_id: turn.to_owned(),
        item,
    })
}

pub fn response_item(turn: &str, json: &str) -> RolloutLine {
    let item = RawValue::from_string(json.to_owned()).unwrap();
    RolloutLine::ResponseItem(ResponseItemLine {
        turn_id: turn.to_owned(),
        item,
    })
}

pub fn queued(turn: &str, id: &str, text: &str) -> RolloutLine {
    let message = r#"{"type":"message","role":"user","content":[]}"#;
    RolloutLine::InputQueued(InputQueued {
        turn_id: turn.to_owned(),
        item: user(id, text),
        message: Some(RawValue::from_string(message.to_owned()).unwrap()),
    })
}

pub fn text(turn: &str, item: &str, channel: TextChannel, index: u32, text: &str) -> RolloutLine {
    let line = ItemText {
        turn_id: turn.to_owned(),
        item_id: item.to_owned(),
        channel,
        index,
        text: text.to_owned(),
    };
    RolloutLine::ItemText(line)
}

pub fn user(id: &str, text: &str) -> ThreadItem {
    let content = vec![UserInput::Text {
        text: text.to_owned(),
        text_elements: Vec::new(),
    }];
    ThreadItem::UserMessage(UserMessageItem {
        id: id.to_owned(),
        client_id: None,
        content,
        started_at_ms: Some(1),
        completed_at_ms: Some(1),
    })
}

pub fn agent(id: &str, text: &str) -> ThreadItem {
    ThreadItem::AgentMessage(AgentMessageItem {
        id: id.to_owned(),
        text: text.to_owned(),
        ..Default::default()
    })
}

pub fn reasoning(id: &str) -> ThreadItem {
    ThreadItem::Reasoning(ReasoningItem {
        id: id.to_owned(),
        ..Default::default()
    })
}

pub fn command(id: &str, command: &str) -> ThreadItem {
    ThreadItem::CommandExecution(CommandExecutionItem {
        id: id.to_owned(),
        plugin_id: None,
        script_path: None,
        command: command.to_owned(),
        cwd: "/w".to_owned(),
        process_id: None,
        source: "agent".to_owned(),
        status: CommandStatus::InProgress,
        command_actions: Vec::new(),
        aggregated_output: None,
        exit_code: None,
        duration_ms: None,
        started_at_ms: Some(1),
        completed_at_ms: None,
    })
}

pub fn usage(turn: &str, total: i64) -> RolloutLine {
    let counts = TokenUsageBreakdown {
        total_tokens: total,
        input_tokens: total,
        ..Default::default()
    };
    let usage = ThreadTokenUsage {
        total: counts,
        last: counts,
        model_context_window: Some(1000),
    };
    RolloutLine::Usage(UsageLine {
        turn_id: turn.to_owned(),
        usage,
    })
}

pub fn asked(approval: &str, turn: &str, item: &str, ms: i64) -> RolloutLine {
    RolloutLine::ApprovalAsked(ApprovalAsked {
        approval_id: approval.to_owned(),
        turn_id: turn.to_owned(),
        item_id: item.to_owned(),
        asked_at_ms: ms,
        request: serde_json::json!({"method": "m", "params": {}}),
    })
}

pub fn answered(approval: &str, decision: &str, ms: i64) -> RolloutLine {
    RolloutLine::ApprovalAnswered(ApprovalAnswered {
        approval_id: approval.to_owned(),
        decision: decision.to_owned(),
        answered_at_ms: ms,
        session_grants: Vec::new(),
    })
}

pub fn named(name: Option<&str>) -> RolloutLine {
    RolloutLine::ThreadNamed(ThreadNamed {
        name: name.map(str::to_owned),
    })
}

/// A whole small turn: a question and an answer.
pub fn small_turn(turn: &str, ms: i64, question: &str, answer: &str) -> Vec<RolloutLine> {
    vec![
        turn_started(turn, ms),
        response_item(turn, r#"{"type":"message","role":"user"}"#),
        completed(turn, user(&format!("{turn}-u"), question)),
        completed(turn, agent(&format!("{turn}-a"), answer)),
        usage(turn, 10),
        turn_completed(turn, TurnStatus::Completed, ms + 1500),
    ]
}

/// Lines as text, to compare rollouts.
pub fn printed(lines: &[RolloutLine]) -> Vec<String> {
    lines
        .iter()
        .map(|l| format!("{} {}", l.kind(), l.payload().unwrap()))
        .collect()
}
