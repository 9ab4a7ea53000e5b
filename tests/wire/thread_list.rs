//! `thread/list`: order, pages, filters; a thread is there from the moment it was started.

use agentd_tests::daemon::Home;
use agentd_tests::model::{self, MockModel};
use serde_json::{Value, json};

fn ids(page: &Value) -> Vec<String> {
    page["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn newest_first_in_pages_without_gap_or_repeat() {
    let model = MockModel::start(|n, _| model::message(&format!("m{n}"), "ok"));
    let home = Home::new(&model);
    let mut client = home.session();
    let mut started = Vec::new();
    for n in 0..5 {
        let thread = client.start_thread(json!({}));
        client.run_turn(&thread, &format!("message number {n}"));
        started.push(thread);
    }
    let fresh = client.start_thread(json!({}));
    started.push(fresh.clone());
    let all = ids(&client.request("thread/list", json!({})));
    assert_eq!(all.len(), 6);
    assert!(all.contains(&fresh), "started is enough to be listed");
    let (mut walked, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = client.request(
            "thread/list",
            json!({"limit": 2, "cursor": cursor, "sortKey": "created_at"}),
        );
        walked.extend(ids(&page));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    started.reverse();
    assert_eq!(walked, started);
    let found = client.request("thread/list", json!({"searchTerm": "number 3"}));
    assert_eq!(ids(&found), [started[2].clone()]);
    assert_eq!(found["data"][0]["preview"], "message number 3");
    let elsewhere = client.request("thread/list", json!({"cwd": "/nowhere"}));
    assert_eq!(
        elsewhere,
        json!({"data": [], "readStates": {}, "nextCursor": null, "backwardsCursor": null})
    );
    let error = client.refused("thread/list", json!({"cursor": "zzz"}));
    assert_eq!(error["message"], "invalid cursor: zzz");
    client.finish();
}
