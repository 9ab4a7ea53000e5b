//! `turn/start` with approvals of commands: when it is asked, in which order, and what each decision does.

use std::cell::Cell;
use std::rc::Rc;

use agentd_tests::daemon::Home;
use agentd_tests::model::{self, MockModel, Reply};
use agentd_tests::session::{Session, TurnRun};
use serde_json::{Value, json};

fn escalated(call: &str, cmd: &str) -> Reply {
    model::call(
        call,
        "exec_command",
        json!({"cmd": cmd, "sandbox_permissions": "require_escalated", "justification": "Need it?"}),
    )
}

/// Counts questions and answers each with `decision`.
fn answering(client: &mut Session, decision: Value) -> Rc<Cell<u32>> {
    let asked = Rc::new(Cell::new(0));
    let count = asked.clone();
    client.approve = Box::new(move |_| {
        count.set(count.get() + 1);
        Some(decision.clone())
    });
    asked
}

fn statuses(run: &TurnRun) -> Vec<&str> {
    run.completed("commandExecution")
        .iter()
        .map(|i| i["status"].as_str().unwrap())
        .collect()
}

#[test]
fn accept_runs_the_command_outside_the_sandbox() {
    let model = MockModel::start(|n, body| {
        let path = body["input"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|i| i["content"][0]["text"].as_str())
            .find(|t| t.starts_with('/'))
            .unwrap()
            .to_owned();
        if n == 0 {
            escalated("c1", &format!("echo x > {path}"))
        } else {
            model::message("m", "done")
        }
    });
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({"sandbox": "read-only", "approvalPolicy": "on-request"}));
    let path = home.outside("f");
    answering(&mut client, json!({"decision": "accept"}));
    let run = client.run_turn(&thread, &path.display().to_string());
    assert!(path.exists());
    // Usage comes when the response ends, which may be before or after the answer.
    let is_usage = |m: &&str| m.ends_with("tokenUsage/updated") || m.ends_with("rateLimits/updated");
    let order: Vec<&str> = run
        .methods()
        .into_iter()
        .filter(|m| !is_usage(m))
        .skip(4)
        .take(6)
        .collect();
    assert_eq!(
        order,
        [
            "thread/status/changed",
            "item/started",
            "item/commandExecution/requestApproval",
            "serverRequest/resolved",
            "thread/status/changed",
            "item/completed",
        ]
    );
    let request = run.of("item/commandExecution/requestApproval")[0];
    assert_eq!(
        (
            request["itemId"].as_str(),
            request["reason"].as_str(),
            request["threadId"].as_str()
        ),
        (Some("c1"), Some("Need it?"), Some(thread.as_str()))
    );
    assert!(
        request["availableDecisions"]
            .as_array()
            .is_some_and(|d| d.contains(&json!("accept")) && d.contains(&json!("cancel")))
    );
    assert_eq!(
        run.of("thread/status/changed")[1]["status"]["activeFlags"],
        json!(["waitingOnApproval"])
    );
    client.finish();
}

#[test]
fn decline_is_told_to_the_model_and_the_turn_goes_on() {
    let model = MockModel::replies(vec![escalated("c1", "touch f"), model::message("m", "as you wish")]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    answering(&mut client, json!({"decision": "decline"}));
    let run = client.run_turn(&thread, "go");
    assert_eq!((statuses(&run), run.status()), (vec!["declined"], "completed"));
    assert!(
        model.requests()[1].input().pop().unwrap()["output"]
            .as_str()
            .unwrap()
            .contains("reject")
    );
    assert!(!home.workspace().join("f").exists());
    client.finish();
}

#[test]
fn cancel_ends_the_turn_without_another_request() {
    let model = MockModel::replies(vec![escalated("c1", "touch f"), model::message("m", "next turn")]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    answering(&mut client, json!({"decision": "cancel"}));
    let run = client.run_turn(&thread, "go");
    assert_eq!((statuses(&run), run.status()), (vec!["declined"], "interrupted"));
    assert_eq!(model.requests().len(), 1);
    let run = client.run_turn(&thread, "next");
    assert_eq!(run.answer(), "next turn", "the history is paired");
    client.finish();
}

#[test]
fn accept_for_session_asks_once_for_the_same_command() {
    let model = MockModel::replies(vec![
        escalated("c1", "echo a"),
        escalated("c2", "echo a"),
        escalated("c3", "echo b"),
        model::message("m", "done"),
    ]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let asked = answering(&mut client, json!({"decision": "acceptForSession"}));
    let run = client.run_turn(&thread, "go");
    assert_eq!(statuses(&run), ["completed", "completed", "completed"]);
    assert_eq!(asked.get(), 2, "echo a once, echo b once");
    client.finish();
}

#[test]
fn untrusted_asks_for_every_command_and_patch() {
    let patch = "*** Begin Patch\n*** Add File: f.txt\n+x\n*** End Patch\n";
    let model = MockModel::replies(vec![
        model::exec("c1", "ls"),
        model::patch("p1", patch),
        model::message("m", "done"),
    ]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({"approvalPolicy": "untrusted", "sandbox": "workspace-write"}));
    let asked = answering(&mut client, json!({"decision": "accept"}));
    let run = client.run_turn(&thread, "go");
    assert_eq!(asked.get(), 2);
    assert_eq!(run.completed("fileChange")[0]["status"], "completed");
    client.finish();
}

#[test]
fn never_refuses_what_would_have_to_be_asked() {
    let model = MockModel::replies(vec![escalated("c1", "touch f"), model::message("m", "done")]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({"approvalPolicy": "never"}));
    let asked = answering(&mut client, json!({"decision": "accept"}));
    let run = client.run_turn(&thread, "go");
    assert_eq!((asked.get(), run.completed("commandExecution").len()), (0, 0));
    assert!(
        model.requests()[1].input().pop().unwrap()["output"]
            .as_str()
            .unwrap()
            .to_lowercase()
            .contains("never")
    );
    client.finish();
}

#[test]
fn an_answer_that_is_no_decision_fails_the_call_only() {
    let model = MockModel::replies(vec![escalated("c1", "touch f"), model::message("m", "done")]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    answering(&mut client, json!({"decision": "perhaps"}));
    let run = client.run_turn(&thread, "go");
    assert_eq!((statuses(&run), run.status()), (vec!["failed"], "completed"));
    assert!(!home.workspace().join("f").exists());
    client.finish();
}

#[test]
fn a_late_second_answer_is_ignored() {
    let model = MockModel::replies(vec![escalated("c1", "echo a"), model::message("m", "done")]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let turn = client.start_turn(&thread, "go");
    let events = client.until("item/commandExecution/requestApproval", |_| true);
    let request = events.last().unwrap().clone();
    client.answer(&request, json!({"decision": "accept"}));
    client.answer(&request, json!({"decision": "cancel"}));
    let run = client.finish_turn(&turn);
    assert_eq!(run.status(), "completed");
    client.finish();
}
