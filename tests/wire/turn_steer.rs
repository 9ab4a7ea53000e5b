//! `turn/steer`: input for the running turn. Nothing that was shown is lost, nothing that was accepted either.

use std::time::Duration;

use agentd_tests::daemon::{Home, eventually};
use agentd_tests::model::{self, MockModel, Step};
use serde_json::{Value, json};

fn steer(thread: &str, turn: &str, text: &str) -> Value {
    json!({"threadId": thread, "expectedTurnId": turn, "clientUserMessageId": "mine",
        "input": [{"type": "text", "text": text}]})
}

fn last_texts(model: &MockModel, request: usize, count: usize) -> Vec<String> {
    let input = model.requests()[request].input();
    let text = |item: &Value| item["content"][0]["text"].as_str().unwrap_or("").to_owned();
    input[input.len() - count..].iter().map(text).collect()
}

#[test]
fn a_streaming_message_is_completed_and_the_model_asked_anew() {
    let model = MockModel::start(|n, _| match n {
        0 => {
            let mut steps = model::message_steps("msg_1", &["shown ", "text"], Duration::ZERO);
            steps.insert(3, Step::Gate("never before the end"));
            model::unframed(steps)
        }
        _ => model::message(&format!("msg_a{n}"), "after"),
    });
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let turn = client.start_turn(&thread, "go");
    client.until("item/agentMessage/delta", |p| p["delta"] == "text");
    let result = client.request("turn/steer", steer(&thread, &turn, "and C"));
    assert_eq!(result, json!({"turnId": turn}));
    let run = client.finish_turn(&turn);
    assert_eq!((run.status(), run.answer()), ("completed", "after"));
    let messages = run.completed("agentMessage");
    assert_eq!((messages.len(), &messages[0]["text"]), (2, &json!("shown text")));
    let said = run.completed("userMessage");
    assert_eq!((said.len(), &said[0]["clientId"]), (1, &json!("mine")));
    assert_eq!(last_texts(&model, 1, 2), ["shown text", "and C"]);
    client.run_turn(&thread, "next");
    model.assert_prefix();
    model.open("never before the end");
    client.finish();
}

#[test]
fn while_a_command_runs_the_input_waits_for_its_output() {
    let model = MockModel::replies(vec![
        model::exec("c1", "while [ ! -e go ]; do sleep 0.02; done; echo out"),
        model::message("msg_1", "done"),
    ]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({"sandbox": "workspace-write"}));
    let turn = client.start_turn(&thread, "go");
    client.until("item/started", |p| p["item"]["type"] == "commandExecution");
    client.request("turn/steer", steer(&thread, &turn, "please also do B"));
    // Another `turn/start` is the same: input for the turn that runs.
    assert_eq!(client.start_turn(&thread, "and C"), turn);
    std::fs::write(home.workspace().join("go"), "").unwrap();
    let run = client.finish_turn(&turn);
    let kinds: Vec<&str> = run
        .of("item/completed")
        .iter()
        .map(|p| p["item"]["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["commandExecution", "userMessage", "userMessage", "agentMessage"]
    );
    assert_eq!(last_texts(&model, 1, 2), ["please also do B", "and C"]);
    assert_eq!(model.requests().len(), 2);
    model.assert_prefix();
    client.finish();
}

#[test]
fn a_request_that_has_said_nothing_is_cancelled_too() {
    let model = MockModel::start(|n, _| match n {
        0 => model::unframed(vec![Step::Gate("late")]),
        _ => model::message("msg_1", "done"),
    });
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let turn = client.start_turn(&thread, "go");
    eventually("the model is asked", Duration::from_secs(5), || {
        model.requests().len() == 1
    });
    client.request("turn/steer", steer(&thread, &turn, "more"));
    assert_eq!(client.finish_turn(&turn).answer(), "done");
    assert_eq!(last_texts(&model, 1, 2), ["go", "more"]);
    model.open("late");
    client.finish();
}

#[test]
fn wrong_states_have_the_words_that_clients_match() {
    let model = MockModel::start(|_, _| model::stream(vec![Step::Gate("go")]));
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let error = client.refused("turn/steer", steer(&thread, "nope", "x"));
    assert_eq!(
        (
            error["code"].as_i64(),
            error["message"].as_str(),
            error["data"]["kind"].as_str()
        ),
        (Some(-32600), Some("no active turn to steer"), Some("noActiveTurn"))
    );
    let turn = client.start_turn(&thread, "go");
    let error = client.refused("turn/steer", steer(&thread, "nope", "x"));
    assert_eq!(
        error["message"],
        format!("expected active turn id `nope` but found `{turn}`")
    );
    let empty = json!({"threadId": thread, "expectedTurnId": turn, "input": []});
    assert_eq!(
        client.refused("turn/steer", empty)["message"],
        "input must not be empty"
    );
    let missing = json!({"threadId": thread, "input": []});
    let error = client.refused("turn/steer", missing);
    assert_eq!(error["message"], "Invalid request: missing field `expectedTurnId`");
    let unknown = "01a22e9c-f374-7e53-8ff8-cbb4817c3c18";
    let error = client.refused("turn/steer", steer(unknown, &turn, "x"));
    assert_eq!(error["message"], format!("thread not found: {unknown}"));
    model.open("go");
    client.finish_turn(&turn);
    client.finish();
}
