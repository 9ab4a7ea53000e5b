//! `thread/loaded/list`: ids of the threads in memory.

use agentd_tests::daemon::Home;
use agentd_tests::model::MockModel;
use serde_json::json;

#[test]
fn lists_what_is_in_memory() {
    let model = MockModel::replies(vec![]);
    let home = Home::new(&model);
    let mut client = home.session();
    assert_eq!(
        client.request("thread/loaded/list", json!({})),
        json!({"data": [], "nextCursor": null})
    );
    let thread = client.start_thread(json!({}));
    assert_eq!(client.request("thread/loaded/list", json!({}))["data"], json!([thread]));
    client.finish();
    let mut client = home.session();
    assert_eq!(client.request("thread/loaded/list", json!({}))["data"], json!([]));
    client.resume(&thread);
    assert_eq!(client.request("thread/loaded/list", json!({}))["data"], json!([thread]));
    client.finish();
}
