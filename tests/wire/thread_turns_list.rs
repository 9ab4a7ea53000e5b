//! `thread/turns/list`: pages both ways, three views, forks, the running turn.

use agentd_tests::daemon::Home;
use agentd_tests::model::{self, MockModel, Step};
use serde_json::{Value, json};

fn ids(page: &Value) -> Vec<String> {
    let data = page["data"].as_array().unwrap();
    data.iter()
        .map(|turn| turn["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn pages_lead_through_all_turns_both_ways() {
    let model = MockModel::start(|n, _| model::message(&format!("msg_{n}"), "ok"));
    let home = Home::new(&model);
    let mut client = home.session();
    let source = client.start_thread(json!({}));
    let mut turns: Vec<String> = ["1", "2", "3"].map(|t| client.run_turn(&source, t).turn_id).to_vec();
    let fork = client.fork(json!({"threadId": source}))["thread"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    turns.extend(["4", "5"].map(|text| client.run_turn(&fork, text).turn_id));

    for direction in ["asc", "desc"] {
        for limit in 1..=5 {
            let (mut seen, mut cursor) = (Vec::new(), Value::Null);
            loop {
                let params = json!({"threadId": fork, "limit": limit, "cursor": cursor, "sortDirection": direction});
                let page = client.request("thread/turns/list", params);
                seen.extend(ids(&page));
                cursor = page["nextCursor"].clone();
                if cursor.is_null() {
                    break;
                }
            }
            if direction == "desc" {
                seen.reverse();
            }
            assert_eq!(seen, turns, "{direction} {limit}");
        }
    }
    let newest = client.request("thread/turns/list", json!({"threadId": fork, "limit": 2}));
    assert_eq!(ids(&newest), [turns[4].clone(), turns[3].clone()]);
    let back = json!({"threadId": fork, "cursor": newest["backwardsCursor"], "sortDirection": "asc"});
    assert_eq!(ids(&client.request("thread/turns/list", back)), &turns[4..]);
    client.finish();

    // Not in memory.
    let mut client = home.session();
    let page = client.request("thread/turns/list", json!({"threadId": fork, "sortDirection": "asc"}));
    assert_eq!(ids(&page), turns);
    client.finish();
}

#[test]
fn a_turn_carries_what_the_view_says() {
    let model = MockModel::replies(vec![
        model::exec("c1", "echo hi"),
        model::message("msg_1", "done"),
        model::stream({
            let mut steps = model::message_steps("msg_2", &["half ", "way"], std::time::Duration::ZERO);
            steps.insert(2, Step::Gate("go"));
            steps
        }),
    ]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    client.run_turn(&thread, "go");
    let turn = client.start_turn(&thread, "more");
    client.until("item/agentMessage/delta", |_| true);
    let mut types = |view: Value| -> Vec<Vec<String>> {
        let params = json!({"threadId": thread, "itemsView": view, "sortDirection": "asc"});
        let page = client.request("thread/turns/list", params);
        let turns = page["data"].as_array().unwrap().clone();
        let items = |turn: &Value| -> Vec<String> {
            let items = turn["items"].as_array().unwrap().iter();
            items
                .map(|i| format!("{}{}", i["type"].as_str().unwrap(), i["text"].as_str().unwrap_or("")))
                .collect()
        };
        if !view.is_null() {
            assert!(turns.iter().all(|turn| turn["itemsView"] == view), "{turns:?}");
        }
        turns.iter().map(items).collect()
    };
    assert_eq!(types(json!("notLoaded")), [Vec::<String>::new(), Vec::new()]);
    let summary = [
        vec!["userMessage", "agentMessagedone"],
        vec!["userMessage", "agentMessagehalf "],
    ];
    assert_eq!(types(json!("summary")), summary);
    assert_eq!(types(Value::Null), summary);
    let full = [
        vec!["userMessage", "commandExecution", "agentMessagedone"],
        vec!["userMessage", "agentMessagehalf "],
    ];
    assert_eq!(types(json!("full")), full);
    model.open("go");
    client.finish_turn(&turn);
    client.finish();
}

#[test]
fn what_cannot_be_listed_is_said() {
    let home = Home::new(&MockModel::replies(vec![]));
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    assert_eq!(
        client.request("thread/turns/list", json!({"threadId": thread})),
        json!({"data": [], "nextCursor": null, "backwardsCursor": null})
    );
    for cursor in ["zzz", "t", "t-1", "i0.0", "t9223372036854775807"] {
        let error = client.refused("thread/turns/list", json!({"threadId": thread, "cursor": cursor}));
        assert_eq!(error["message"], format!("invalid cursor: {cursor}"));
    }
    let unknown = "01a22e9c-f374-7e53-8ff8-cbb4817c3c18";
    let error = client.refused("thread/turns/list", json!({"threadId": unknown}));
    assert_eq!(error["message"], format!("thread not found: {unknown}"));
    let ephemeral = client.request("thread/start", json!({"ephemeral": true}))["thread"]["id"].clone();
    for method in ["thread/turns/list", "thread/items/list"] {
        let error = client.refused(method, json!({"threadId": ephemeral}));
        assert_eq!(error["message"], format!("ephemeral threads do not support {method}"));
    }
    client.abandon();
}
