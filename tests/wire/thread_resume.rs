//! `thread/resume`: after a restart, settings that stick, joining a running turn.

use std::time::Duration;

use agentd_tests::daemon::Home;
use agentd_tests::model::{self, MockModel, Step};
use serde_json::json;

#[test]
fn a_restart_changes_nothing() {
    let model = MockModel::start(|n, _| model::message(&format!("msg_{n}"), "ok"));
    let home = Home::new(&model);
    std::fs::write(home.workspace().join("AGENTS.md"), "RULES").unwrap();
    let mut client = home.session();
    let thread = client
        .start_thread(json!({"sandbox": "workspace-write", "approvalPolicy": "never", "developerInstructions": "DEV"}));
    client.run_turn(&thread, "one");
    let before = client.read(&thread);
    client.finish();
    let mut client = home.session();
    let resumed = client.resume(&thread);
    assert_eq!(resumed["thread"]["turns"], before["turns"]);
    assert_eq!(
        (resumed["approvalPolicy"].as_str(), resumed["cwd"].as_str()),
        (Some("never"), home.workspace().to_str())
    );
    assert_eq!(resumed["sandbox"]["type"], "workspaceWrite");
    assert_eq!(resumed["instructionSources"].as_array().unwrap().len(), 1);
    assert!(resumed["initialTurnsPage"].is_null());
    client.run_turn(&thread, "two");
    model.assert_prefix();
    assert_eq!(model.requests()[1].json()["prompt_cache_key"], thread);
    client.finish();
}

#[test]
fn overrides_stick_and_turns_can_be_left_out() {
    let model = MockModel::start(|n, _| model::message(&format!("msg_{n}"), "ok"));
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    client.run_turn(&thread, "one");
    client.finish();
    let mut client = home.session();
    let resumed = client.request(
        "thread/resume",
        json!({"threadId": thread, "excludeTurns": true, "sandbox": "workspace-write"}),
    );
    assert_eq!(resumed["thread"]["turns"], json!([]));
    assert_eq!(resumed["sandbox"]["type"], "workspaceWrite");
    client.run_turn(&thread, "two");
    client.finish();
    let mut client = home.session();
    assert_eq!(client.resume(&thread)["sandbox"]["type"], "workspaceWrite");
    client.finish();
}

#[test]
fn joining_a_running_turn_misses_and_repeats_nothing() {
    let mut steps = model::message_steps("msg_1", &["one ", "two ", "three"], Duration::ZERO);
    steps.insert(3, Step::Gate("go"));
    let model = MockModel::replies(vec![model::stream(steps)]);
    let home = Home::new(&model);
    let mut first = home.session();
    let thread = first.start_thread(json!({}));
    let turn = first.start_turn(&thread, "go");
    first.until("item/agentMessage/delta", |p| p["delta"] == "two ");
    // A second process on the same home reaches the same daemon.
    let mut second = home.session();
    let resumed = second.resume(&thread);
    assert_eq!(resumed["thread"]["turns"][0]["items"][1]["text"], "one two ");
    model.open("go");
    let seen = second.finish_turn(&turn);
    assert_eq!(seen.of("item/agentMessage/delta").len(), 1);
    assert_eq!(seen.answer(), "one two three");
    first.finish_turn(&turn);
    second.finish();
    first.finish();
}

#[test]
fn what_cannot_be_resumed_is_said() {
    let model = MockModel::replies(vec![]);
    let home = Home::new(&model);
    let mut client = home.session();
    let unknown = "01a22e9c-f374-7e53-8ff8-cbb4817c3c18";
    let error = client.refused("thread/resume", json!({"threadId": unknown}));
    assert_eq!(error["message"], format!("no rollout found for thread id {unknown}"));
    assert!(error["data"]["kind"].is_string());
    client.finish();
}
