//! When the user is asked, and what the answers lead to.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod common;

use agentd_engine::input::{ExecExit, ToolEvent};
use agentd_protocol::approval::ApprovalDecision;
use agentd_protocol::settings::{AskForApproval, SandboxPolicy};
use common::{Carrier, patched, plan};
use serde_json::{Value, json};

fn escalated() -> Value {
    json!({"cmd": "echo a", "sandbox_permissions": "require_escalated", "justification": "Need it?"})
}

fn asked() -> Carrier {
    let mut c = Carrier::new();
    c.start("x");
    c.take();
    c.call("A", "exec_command", &escalated());
    c.expect(
        r#"append response_item item_started approval_asked
        status {"active","activeFlags":["waitingOnApproval"]}
        started commandExecution A "/bin/bash -lc 'echo a'" agent InProgress None None
        ask"#,
    );
    c.completed();
    c.take();
    c
}

#[test]
fn accept_runs_outside_the_sandbox() {
    let mut c = asked();
    c.answer(Some(ApprovalDecision::Accept));
    c.expect(
        r#"append approval_answered
        status {"active","activeFlags":[]}
        run A ["/bin/bash", "-lc", "echo a"] in /w dangerFullAccess"#,
    );
    c.exec_ends(0, ExecExit::Code(0), "a\n");
    assert!(c.take().contains("unifiedExecStartup Completed"));
    c.call("B", "exec_command", &escalated());
    assert_eq!(c.asks.len(), 1, "accept holds once");
}

#[test]
fn accept_for_session_is_not_asked_again_even_after_a_restart() {
    let mut c = asked();
    c.answer(Some(ApprovalDecision::AcceptForSession));
    c.exec_ends(0, ExecExit::Code(0), "a\n");
    c.call("B", "exec_command", &escalated());
    assert!(c.asks.is_empty());
    assert!(
        c.take()
            .contains("run B [\"/bin/bash\", \"-lc\", \"echo a\"] in /w dangerFullAccess")
    );
    c.call(
        "C",
        "exec_command",
        &json!({"cmd": "echo b", "sandbox_permissions": "require_escalated"}),
    );
    assert_eq!(c.asks.len(), 1, "another command is asked for");
    let (mut c, _) = c.restart();
    c.start("y");
    c.call("D", "exec_command", &escalated());
    assert!(c.asks.is_empty());
}

#[test]
fn decline_tells_the_model_and_goes_on() {
    let mut c = asked();
    c.answer(Some(ApprovalDecision::Decline));
    c.expect(
        r#"append approval_answered item_completed
        completed commandExecution A "/bin/bash -lc 'echo a'" agent Declined None None
        status {"active","activeFlags":[]}
        append response_item
        call model #2 attempt 0 delay 0"#,
    );
    assert!(c.outputs()[0].contains("rejected by user"));
}

#[test]
fn an_answer_that_is_none_fails_the_item_and_goes_on() {
    let mut c = asked();
    c.answer(None);
    assert!(c.take().contains("agent Failed None None"));
    assert!(c.outputs()[0].contains("approval request failed"));
}

#[test]
fn cancel_ends_the_turn() {
    let mut c = asked();
    c.ms += 100;
    c.answer(Some(ApprovalDecision::Cancel));
    c.expect(
        r#"append approval_answered item_completed
        completed commandExecution A "/bin/bash -lc 'echo a'" agent Declined None None
        status {"active","activeFlags":[]}
        append response_item response_item turn_completed
        status {"idle"}
        turn Interrupted 0 items NotLoaded"#,
    );
    c.start("y");
    assert_eq!(c.outputs(), ["A: Wall time: 0.1 seconds\naborted by user"]);
}

#[test]
fn the_flag_goes_when_the_last_question_is_answered() {
    let mut c = asked();
    c.interrupt();
    c.settings.approval_policy = AskForApproval::Untrusted;
    c.start("y");
    c.call("B", "exec_command", &json!({"cmd": "ls"}));
    c.call("C", "exec_command", &json!({"cmd": "ls -l"}));
    assert_eq!(c.take().matches("waitingOnApproval").count(), 1);
    c.answer(Some(ApprovalDecision::Accept));
    assert!(!c.take().contains("status"));
    c.answer(Some(ApprovalDecision::Accept));
    assert!(
        c.take()
            .contains("run C [\"/bin/bash\", \"-lc\", \"ls -l\"] in /w workspaceWrite")
    );
}

/// Policy, sandbox, what is called, what happens.
#[test]
fn commands_and_policies() {
    let plain = json!({"cmd": "ls"});
    let table = [
        (AskForApproval::Untrusted, workspace(), &plain, "ask"),
        (
            AskForApproval::Untrusted,
            SandboxPolicy::DangerFullAccess,
            &plain,
            "ask",
        ),
        (AskForApproval::OnRequest, workspace(), &plain, "run"),
        (AskForApproval::OnRequest, workspace(), &escalated(), "ask"),
        (
            AskForApproval::OnRequest,
            SandboxPolicy::DangerFullAccess,
            &escalated(),
            "run",
        ),
        (AskForApproval::Never, workspace(), &plain, "run"),
        (
            AskForApproval::Never,
            SandboxPolicy::DangerFullAccess,
            &escalated(),
            "run",
        ),
        (AskForApproval::Never, workspace(), &escalated(), "refuse"),
    ];
    for (policy, sandbox, arguments, expected) in table {
        let mut c = Carrier::new();
        c.settings.approval_policy = policy;
        c.settings.sandbox_policy = sandbox.clone();
        c.start("x");
        c.take();
        c.call("A", "exec_command", arguments);
        let happened = match (c.tools.is_empty(), c.asks.is_empty()) {
            (false, true) => "run",
            (true, false) => "ask",
            (true, true) => "refuse",
            (false, false) => "both",
        };
        assert_eq!(happened, expected, "{policy:?} {sandbox:?} {arguments}");
        if expected == "refuse" {
            assert!(!c.take().contains("started"), "no item");
            c.completed();
            assert!(c.outputs()[0].starts_with("A: approval policy is never: "));
        }
    }
}

fn workspace() -> SandboxPolicy {
    common::settings().sandbox_policy
}

fn patch_call(c: &mut Carrier, call_id: &str) {
    c.call(
        call_id,
        "apply_patch",
        &json!({"input": "*** Begin Patch\n*** End Patch"}),
    );
}

#[test]
fn a_patch_inside_the_roots_is_applied() {
    let mut c = Carrier::new();
    c.start("x");
    c.take();
    patch_call(&mut c, "P");
    c.completed();
    c.tool(0, ToolEvent::PatchPrepared(Ok(plan("/w/b.txt", false))));
    c.ms += 640;
    c.tool(0, ToolEvent::PatchApplied(Ok(patched("/w/b.txt"))));
    c.expect(
        r#"append response_item
        run P prepare patch ["/w"] unrestricted false
        append usage
        usage 10
        account/rateLimits/updated
        append item_started
        started fileChange P InProgress
        run P apply patch ["/w"] unrestricted false
        append item_completed
        completed fileChange P Completed
        diff
        append response_item
        call model #2 attempt 0 delay 0"#,
    );
    let expected =
        "P: Exit code: 0\nWall time: 0.6 seconds\nOutput:\nSuccess. Updated the following files:\nA /w/b.txt\n";
    assert_eq!(c.outputs(), [expected]);
}

#[test]
fn a_custom_patch_call_is_answered_as_such() {
    let mut c = Carrier::new();
    c.start("x");
    c.take();
    c.done(&json!({"type": "custom_tool_call", "call_id": "P", "name": "apply_patch", "input": "*** Begin Patch"}));
    c.tool(0, ToolEvent::PatchPrepared(Err("no end".into())));
    assert!(
        !c.take().contains("fileChange"),
        "no item for a patch that does not fit"
    );
    c.completed();
    assert_eq!(c.outputs(), ["P: apply_patch verification failed: no end"]);
    assert_eq!(c.input().last().unwrap()["type"], "custom_tool_call_output");
}

#[test]
fn a_patch_that_cannot_be_applied_fails_its_item() {
    let mut c = Carrier::new();
    c.start("x");
    patch_call(&mut c, "P");
    c.tool(0, ToolEvent::PatchPrepared(Ok(plan("/w/b", false))));
    c.take();
    c.tool(0, ToolEvent::PatchApplied(Err("disk full".into())));
    c.expect("append item_completed\ncompleted fileChange P Failed");
    c.completed();
    assert!(c.outputs()[0].starts_with("P: Exit code: 1\n"));
}

/// Policy, sandbox, outside the roots, what happens.
#[test]
fn patches_and_policies() {
    let read_only = SandboxPolicy::ReadOnly { network_access: false };
    let table = [
        (AskForApproval::Untrusted, workspace(), false, "ask"),
        (AskForApproval::OnRequest, workspace(), false, "apply"),
        (AskForApproval::OnRequest, workspace(), true, "ask"),
        (AskForApproval::OnRequest, read_only.clone(), true, "ask"),
        (
            AskForApproval::OnRequest,
            SandboxPolicy::DangerFullAccess,
            false,
            "apply",
        ),
        (AskForApproval::Never, read_only, true, "refuse"),
    ];
    for (policy, sandbox, outside, expected) in table {
        let mut c = Carrier::new();
        c.settings.approval_policy = policy;
        c.settings.sandbox_policy = sandbox.clone();
        c.start("x");
        patch_call(&mut c, "P");
        if matches!(sandbox, SandboxPolicy::ReadOnly { .. }) {
            assert!(c.take().contains("prepare patch [] unrestricted false"));
        }
        c.tool(0, ToolEvent::PatchPrepared(Ok(plan("/o/b", outside))));
        let happened = match (c.tools.is_empty(), c.asks.is_empty()) {
            (false, true) => "apply",
            (true, false) => "ask",
            _ => "refuse",
        };
        assert_eq!(happened, expected, "{policy:?} {sandbox:?} {outside}");
        if expected == "ask" {
            c.take();
            c.answer(Some(ApprovalDecision::AcceptForSession));
            assert!(c.take().contains(&format!("unrestricted {outside}")));
            c.tool(0, ToolEvent::PatchApplied(Ok(patched("/o/b"))));
            patch_call(&mut c, "Q");
            c.tool(0, ToolEvent::PatchPrepared(Ok(plan("/o/b", outside))));
            assert!(c.asks.is_empty(), "the same path is allowed for the session");
        }
    }
}

#[test]
fn a_patch_runs_alone_in_its_place() {
    let mut c = Carrier::new();
    c.start("x");
    c.call("A", "exec_command", &json!({"cmd": "a"}));
    patch_call(&mut c, "P");
    c.call("B", "exec_command", &json!({"cmd": "b"}));
    assert_eq!(c.tools.len(), 1, "only the command before the patch");
    c.take();
    c.exec_ends(0, ExecExit::Code(0), "");
    assert!(c.take().ends_with("run P prepare patch [\"/w\"] unrestricted false\n"));
    c.tool(0, ToolEvent::PatchPrepared(Ok(plan("/w/b", false))));
    c.tool(0, ToolEvent::PatchApplied(Ok(patched("/w/b"))));
    assert!(c.take().contains("run B "));
}
