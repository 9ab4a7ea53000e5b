//! `permissionProfile/list`: an empty list is what clients get that ask before they start.

use agentd_tests::daemon::Home;
use agentd_tests::model::MockModel;
use serde_json::json;

#[test]
fn there_are_none() {
    let home = Home::new(&MockModel::replies(vec![]));
    let mut client = home.session();
    let result = client.request("permissionProfile/list", json!({}));
    assert_eq!(result["data"], json!([]));
    client.finish();
}
