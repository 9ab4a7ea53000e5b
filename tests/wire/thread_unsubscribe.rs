//! `thread/unsubscribe`: one connection hears no more of turns and items; the thread and the others go on.

use agentd_tests::daemon::Home;
use agentd_tests::model::{self, MockModel};
use serde_json::json;

#[test]
fn only_this_connection_hears_no_more() {
    let model = MockModel::start(|n, _| model::message(&format!("msg_{n}"), "ok"));
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    client.run_turn(&thread, "one");
    let mut other = home.session();
    other.resume(&thread);
    let result = other.request("thread/unsubscribe", json!({"threadId": thread}));
    assert_eq!(result, json!({"status": "unsubscribed"}));
    // It may still start a turn, and hears how the thread stands.
    let turn = other.start_turn(&thread, "two");
    client.finish_turn(&turn);
    let heard = other.until("thread/status/changed", |p| p["status"]["type"] == "idle");
    assert_eq!(heard.len(), 2, "active and idle alone: {heard:?}");
    // Subscribing again works.
    other.resume(&thread);
    let turn = client.start_turn(&thread, "three");
    assert_eq!(other.finish_turn(&turn).answer(), "ok");
    client.finish_turn(&turn);
    other.finish();
    client.finish();
}

#[test]
fn a_thread_that_is_not_in_memory_has_no_subscribers() {
    let home = Home::new(&MockModel::replies(vec![]));
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    client.finish();
    let mut client = home.session();
    let result = client.request("thread/unsubscribe", json!({"threadId": thread}));
    assert_eq!(result["status"], "unsubscribed");
    let unknown = "01a22e9c-f374-7e53-8ff8-cbb4817c3c18";
    let error = client.refused("thread/unsubscribe", json!({"threadId": unknown}));
    assert_eq!(error["message"], format!("thread not found: {unknown}"));
    client.finish();
}
