//! `thread/items/list`: pages both ways, one turn alone, forks, open items.

use agentd_tests::daemon::Home;
use agentd_tests::model::{self, MockModel, Step};
use serde_json::{Value, json};

fn ids(page: &Value) -> Vec<String> {
    let data = page["data"].as_array().unwrap();
    let id = |entry: &Value| entry["item"]["id"].as_str().unwrap().to_owned();
    data.iter().map(id).collect()
}

#[test]
fn pages_lead_through_all_items_both_ways() {
    let model = MockModel::start(|n, _| match n % 2 {
        0 => model::exec(&format!("c{n}"), "echo hi"),
        _ => model::message(&format!("msg_{n}"), "ok"),
    });
    let home = Home::new(&model);
    let mut client = home.session();
    let source = client.start_thread(json!({}));
    client.run_turn(&source, "1");
    let fork = client.fork(json!({"threadId": source}))["thread"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let own = client.run_turn(&fork, "2").turn_id;
    let read = client.read(&fork);
    let items: Vec<Value> = read["turns"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|turn| turn["items"].as_array().unwrap().clone())
        .collect();
    let whole = client.request("thread/items/list", json!({"threadId": fork}));
    let listed: Vec<Value> = whole["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["item"].clone())
        .collect();
    assert_eq!(listed, items);
    let expected = ids(&whole);
    assert_eq!(expected.len(), 6);
    assert_eq!(whole["data"][5]["turnId"], own.as_str());
    assert_eq!(whole["data"][5]["completedAtMs"], items[5]["completedAtMs"]);
    for direction in ["asc", "desc"] {
        for limit in 1..=6 {
            let (mut seen, mut cursor) = (Vec::new(), Value::Null);
            loop {
                let params = json!({"threadId": fork, "limit": limit, "cursor": cursor, "sortDirection": direction});
                let page = client.request("thread/items/list", params);
                seen.extend(ids(&page));
                cursor = page["nextCursor"].clone();
                if cursor.is_null() {
                    break;
                }
            }
            if direction == "desc" {
                seen.reverse();
            }
            assert_eq!(seen, expected, "{direction} {limit}");
        }
    }
    let one = client.request(
        "thread/items/list",
        json!({"threadId": fork, "turnId": own, "limit": 2}),
    );
    assert_eq!(ids(&one), &expected[3..5]);
    let back = json!({"threadId": fork, "cursor": one["backwardsCursor"], "sortDirection": "desc"});
    let back = client.request("thread/items/list", back);
    assert_eq!(ids(&back)[0], expected[3]);
    client.finish();
}

#[test]
fn open_items_are_shown_as_they_stand() {
    let model = MockModel::replies(vec![model::stream({
        let mut steps = model::message_steps("msg_1", &["half ", "way"], std::time::Duration::ZERO);
        steps.insert(2, Step::Gate("go"));
        steps
    })]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let turn = client.start_turn(&thread, "go");
    client.until("item/agentMessage/delta", |_| true);
    // At once, when the text is not stored yet, and after it was.
    for _ in 0..2 {
        for (direction, at) in [("asc", 1), ("desc", 0)] {
            let params = json!({"threadId": thread, "sortDirection": direction});
            let page = client.request("thread/items/list", params);
            assert_eq!(page["data"].as_array().unwrap().len(), 2, "{page}");
            assert_eq!(page["data"][at]["item"]["text"], "half ");
            assert!(page["data"][at]["completedAtMs"].is_null());
        }
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    model.open("go");
    client.finish_turn(&turn);
    client.finish();
}

#[test]
fn what_cannot_be_listed_is_said() {
    let home = Home::new(&MockModel::replies(vec![]));
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    for cursor in ["zzz", "i", "i1", "i1.-1", "t1"] {
        let error = client.refused("thread/items/list", json!({"threadId": thread, "cursor": cursor}));
        assert_eq!(error["message"], format!("invalid cursor: {cursor}"));
        assert_eq!(error["data"]["kind"], "invalidCursor");
    }
    let error = client.refused("thread/items/list", json!({"threadId": thread, "turnId": "nope"}));
    assert_eq!(error["message"], "turn not found: nope");
    client.finish();
}
