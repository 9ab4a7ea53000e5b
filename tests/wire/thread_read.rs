//! `thread/read`: loaded, stored and unknown threads; the running turn with its open items.

use std::time::Duration;

use agentd_tests::daemon::Home;
use agentd_tests::model::{self, MockModel, Step};
use serde_json::json;

#[test]
fn reads_a_stored_thread_without_loading_it() {
    let model = MockModel::replies(vec![model::message("m", "answer")]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    client.run_turn(&thread, "question");
    let live = client.read(&thread);
    client.finish();
    let mut client = home.session();
    let stored = client.read(&thread);
    assert_eq!(stored["status"], json!({"type": "notLoaded"}));
    assert_eq!(stored["turns"], live["turns"]);
    assert_eq!(
        (stored["preview"].as_str(), stored["turns"][0]["itemsView"].as_str()),
        (Some("question"), Some("full"))
    );
    assert_eq!(client.request("thread/loaded/list", json!({}))["data"], json!([]));
    let bare = client.request("thread/read", json!({"threadId": thread}));
    assert_eq!(bare["thread"]["turns"], json!([]));
    let unknown = "01a22e9c-f374-7e53-8ff8-cbb4817c3c18";
    assert_eq!(
        client.refused("thread/read", json!({"threadId": unknown}))["message"],
        format!("thread not loaded: {unknown}")
    );
    assert!(
        client.refused("thread/read", json!({"threadId": "x"}))["message"]
            .as_str()
            .unwrap()
            .starts_with("invalid thread id")
    );
    client.finish();
}

#[test]
fn a_running_turn_shows_its_open_items_with_their_text_so_far() {
    let mut steps = model::message_steps("msg_1", &["so far ", "and more"], Duration::ZERO);
    steps.insert(2, Step::Gate("go"));
    let model = MockModel::replies(vec![model::stream(steps)]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let turn = client.start_turn(&thread, "go");
    client.until("item/agentMessage/delta", |_| true);
    let read = client.read(&thread);
    assert_eq!(read["turns"][0]["status"], "inProgress");
    assert_eq!(read["turns"][0]["items"][1]["text"], "so far ");
    assert!(read["turns"][0]["items"][1]["completedAtMs"].is_null());
    model.open("go");
    client.finish_turn(&turn);
    client.finish();
}
