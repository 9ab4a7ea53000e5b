//! `config/read`: the effective configuration in the names of the file; secrets stay out.

use agentd_tests::daemon::Home;
use agentd_tests::model::MockModel;
use serde_json::json;

#[test]
fn shows_what_is_in_force() {
    let model = MockModel::replies(vec![]);
    let home = Home::with_config(
        &model,
        "approval_policy = \"never\"\nsandbox_mode = \"workspace-write\"\n",
    );
    let path = home.path().join("config.toml");
    let text =
        std::fs::read_to_string(&path).unwrap() + "http_headers = { \"Authorization\" = \"Bearer sk-secret\" }\n";
    std::fs::write(&path, text).unwrap();
    let mut client = home.session();
    let result = client.request("config/read", json!({"includeLayers": false}));
    let config = &result["config"];
    assert_eq!(
        (config["model"].as_str(), config["model_provider"].as_str()),
        (Some("mock-model"), Some("mock"))
    );
    assert_eq!(
        (config["approval_policy"].as_str(), config["sandbox_mode"].as_str()),
        (Some("never"), Some("workspace-write"))
    );
    assert!(result["origins"].is_object());
    assert!(!result.to_string().contains("sk-secret"));
    client.finish();
}

#[test]
fn unknown_keys_are_a_warning() {
    let model = MockModel::replies(vec![]);
    let home = Home::with_config(&model, "modle = \"typo\"\n");
    let mut client = home.session();
    let warning = client.until("configWarning", |_| true).pop().unwrap();
    assert!(
        warning["params"]["summary"].as_str().unwrap().contains("modle"),
        "{warning}"
    );
    client.finish();
}

#[test]
fn wrong_values_name_file_line_key_and_what_was_expected() {
    for (line, key, expected) in [
        ("approval_policy = \"sometimes\"", "approval_policy", "on-request"),
        ("sandbox_mode = 3", "sandbox_mode", "workspace-write"),
        ("model = [1]", "model", "string"),
    ] {
        let model = MockModel::replies(vec![]);
        let home = Home::new(&model);
        std::fs::write(home.path().join("config.toml"), format!("# first line\n{line}\n")).unwrap();
        let out = home
            .command("agentd")
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(!out.status.success(), "{line}");
        for part in ["config.toml", "2", key, expected] {
            assert!(stderr.contains(part), "{line}: no `{part}` in: {stderr}");
        }
        assert!(out.stdout.is_empty(), "stdout is the protocol only");
    }
}
