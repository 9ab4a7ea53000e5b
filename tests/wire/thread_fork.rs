//! `thread/fork`: a new thread with the same past; from then on the two have nothing to do with each other.

use std::time::Duration;

use agentd_tests::daemon::Home;
use agentd_tests::model::{self, MockModel, Step};
use serde_json::{Value, json};

fn turn_ids(thread: &Value) -> Vec<&str> {
    thread["turns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| turn["id"].as_str().unwrap())
        .collect()
}

/// Everything but the key of the cache is as it was in the other thread.
fn assert_continues(model: &MockModel, earlier: usize, later: usize) {
    let requests = model.requests();
    let (earlier, later) = (requests[earlier].input(), requests[later].input());
    assert!(later.len() > earlier.len() && later.starts_with(&earlier), "{later:#?}");
}

/// What the input of a request says.
fn said(model: &MockModel, request: usize) -> String {
    serde_json::to_string(&model.requests()[request].input()).unwrap()
}

#[test]
fn a_fork_has_the_past_of_its_source_and_a_future_of_its_own() {
    let model = MockModel::start(|n, _| model::message(&format!("msg_{n}"), "ok"));
    let home = Home::new(&model);
    let mut client = home.session();
    let source = client.start_thread(json!({"sandbox": "workspace-write", "developerInstructions": "DEV"}));
    client.run_turn(&source, "one");
    client.run_turn(&source, "two");
    client.request("thread/name/set", json!({"threadId": source, "name": "Name"}));
    client.until("thread/name/updated", |_| true);

    let result = client.fork(json!({"threadId": source, "approvalPolicy": "never"}));
    let fork = result["thread"]["id"].as_str().unwrap().to_owned();
    assert_eq!(result["thread"]["forkedFromId"], source.as_str());
    assert_eq!(result["thread"]["name"], "Name");
    assert_eq!(result["thread"]["preview"], "one");
    assert_eq!(result["approvalPolicy"], "never");
    assert_eq!(result["sandbox"]["type"], "workspaceWrite");
    assert_eq!(result["thread"]["turns"], client.read(&source)["turns"], "the same ids");

    client.run_turn(&fork, "in the fork");
    assert_continues(&model, 1, 2);
    assert_eq!(model.requests()[2].json()["prompt_cache_key"], fork.as_str());
    client.run_turn(&source, "in the source");
    assert!(!said(&model, 3).contains("in the fork"));
    assert_eq!(client.read(&source)["turns"].as_array().unwrap().len(), 3);
    let list = client.request("thread/list", json!({}));
    let listed = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .find(|t| t["id"] == fork.as_str())
        .unwrap();
    assert_eq!(
        (listed["forkedFromId"].as_str(), listed["preview"].as_str()),
        (Some(source.as_str()), Some("one"))
    );
    // Its source may go.
    client.request("thread/archive", json!({"threadId": source}));
    client.until("thread/archived", |_| true);
    let before = client.read(&fork)["turns"].clone();
    client.finish();

    let mut client = home.session();
    assert_eq!(client.resume(&fork)["thread"]["turns"], before);
    client.run_turn(&fork, "after a restart");
    let requests = model.requests();
    let (earlier, later) = (&requests[2].body, &requests[4].body);
    assert!(
        later.starts_with(earlier.strip_suffix(b"]}").unwrap()),
        "the prefix broke"
    );
    client.finish();
}

#[test]
fn a_fork_may_end_earlier_and_be_forked_again() {
    let model = MockModel::start(|n, _| model::message(&format!("msg_{n}"), "ok"));
    let home = Home::new(&model);
    let mut client = home.session();
    let source = client.start_thread(json!({}));
    let turns: Vec<String> = ["FIRST", "SECOND", "THIRD"]
        .map(|text| client.run_turn(&source, text).turn_id)
        .to_vec();
    let result = client.fork(json!({"threadId": source, "lastTurnId": turns[1]}));
    assert_eq!(turn_ids(&result["thread"]), &turns[..2]);
    let first = result["thread"]["id"].as_str().unwrap().to_owned();
    let own = client.run_turn(&first, "OWN").turn_id;
    let result = client.fork(json!({"threadId": first}));
    assert_eq!(turn_ids(&result["thread"]), [&turns[0], &turns[1], &own]);
    let second = result["thread"]["id"].as_str().unwrap().to_owned();
    // Before the place where its source was forked itself.
    let result = client.fork(json!({"threadId": second, "lastTurnId": turns[0]}));
    assert_eq!(turn_ids(&result["thread"]), &turns[..1]);
    assert_eq!(result["thread"]["forkedFromId"], second.as_str());
    let third = result["thread"]["id"].as_str().unwrap().to_owned();
    client.run_turn(&third, "last");
    let said = said(&model, 4);
    assert!(said.contains("FIRST") && !said.contains("SECOND") && !said.contains("OWN"));
    for (thread, params, message) in [
        (
            &source,
            json!({"lastTurnId": "nope"}),
            "turn not found: nope".to_owned(),
        ),
        (&third, json!({"lastTurnId": own}), format!("turn not found: {own}")),
    ] {
        let mut all = json!({"threadId": thread});
        all.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
        let error = client.refused("thread/fork", all);
        assert_eq!(error["message"], message);
    }
    client.finish();
}

#[test]
fn the_running_turn_is_left_out() {
    let model = MockModel::start(|n, _| match n {
        1 => model::stream(vec![Step::Gate("go")]),
        _ => model::message(&format!("msg_{n}"), "ok"),
    });
    let home = Home::new(&model);
    let mut client = home.session();
    let source = client.start_thread(json!({}));
    let done = client.run_turn(&source, "one").turn_id;
    let running = client.start_turn(&source, "RUNNING");
    client.until("item/completed", |p| p["item"]["type"] == "userMessage");
    let result = client.fork(json!({"threadId": source}));
    assert_eq!(turn_ids(&result["thread"]), [&done]);
    let error = client.refused("thread/fork", json!({"threadId": source, "lastTurnId": running}));
    assert_eq!(error["message"], format!("turn not found: {running}"));
    let fork = result["thread"]["id"].as_str().unwrap().to_owned();
    model.open("go");
    client.finish_turn(&running);
    client.run_turn(&fork, "in the fork");
    assert!(!said(&model, 2).contains("RUNNING"));
    client.finish();
}

#[test]
fn an_ephemeral_fork_is_not_kept() {
    let model = MockModel::start(|n, _| model::message(&format!("msg_{n}"), "ok"));
    let home = Home::new(&model);
    let mut client = home.session();
    let source = client.start_thread(json!({}));
    client.run_turn(&source, "one");
    let result = client.request("thread/fork", json!({"threadId": source, "ephemeral": true}));
    assert_eq!(result["thread"]["turns"], client.read(&source)["turns"]);
    let fork = result["thread"]["id"].as_str().unwrap().to_owned();
    client.run_turn(&fork, "two");
    assert_continues(&model, 0, 1);
    let result = client.request(
        "thread/fork",
        json!({"threadId": source, "ephemeral": true, "excludeTurns": true}),
    );
    assert_eq!(result["thread"]["turns"], json!([]));
    assert_eq!(
        client.request("thread/list", json!({}))["data"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let error = client.refused("thread/fork", json!({"threadId": fork}));
    assert_eq!(error["message"], format!("no rollout found for thread id {fork}"));
    client.drain(Duration::from_millis(20));
    client.abandon();
}

#[test]
fn what_cannot_be_forked_is_said() {
    let home = Home::new(&MockModel::replies(vec![]));
    let mut client = home.session();
    let unknown = "01a22e9c-f374-7e53-8ff8-cbb4817c3c18";
    let error = client.refused("thread/fork", json!({"threadId": unknown}));
    assert_eq!(error["message"], format!("no rollout found for thread id {unknown}"));
    let empty = client.start_thread(json!({}));
    assert_eq!(client.fork(json!({"threadId": empty}))["thread"]["turns"], json!([]));
    client.request("thread/archive", json!({"threadId": empty}));
    client.until("thread/archived", |_| true);
    let error = client.refused("thread/fork", json!({"threadId": empty}));
    assert_eq!(error["data"]["kind"], "threadArchived");
    client.finish();
}
