//! What holds for any order of events. [`common::Carrier`] checks each step: requests are valid JSON with paired calls and
//! extend each other, items begin once and end once, callers are answered once, nothing runs after a turn.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod common;

use agentd_engine::input::{ExecExit, Input, ModelEvent, RetryAdvice, ToolEvent};
use agentd_protocol::approval::ApprovalDecision;
use common::{Carrier, patched, plan};
use proptest::prelude::*;
use serde_json::json;

#[derive(Clone, Debug)]
enum Event {
    Start,
    Steer,
    Interrupt,
    Delta(u8),
    Reasoning(u8),
    Message(u8),
    Exec { id: u8, escalated: bool },
    Patch(u8),
    CustomPatch(u8),
    BadCall(u8),
    Completed,
    Failed(bool),
    Tool { at: usize, ok: bool, end: bool },
    Answer(u8),
    Checkpoint,
    LateModel(u8),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        2 => Just(Event::Start),
        1 => Just(Event::Steer),
        1 => Just(Event::Interrupt),
        3 => (0u8..4).prop_map(Event::Delta),
        1 => (0u8..4).prop_map(Event::Reasoning),
        2 => (0u8..4).prop_map(Event::Message),
        3 => (0u8..6, any::<bool>()).prop_map(|(id, escalated)| Event::Exec { id, escalated }),
        2 => (0u8..6).prop_map(Event::Patch),
        1 => (0u8..6).prop_map(Event::CustomPatch),
        1 => (0u8..6).prop_map(Event::BadCall),
        3 => Just(Event::Completed),
        1 => any::<bool>().prop_map(Event::Failed),
        6 => (0usize..3, any::<bool>(), any::<bool>()).prop_map(|(at, ok, end)| Event::Tool { at, ok, end }),
        3 => (0u8..5).prop_map(Event::Answer),
        1 => Just(Event::Checkpoint),
        1 => (0u8..4).prop_map(Event::LateModel),
    ]
}

fn apply(c: &mut Carrier, event: &Event) {
    c.ms += 10;
    match event {
        Event::Start => c.start("hi"),
        Event::Steer => {
            if let Some(turn) = c.engine.active_turn() {
                let text = format!("steered at {}", c.ms);
                c.steer(&turn.id, &text);
                // A turn that is being stopped refuses; what it accepts has to stay.
                if c.printed.contains("reply steered") {
                    c.accepted.push(text);
                }
                c.take();
            }
        }
        Event::Interrupt => c.interrupt(),
        Event::Delta(id) => c.model(ModelEvent::TextDelta {
            item_id: Some(format!("m{id}")),
            delta: "text".into(),
        }),
        Event::Reasoning(id) => {
            let item_id = Some(format!("r{id}"));
            c.model(ModelEvent::ReasoningTextDelta {
                item_id,
                content_index: u32::from(*id),
                delta: "hm".into(),
            });
        }
        Event::Message(id) => c.message(&format!("m{id}"), "whole"),
        Event::Exec { id, escalated } => {
            let permissions = if *escalated { "require_escalated" } else { "use_default" };
            c.call(
                &format!("c{id}"),
                "exec_command",
                &json!({"cmd": id.to_string(), "sandbox_permissions": permissions}),
            );
        }
        Event::Patch(id) => c.call(&format!("c{id}"), "apply_patch", &json!({"input": "p"})),
        Event::CustomPatch(id) => {
            c.done(
                &json!({"type": "custom_tool_call", "call_id": format!("k{id}"), "name": "apply_patch", "input": "p"}),
            );
        }
        Event::BadCall(id) => c.call(&format!("c{id}"), "nothing", &json!(null)),
        Event::Completed => c.completed(),
        Event::Failed(retry) => c.failed(if *retry {
            RetryAdvice::Backoff
        } else {
            RetryAdvice::Never
        }),
        Event::Tool { at, ok, end } => tool(c, *at, *ok, *end),
        Event::Answer(decision) if !c.asks.is_empty() => c.answer(decision_of(*decision)),
        Event::Answer(_) => {}
        Event::Checkpoint => c.step(Input::CheckpointDue),
        Event::LateModel(request) => {
            let event = ModelEvent::Completed {
                usage: None,
                end_turn: None,
            };
            let request = c
                .calls
                .last()
                .map_or(0, |call| call.request)
                .saturating_sub(u64::from(*request) + 1);
            c.step(Input::Model { request, event });
        }
    }
}

fn decision_of(number: u8) -> Option<ApprovalDecision> {
    match number {
        0 => Some(ApprovalDecision::Accept),
        1 => Some(ApprovalDecision::AcceptForSession),
        2 => Some(ApprovalDecision::Decline),
        3 => Some(ApprovalDecision::Cancel),
        _ => None,
    }
}

/// The next thing the tool could say.
fn tool(c: &mut Carrier, at: usize, ok: bool, end: bool) {
    use agentd_engine::effect::ToolAction;
    if c.tools.is_empty() {
        return;
    }
    let at = at % c.tools.len();
    let event = match &c.tools[at].1 {
        ToolAction::Exec(_) if !end => ToolEvent::ExecOutput { text: "out".into() },
        ToolAction::Exec(_) => {
            let exit = if ok { ExecExit::Code(0) } else { ExecExit::Cancelled };
            ToolEvent::ExecEnded {
                exit,
                output: "out".into(),
                duration_ms: 1,
            }
        }
        ToolAction::PreparePatch { .. } if ok => ToolEvent::PatchPrepared(Ok(plan("/w/x", end))),
        ToolAction::PreparePatch { .. } => ToolEvent::PatchPrepared(Err("bad".into())),
        ToolAction::ApplyPatch { .. } if ok => ToolEvent::PatchApplied(Ok(patched("/w/x"))),
        ToolAction::ApplyPatch { .. } => ToolEvent::PatchApplied(Err("disk".into())),
    };
    c.tool(at, event);
}

/// Interrupts and lets every tool end: afterwards the thread has to be idle.
fn bring_to_rest(c: &mut Carrier) {
    for _ in 0..3 {
        c.step(Input::Interrupt {
            turn_id: None,
            reply: None,
        });
        for _ in 0..100 {
            tool(c, 0, false, true);
        }
    }
    assert!(c.engine.active_turn().is_none(), "{}", c.printed);
}

/// Input that was accepted is told to the model once.
fn assert_heard(accepted: &[String], c: &Carrier) {
    let input = c.input();
    for text in accepted {
        let heard = input.iter().filter(|item| item["content"][0]["text"] == text.as_str());
        assert_eq!(heard.count(), 1, "{text}: {input:#?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn any_order_of_events(events in prop::collection::vec(event(), 1..60)) {
        let mut c = Carrier::new();
        for event in &events {
            c.take();
            apply(&mut c, event);
        }
        bring_to_rest(&mut c);

        let (mut stored, repair) = c.restart();
        prop_assert!(repair.is_empty());
        prop_assert_eq!(stored.engine.usage(), c.engine.usage());
        c.start("last");
        stored.start("last");
        prop_assert_eq!(c.calls.last().unwrap().body.concat(), stored.calls.last().unwrap().body.concat());
        assert_heard(&c.accepted, &stored);
    }

    #[test]
    fn a_crash_anywhere(events in prop::collection::vec(event(), 1..60)) {
        let mut c = Carrier::new();
        for event in &events {
            c.take();
            apply(&mut c, event);
        }
        let (mut stored, _) = c.restart();
        let (mut again, repair) = stored.restart();
        prop_assert!(repair.is_empty());
        stored.start("last");
        again.start("last");
        assert_heard(&c.accepted, &stored);
        let body = stored.calls.last().unwrap().body.concat();
        prop_assert_eq!(&body, &again.calls.last().unwrap().body.concat());
        if let Some(call) = c.calls.last() {
            let before = call.body.concat();
            prop_assert!(body.starts_with(&before[..before.len() - 2]), "the prefix broke at the crash");
        }
    }
}
