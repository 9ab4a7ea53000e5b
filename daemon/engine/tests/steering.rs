//! Input that joins a running turn: heard at once, after what was shown, and never lost.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod common;

use agentd_engine::input::{ExecExit, ModelEvent};
use common::Carrier;
use serde_json::{Value, json};

fn turn_id(c: &Carrier) -> String {
    c.engine.active_turn().unwrap().id
}

/// Texts of the last input items, newest last.
fn last_texts(c: &Carrier, count: usize) -> Vec<String> {
    let input = c.input();
    let text = |item: &Value| {
        format!(
            "{} {}",
            item["role"].as_str().unwrap(),
            item["content"][0]["text"].as_str().unwrap()
        )
    };
    input[input.len() - count..].iter().map(text).collect()
}

#[test]
fn a_message_being_written_is_completed_and_the_model_asked_anew() {
    let mut c = Carrier::new();
    c.start("x");
    c.model(ModelEvent::TextDelta {
        item_id: Some("m".into()),
        delta: "shown".into(),
    });
    c.take();
    let turn = turn_id(&c);
    c.steer(&turn, "also this");
    c.expect(
        "append input_queued
         reply steered id1
         cancel model #1
         append item_completed
         completed agentMessage m \"shown\"
         append response_item response_item item_completed
         started userMessage id3
         completed userMessage id3
         call model #2 attempt 0 delay 0",
    );
    assert_eq!(last_texts(&c, 2), ["assistant shown", "user also this"]);
    // What the old request still says is not heard.
    c.step(agentd_engine::input::Input::Model {
        request: 1,
        event: ModelEvent::TextDelta {
            item_id: Some("m".into()),
            delta: "late".into(),
        },
    });
    c.expect("");
    c.message("m2", "done");
    c.completed();
    assert!(c.engine.active_turn().is_none());
}

#[test]
fn while_a_command_runs_the_input_waits_for_its_output() {
    let mut c = Carrier::new();
    c.start("x");
    c.call("A", "exec_command", &json!({"cmd": "a"}));
    c.completed();
    c.take();
    let turn = turn_id(&c);
    c.steer(&turn, "one");
    c.steer(&turn, "two");
    assert!(!c.take().contains("userMessage"), "shown before it is heard");
    c.exec_ends(0, ExecExit::Code(0), "out");
    assert_eq!(last_texts(&c, 2), ["user one", "user two"]);
    assert_eq!(c.outputs().len(), 1);
}

#[test]
fn a_stream_is_cut_although_a_command_runs() {
    let mut c = Carrier::new();
    c.start("x");
    c.call("A", "exec_command", &json!({"cmd": "a"}));
    c.model(ModelEvent::TextDelta {
        item_id: Some("m".into()),
        delta: "shown".into(),
    });
    c.take();
    let turn = turn_id(&c);
    c.steer(&turn, "also this");
    let printed = c.take();
    assert!(printed.contains("cancel model #1") && printed.contains("completed agentMessage m \"shown\""));
    assert!(!printed.contains("cancel tool") && !printed.contains("call model"));
    c.exec_ends(0, ExecExit::Code(0), "out");
    assert_eq!(last_texts(&c, 1), ["user also this"]);
    assert_eq!(c.outputs().len(), 1);
}

#[test]
fn wrong_turns_and_no_turn_are_refused() {
    let mut c = Carrier::new();
    c.steer("id1", "x");
    c.expect("reply error: no active turn to steer");
    c.start("x");
    c.take();
    c.steer("nope", "x");
    c.expect("reply error: expected active turn id `nope` but found `id1`");
    c.call("A", "exec_command", &json!({"cmd": "a"}));
    c.interrupt();
    c.take();
    c.steer("id1", "too late");
    c.expect("reply error: no active turn to steer");
    c.exec_ends(0, ExecExit::Cancelled, "");
}

#[test]
fn a_crash_loses_no_input_that_was_accepted() {
    let mut c = Carrier::new();
    c.start("x");
    c.call("A", "exec_command", &json!({"cmd": "a"}));
    c.completed();
    let turn = turn_id(&c);
    c.steer(&turn, "one");
    c.start("two");
    let (mut next, repair) = c.restart();
    let kinds: Vec<&str> = repair.iter().map(agentd_engine::rollout::RolloutLine::kind).collect();
    assert_eq!(
        kinds.join(" "),
        "item_completed response_item response_item item_completed response_item item_completed turn_completed"
    );
    let (again, repair) = next.restart();
    assert!(repair.is_empty());
    drop(again);
    next.start("y");
    assert_eq!(last_texts(&next, 3), ["user one", "user two", "user y"]);
}
