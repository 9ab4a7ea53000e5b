//! `thread/name/set`: a name for any thread that exists, told to everybody, kept over a restart.

use agentd_tests::daemon::Home;
use agentd_tests::model::{self, MockModel};
use serde_json::json;

#[test]
fn a_name_is_told_to_everybody_and_kept() {
    let model = MockModel::start(|n, _| model::message(&format!("msg_{n}"), "ok"));
    let home = Home::new(&model);
    let mut client = home.session();
    let mut other = home.session();
    // The thread was never used.
    let thread = client.start_thread(json!({}));
    other.until("thread/started", |_| true);
    let result = client.request("thread/name/set", json!({"threadId": thread, "name": "  Early  "}));
    assert_eq!(result, json!({}));
    for session in [&mut client, &mut other] {
        let told = session.until("thread/name/updated", |_| true).pop().unwrap();
        assert_eq!(told["params"], json!({"threadId": thread, "threadName": "Early"}));
    }
    assert_eq!(client.read(&thread)["name"], "Early");
    other.finish();
    client.finish();

    // Not in memory: named without being loaded.
    let mut client = home.session();
    assert_eq!(client.request("thread/list", json!({}))["data"][0]["name"], "Early");
    client.request("thread/name/set", json!({"threadId": thread, "name": "Late"}));
    client.until("thread/name/updated", |p| p["threadName"] == "Late");
    assert_eq!(client.request("thread/loaded/list", json!({}))["data"], json!([]));
    assert_eq!(client.resume(&thread)["thread"]["name"], "Late");
    assert_eq!(
        client.request("thread/list", json!({"searchTerm": "late"}))["data"][0]["id"],
        thread
    );
    client.finish();
}

#[test]
fn what_cannot_be_named_is_said() {
    let model = MockModel::replies(vec![]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let error = client.refused("thread/name/set", json!({"threadId": thread, "name": "  "}));
    assert_eq!(
        (error["code"].as_i64(), error["message"].as_str()),
        (Some(-32600), Some("thread name must not be empty"))
    );
    let unknown = "01a22e9c-f374-7e53-8ff8-cbb4817c3c18";
    let error = client.refused("thread/name/set", json!({"threadId": unknown, "name": "x"}));
    assert_eq!(error["message"], format!("thread not found: {unknown}"));
    assert_eq!(error["data"]["kind"], "threadNotFound");
    client.finish();
}
