//! From the rollout back to live state: after a clean end, and after a crash at any line.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod common;

use agentd_engine::input::{ExecExit, ModelEvent, ToolEvent};
use agentd_engine::rollout::{RolloutError, RolloutLine};
use agentd_engine::{Engine, Now};
use agentd_protocol::approval::ApprovalDecision;
use agentd_protocol::item::ThreadItem;
use common::{Carrier, patched, plan, restart};
use serde_json::json;

/// A thread that has seen everything.
fn eventful() -> Carrier {
    let mut c = Carrier::new();
    c.start("first");
    c.model(ModelEvent::ReasoningSummaryDelta {
        item_id: Some("r".into()),
        summary_index: 1,
        delta: "hm".into(),
    });
    c.step(agentd_engine::input::Input::CheckpointDue);
    c.done(&json!({"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "e"}));
    c.call("A", "exec_command", &json!({"cmd": "a"}));
    c.call("B", "exec_command", &json!({"cmd": "b"}));
    c.call("P", "apply_patch", &json!({"input": "…"}));
    c.completed();
    c.tool(
        1,
        ToolEvent::ExecOutput {
            text: "b so far".into(),
        },
    );
    c.step(agentd_engine::input::Input::CheckpointDue);
    c.exec_ends(1, ExecExit::Code(0), "b's output");
    c.exec_ends(0, ExecExit::Code(1), "a's output");
    c.tool(0, ToolEvent::PatchPrepared(Ok(plan("/w/b", false))));
    c.tool(0, ToolEvent::PatchApplied(Ok(patched("/w/b"))));
    c.model(ModelEvent::TextDelta {
        item_id: Some("m".into()),
        delta: "partial".into(),
    });
    c.step(agentd_engine::input::Input::CheckpointDue);
    c.message("m", "whole");
    c.completed();
    c.start("second");
    c.call(
        "C",
        "exec_command",
        &json!({"cmd": "c", "sandbox_permissions": "require_escalated"}),
    );
    c.answer(Some(ApprovalDecision::AcceptForSession));
    c.exec_ends(0, ExecExit::Code(0), "c");
    c.done(&json!({"type": "custom_tool_call", "call_id": "Q", "name": "apply_patch", "input": "…"}));
    c.completed();
    c.tool(0, ToolEvent::PatchPrepared(Err("bad".into())));
    c.message("m", "end");
    c.completed();
    c
}

fn next_body(c: &mut Carrier) -> Vec<u8> {
    c.start("next");
    c.calls.last().unwrap().body.concat()
}

#[test]
fn a_clean_rollout_gives_the_live_state_back() {
    let mut live = eventful();
    let (mut stored, repair) = live.restart();
    assert!(repair.is_empty());
    assert_eq!(stored.engine.usage(), live.engine.usage());
    assert_eq!(stored.engine.preview(), "first");
    assert_eq!(stored.engine.updated_at_ms(), live.engine.updated_at_ms());
    assert_eq!(stored.engine.record(), live.engine.record());
    assert_eq!(next_body(&mut stored), next_body(&mut live));
}

/// Cuts the rollout after every line. What [`Carrier`] checks in every request holds afterwards; here: nothing stays
/// open, and repaired once means repaired for good.
#[test]
fn a_crash_after_any_line_is_repaired() {
    let live = eventful();
    for cut in 2..=live.rollout.len() {
        let (mut c, _) = restart(&live.rollout[..cut], 9_000);
        assert_open_items(&c.rollout, cut);
        let (mut again, repair) = c.restart();
        assert!(repair.is_empty(), "repaired twice after line {cut}");
        assert_eq!(next_body(&mut c), next_body(&mut again), "after line {cut}");
        c.message("m", "ok");
        c.completed();
    }
}

fn assert_open_items(lines: &[RolloutLine], cut: usize) {
    let mut open = std::collections::HashSet::new();
    let mut asked = std::collections::HashSet::new();
    let mut turns = 0;
    for line in lines {
        match line {
            RolloutLine::ItemStarted(line) => _ = open.insert(line.item.id()),
            RolloutLine::ItemCompleted(line) => _ = open.remove(line.item.id()),
            RolloutLine::ApprovalAsked(line) => _ = asked.insert(&line.approval_id),
            RolloutLine::ApprovalAnswered(line) => _ = asked.remove(&line.approval_id),
            RolloutLine::TurnStarted(_) => turns += 1,
            RolloutLine::TurnCompleted(_) => turns -= 1,
            _ => {}
        }
    }
    assert!(
        open.is_empty() && asked.is_empty() && turns == 0,
        "after line {cut}: {open:?} {asked:?} {turns}"
    );
}

fn crash_during(act: impl FnOnce(&mut Carrier)) -> (Carrier, Vec<RolloutLine>) {
    let mut c = Carrier::new();
    c.start("x");
    act(&mut c);
    c.restart()
}

#[test]
fn two_parallel_calls_one_done() {
    let (mut c, _) = crash_during(|c| {
        c.call("A", "exec_command", &json!({"cmd": "a"}));
        c.call("B", "exec_command", &json!({"cmd": "b"}));
        c.exec_ends(1, ExecExit::Code(0), "done");
    });
    c.start("y");
    let outputs = c.outputs();
    assert_eq!(outputs[0], "A: aborted");
    assert!(outputs[1].ends_with("code 0\nOutput:\ndone"), "{outputs:?}");
}

#[test]
fn saved_text_of_a_message_is_kept() {
    let (mut c, repair) = crash_during(|c| {
        c.model(ModelEvent::TextDelta {
            item_id: Some("m".into()),
            delta: "Once ".into(),
        });
        c.step(agentd_engine::input::Input::CheckpointDue);
        c.model(ModelEvent::TextDelta {
            item_id: Some("m".into()),
            delta: "upon".into(),
        });
        c.step(agentd_engine::input::Input::CheckpointDue);
        c.model(ModelEvent::TextDelta {
            item_id: Some("m".into()),
            delta: " unsaved".into(),
        });
    });
    let Some(RolloutLine::ItemCompleted(line)) = repair.first() else {
        panic!("{repair:?}")
    };
    let ThreadItem::AgentMessage(message) = &line.item else {
        panic!("{line:?}")
    };
    assert_eq!(message.text, "Once upon");
    c.start("y");
    assert_eq!(c.input()[3]["content"][0]["text"], "Once upon");
}

#[test]
fn a_custom_call_and_an_open_question() {
    let (mut c, repair) = crash_during(|c| {
        c.call(
            "A",
            "exec_command",
            &json!({"cmd": "a", "sandbox_permissions": "require_escalated"}),
        );
        c.done(&json!({"type": "custom_tool_call", "call_id": "P", "name": "apply_patch", "input": "…"}));
    });
    let kinds: Vec<&str> = repair.iter().map(RolloutLine::kind).collect();
    let expected = [
        "item_completed",
        "approval_answered",
        "response_item",
        "response_item",
        "turn_completed",
    ];
    assert_eq!(kinds, expected);
    c.start("y");
    assert_eq!(c.outputs(), ["A: aborted", "P: aborted"]);
    assert_eq!(c.input()[6]["type"], "custom_tool_call_output");
}

#[test]
fn an_output_without_call_is_never_sent() {
    let mut c = Carrier::new();
    c.start("x");
    c.message("m", "y");
    c.completed();
    let orphan = json!({"turn_id": "t", "item": {"type": "function_call_output", "call_id": "?", "output": ""}});
    c.rollout
        .push(RolloutLine::decode("response_item", &orphan.to_string()).unwrap());
    let (mut c, _) = c.restart();
    c.start("z");
    assert!(c.outputs().is_empty());
}

#[test]
fn a_rollout_without_its_beginning_is_an_error() {
    let mut ids = String::new;
    let result = Engine::replay(vec![], &mut Now { ms: 0, ids: &mut ids });
    assert!(matches!(result, Err(RolloutError::NoBeginning)));
}

#[test]
fn a_name_survives() {
    let mut c = eventful();
    let line = c.engine.set_name(Some("n".into()));
    c.rollout.push(line);
    let (c, _) = c.restart();
    assert_eq!(c.engine.name(), Some("n"));
}
