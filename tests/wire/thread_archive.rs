//! `thread/archive`: the thread leaves the memory and the list; nobody can use it until it is brought back.

use std::time::Duration;

use agentd_tests::daemon::{Home, is_alive, read_when_there};
use agentd_tests::model::{self, MockModel};
use serde_json::json;

#[test]
fn a_thread_leaves_the_list_and_comes_back() {
    let model = MockModel::start(|n, _| model::message(&format!("msg_{n}"), "ok"));
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    client.run_turn(&thread, "one");
    assert_eq!(client.request("thread/archive", json!({"threadId": thread})), json!({}));
    let told = client.until("thread/archived", |p| p["threadId"] == thread.as_str());
    assert_eq!(told[0]["params"]["status"], json!({"type": "notLoaded"}));
    assert_eq!(client.request("thread/list", json!({}))["data"], json!([]));
    assert_eq!(client.request("thread/loaded/list", json!({}))["data"], json!([]));
    let archived = client.request("thread/list", json!({"archived": true}));
    assert_eq!(archived["data"][0]["id"], thread.as_str());
    assert_eq!(client.read(&thread)["turns"].as_array().unwrap().len(), 1);

    let input = json!([{"type": "text", "text": "x"}]);
    let error = client.refused("turn/start", json!({"threadId": thread, "input": input}));
    assert_eq!(error["message"], format!("thread not found: {thread}"));
    let error = client.refused("thread/resume", json!({"threadId": thread}));
    assert_eq!(
        error["message"],
        format!("session {thread} is archived. Run `agentctl unarchive {thread}` to unarchive it first.")
    );
    assert_eq!(error["data"]["kind"], "threadArchived");
    let error = client.refused("thread/archive", json!({"threadId": thread}));
    assert_eq!(error["message"], format!("no rollout found for thread id {thread}"));
    client.finish();

    let mut client = home.session();
    client.refused("thread/resume", json!({"threadId": thread}));
    let back = client.request("thread/unarchive", json!({"threadId": thread}));
    assert_eq!(back["thread"]["id"], thread.as_str());
    client.until("thread/unarchived", |p| p["threadId"] == thread.as_str());
    client.resume(&thread);
    client.run_turn(&thread, "two");
    model.assert_prefix();
    client.finish();
}

#[test]
fn a_running_turn_is_interrupted_first() {
    let model = MockModel::replies(vec![model::exec("c1", "echo $$ > pid; exec sleep 120")]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({"sandbox": "workspace-write"}));
    let turn = client.start_turn(&thread, "go");
    let pid: u32 = read_when_there(&home.workspace().join("pid")).trim().parse().unwrap();
    let id = client.send("thread/archive", json!({"threadId": thread}));
    assert_eq!(client.finish_turn(&turn).status(), "interrupted");
    assert!(!is_alive(pid));
    assert_eq!(client.response(id)["result"], json!({}));
    client.until("thread/archived", |_| true);
    client.finish();
}

#[test]
fn a_thread_that_was_never_used_is_put_away_for_real() {
    let model = MockModel::replies(vec![]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    client.request("thread/archive", json!({"threadId": thread}));
    client.until("thread/archived", |_| true);
    client.finish();
    let mut client = home.session();
    assert_eq!(client.request("thread/list", json!({}))["data"], json!([]));
    let archived = client.request("thread/list", json!({"archived": true}));
    assert_eq!(archived["data"][0]["id"], thread.as_str());
    client.finish();
}

#[test]
fn what_is_not_stored_cannot_be_put_away() {
    let model = MockModel::start(|n, _| model::message(&format!("msg_{n}"), "ok"));
    let home = Home::new(&model);
    let mut client = home.session();
    let result = client.request("thread/start", json!({"ephemeral": true}));
    let ephemeral = result["thread"]["id"].as_str().unwrap().to_owned();
    client.drain(Duration::from_millis(50));
    for thread in [ephemeral.as_str(), "01a22e9c-f374-7e53-8ff8-cbb4817c3c18"] {
        let error = client.refused("thread/archive", json!({"threadId": thread}));
        assert_eq!(error["message"], format!("no rollout found for thread id {thread}"));
    }
    client.run_turn(&ephemeral, "still works");
    client.abandon();
}
