//! `model/list`: fields that clients need, pages, a bad cursor.

use agentd_tests::daemon::Home;
use agentd_tests::model::MockModel;
use serde_json::json;

#[test]
fn lists_models_with_the_configured_one_as_default() {
    let model = MockModel::replies(vec![]);
    let home = Home::new(&model);
    let mut client = home.session();
    let all = client.request("model/list", json!({}));
    let models = all["data"].as_array().unwrap();
    for entry in models {
        for member in [
            "id",
            "model",
            "displayName",
            "description",
            "hidden",
            "isDefault",
            "supportedReasoningEfforts",
            "defaultReasoningEffort",
        ] {
            assert!(!entry[member].is_null(), "{member} of {entry}");
        }
    }
    let defaults: Vec<_> = models
        .iter()
        .filter(|m| m["isDefault"] == true)
        .map(|m| m["id"].as_str().unwrap())
        .collect();
    assert_eq!(defaults, ["mock-model"]);
    let page = client.request("model/list", json!({"limit": 1}));
    assert_eq!(page["data"].as_array().unwrap().len(), 1);
    let next = client.request("model/list", json!({"limit": 1, "cursor": page["nextCursor"]}));
    assert_ne!(next["data"][0]["id"], page["data"][0]["id"]);
    assert_eq!(
        client.refused("model/list", json!({"cursor": "zzz"}))["message"],
        "invalid cursor: zzz"
    );
    client.finish();
}
