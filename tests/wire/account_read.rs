//! `account/read`: whether a key is there, without the key.

use agentd_tests::daemon::Home;
use agentd_tests::model::MockModel;
use serde_json::json;

#[test]
fn a_configured_provider_needs_no_account() {
    let model = MockModel::replies(vec![]);
    let home = Home::new(&model);
    let mut client = home.session();
    let result = client.request("account/read", json!({"refreshToken": false}));
    assert_eq!(
        (&result["account"], &result["requiresOpenaiAuth"]),
        (&json!(null), &json!(false))
    );
    client.finish();
}

#[test]
fn without_configuration_a_key_is_required() {
    let model = MockModel::replies(vec![]);
    let home = Home::new(&model);
    std::fs::write(home.path().join("config.toml"), "").unwrap();
    let mut client = home.session();
    let result = client.request("account/read", json!({}));
    assert_eq!(
        (&result["account"], &result["requiresOpenaiAuth"]),
        (&json!(null), &json!(true))
    );
    client.finish();
}
