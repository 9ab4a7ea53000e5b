//! Stopping a turn: nothing stays open, nothing runs on, the model learns what happened.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod common;

use agentd_engine::input::{ExecExit, Input, ModelEvent, ToolEvent};
use agentd_protocol::thread::ThreadStatus;
use common::{Carrier, patched, plan};
use serde_json::json;

#[test]
fn only_a_running_turn_can_be_interrupted() {
    let mut c = Carrier::new();
    c.interrupt();
    c.expect("reply error: no active turn to interrupt");
    c.start("x");
    c.take();
    let reply = Some(c.token());
    c.step(Input::Interrupt {
        turn_id: Some("nope".into()),
        reply,
    });
    c.expect("reply error: expected active turn id nope but found id1");
    let reply = Some(c.token());
    c.step(Input::Interrupt {
        turn_id: Some("id1".into()),
        reply,
    });
    assert!(c.take().starts_with("reply interrupted\ncancel model #1\n"));
    assert_eq!(c.engine.status(), ThreadStatus::Idle);
}

#[test]
fn a_message_being_written_is_completed_and_remembered() {
    let mut c = Carrier::new();
    c.start("x");
    c.model(ModelEvent::TextDelta {
        item_id: Some("m1".into()),
        delta: "Once upon".into(),
    });
    c.take();
    c.interrupt();
    c.expect(
        r#"reply interrupted
        append item_completed
        completed agentMessage m1 "Once upon"
        cancel model #1
        append response_item response_item turn_completed
        status {"idle"}
        turn Interrupted 1 items Summary"#,
    );
    c.start("y");
    let input = c.input();
    assert_eq!(input[3]["role"], "assistant");
    assert_eq!(input[3]["content"][0]["text"], "Once upon");
    assert!(
        input[4]["content"][0]["text"]
            .as_str()
            .unwrap()
            .starts_with("<turn_aborted>")
    );
}

#[test]
fn the_turn_ends_when_the_last_tool_has_ended() {
    let mut c = Carrier::new();
    c.start("x");
    c.call("A", "exec_command", &json!({"cmd": "sleep 9"}));
    c.call("B", "exec_command", &json!({"cmd": "sleep 8"}));
    c.call("P", "apply_patch", &json!({"input": "…"}));
    c.tool(
        0,
        ToolEvent::ExecOutput {
            text: "so far\n".into(),
        },
    );
    c.take();
    c.ms += 1_100;
    c.interrupt();
    c.expect("reply interrupted\ncancel model #1\ncancel tool 1\ncancel tool 2");
    assert!(matches!(c.engine.status(), ThreadStatus::Active { .. }));
    c.interrupt();
    c.expect("reply interrupted");
    c.exec_ends(1, ExecExit::Cancelled, "");
    assert!(c.take().ends_with("unifiedExecStartup Failed None Some(\"\")\n"));
    c.start("the next one waits");
    c.expect("");
    c.exec_ends(0, ExecExit::Cancelled, "so far\n");
    let printed = c.take();
    assert!(
        printed.contains(
            "append response_item response_item response_item response_item turn_completed\nstatus {\"idle\"}\n\
             turn Interrupted 0 items NotLoaded\n"
        ),
        "{printed}"
    );
    assert!(printed.ends_with("call model #2 attempt 0 delay 0\n"), "{printed}");
    let aborted = "Wall time: 1.1 seconds\naborted by user";
    assert_eq!(c.outputs(), ["A", "B", "P"].map(|id| format!("{id}: {aborted}")));
}

#[test]
fn a_command_that_ended_by_itself_keeps_its_result() {
    let mut c = Carrier::new();
    c.start("x");
    c.call("A", "exec_command", &json!({"cmd": "a"}));
    c.interrupt();
    c.exec_ends(0, ExecExit::Code(0), "made it");
    c.start("y");
    assert!(c.outputs()[0].ends_with("code 0\nOutput:\nmade it"));
}

#[test]
fn an_open_question_is_withdrawn() {
    let mut c = Carrier::new();
    c.start("x");
    c.call(
        "A",
        "exec_command",
        &json!({"cmd": "a", "sandbox_permissions": "require_escalated"}),
    );
    c.completed();
    c.take();
    c.interrupt();
    c.expect(
        r#"reply interrupted
        append approval_answered
        withdraw
        append item_completed
        completed commandExecution A "/bin/bash -lc a" agent Failed None None
        status {"active","activeFlags":[]}
        append response_item response_item turn_completed
        status {"idle"}
        turn Interrupted 0 items NotLoaded"#,
    );
    c.step(Input::ApprovalAnswer {
        approval_id: "id3".into(),
        decision: None,
    });
    c.expect("");
}

#[test]
fn a_patch_being_applied_finishes_first() {
    let mut c = Carrier::new();
    c.start("x");
    c.call("P", "apply_patch", &json!({"input": "…"}));
    c.tool(0, ToolEvent::PatchPrepared(Ok(plan("/w/b", false))));
    c.take();
    c.interrupt();
    c.expect("reply interrupted\ncancel model #1");
    c.tool(0, ToolEvent::PatchApplied(Ok(patched("/w/b"))));
    assert!(c.take().contains("completed fileChange P Completed"));
    c.start("y");
    assert!(c.outputs()[0].contains("Success."));
}

#[test]
fn a_patch_being_read_is_dropped() {
    let mut c = Carrier::new();
    c.start("x");
    c.call("P", "apply_patch", &json!({"input": "…"}));
    c.take();
    c.interrupt();
    assert!(c.take().contains("cancel tool 1\n"));
    c.step(Input::Tool {
        tool: 1,
        event: ToolEvent::PatchPrepared(Ok(plan("/w/b", false))),
    });
    c.expect("");
}

#[test]
fn input_that_waited_is_not_lost() {
    let mut c = Carrier::new();
    c.start("x");
    c.call("A", "exec_command", &json!({"cmd": "a"}));
    c.start("meanwhile");
    c.take();
    c.interrupt();
    c.exec_ends(0, ExecExit::Cancelled, "");
    assert!(c.take().contains("completed userMessage"));
    c.start("y");
    assert_eq!(c.input()[5]["content"][0]["text"], "meanwhile");
}
