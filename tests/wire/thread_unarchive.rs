//! `thread/unarchive`: what it refuses. How a thread comes back is in `thread_archive.rs`.

use agentd_tests::daemon::Home;
use agentd_tests::model::MockModel;
use serde_json::json;

#[test]
fn only_what_was_put_away_comes_back() {
    let home = Home::new(&MockModel::replies(vec![]));
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    for thread in [thread.as_str(), "01a22e9c-f374-7e53-8ff8-cbb4817c3c18"] {
        let error = client.refused("thread/unarchive", json!({"threadId": thread}));
        assert_eq!(
            error["message"],
            format!("no archived rollout found for thread id {thread}")
        );
        assert_eq!(error["data"]["kind"], "threadNotFound");
    }
    client.finish();
}
