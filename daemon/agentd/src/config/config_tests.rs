//! What the configuration accepts, refuses and warns about.

use serde_json::json;

use super::*;

fn load(text: &str, pairs: &[&str]) -> Result<Config, ConfigError> {
    let home = tempfile::tempdir().expect("tempdir");
    std::fs::write(home.path().join(FILE_NAME), text).expect("written");
    let overrides = Overrides {
        pairs: pairs.iter().map(|p| (*p).to_owned()).collect(),
        profile: None,
    };
    Config::load(home.path(), &overrides)
}

fn map(value: serde_json::Value) -> Map<String, Value> {
    value.as_object().expect("object").clone()
}

#[test]
fn a_wrong_value_is_named_with_line_key_expectation_and_finding() {
    for (text, line, key, expected, found) in [
        ("model = 5", 1, "model", "a string", "the number 5"),
        (
            "\n\napproval_policy = \"maybe\"",
            3,
            "approval_policy",
            "one of `untrusted`",
            "the string \"maybe\"",
        ),
        ("sandbox_mode = true", 1, "sandbox_mode", "one of `read-only`", "true"),
        (
            "[sandbox_workspace_write]\nnetwork_access = \"yes\"",
            2,
            "sandbox_workspace_write.network_access",
            "true or false",
            "\"yes\"",
        ),
        (
            "[model_providers.a]\nbase_url = \"u\"\nrequest_max_retries = -1",
            3,
            "model_providers.a.request_max_retries",
            "a whole number of at least 0",
            "-1",
        ),
        (
            "[model_providers.a]\nwire_api = \"chat\"",
            2,
            "model_providers.a.wire_api",
            "one of `responses`",
            "\"chat\"",
        ),
        (
            "sandbox_workspace_write = 1",
            1,
            "sandbox_workspace_write",
            "a table",
            "the number 1",
        ),
        (
            "[projects.\"/a.b\"]\ntrust_level = \"maybe\"",
            2,
            "projects./a.b.trust_level",
            "one of `trusted`",
            "\"maybe\"",
        ),
        (
            "# a\nmodel_provider = \"nope\"",
            2,
            "model_provider",
            "one of `lmstudio`",
            "\"nope\"",
        ),
        (
            "model_instructions_file = \"missing.md\"",
            1,
            "model_instructions_file",
            "a readable text file",
            "missing.md",
        ),
        (
            "project_doc_fallback_filenames = [1]",
            1,
            "project_doc_fallback_filenames",
            "a list of strings",
            "a list",
        ),
    ] {
        let shown = load(text, &[]).expect_err(text).to_string();
        for part in [&format!("{FILE_NAME}:{line}: "), &format!("`{key}`"), expected, found] {
            assert!(shown.contains(part), "{shown:?} lacks {part:?}");
        }
    }
}

#[test]
fn broken_toml_is_named_with_its_line() {
    let shown = load("model = \"a\"\nmodel_provider = [\n", &[])
        .expect_err("syntax")
        .to_string();
    assert!(
        shown.contains(&format!("{FILE_NAME}:")) && shown.contains("not valid TOML"),
        "{shown}"
    );
}

#[test]
fn options_are_toml_or_else_strings_and_win_over_the_file() {
    let config = load(
        "model = \"file\"\nmodel_reasoning_effort = \"low\"",
        &[
            "model=gpt-x",
            "project_doc_max_bytes = 7",
            "model_providers.p.base_url=http://h/v1",
            "model_provider=p",
        ],
    )
    .expect("accepted");
    assert_eq!((config.model.as_str(), config.project_doc_max_bytes), ("gpt-x", 7));
    assert_eq!(config.model_reasoning_effort.as_deref(), Some("low"));
    assert_eq!(config.provider("p").expect("provider").base_url, "http://h/v1");
    let shown = load("", &["approval_policy=bogus"]).expect_err("refused").to_string();
    assert!(
        shown.starts_with("-c approval_policy=bogus: `approval_policy`: expected one of"),
        "{shown}"
    );
    assert!(load("", &["no-value"]).is_err());
}

#[test]
fn a_threads_map_has_dotted_keys_and_wins() {
    let config = load("[sandbox_workspace_write]\nexclude_slash_tmp = true", &["model=a"]).expect("accepted");
    let thread = config
        .with_overrides(&map(json!({
            "model": "b", "sandbox_workspace_write.network_access": true, "sandbox_mode": "workspace-write", "model_verbosity": null,
        })))
        .expect("accepted");
    assert_eq!(thread.model, "b");
    assert_eq!(thread.sandbox_mode, SandboxMode::WorkspaceWrite);
    assert!(thread.sandbox_workspace_write.network_access && thread.sandbox_workspace_write.exclude_slash_tmp);
    let refused = config
        .with_overrides(&map(json!({"approval_policy": 1})))
        .expect_err("refused")
        .to_string();
    assert_eq!(
        refused,
        "config: `approval_policy`: expected one of `untrusted`, `on-request`, `on-failure`, `never`, found the number 1"
    );
}

#[test]
fn unknown_keys_warn_and_known_foreign_ones_say_so_once() {
    let config = load(
        "frobnicate = 1\nreview_model = \"x\"\n[analytics]\nenabled = false\n[mcp_servers.a]\ncommand = \"x\"",
        &[],
    )
    .expect("accepted");
    assert_eq!(config.warnings.len(), 2, "{:?}", config.warnings);
    assert!(
        config.warnings[0].ends_with("config.toml:1: unknown key `frobnicate` is ignored"),
        "{:?}",
        config.warnings
    );
    assert!(
        config.warnings[1].contains("mcp_servers, review_model"),
        "{:?}",
        config.warnings
    );
    let old = load("approval_policy = \"on-failure\"", &[]).expect("accepted");
    assert_eq!(
        (old.approval_policy, old.warnings.len()),
        (AskForApproval::OnRequest, 1)
    );
}

#[test]
fn a_profile_lies_between_the_file_and_the_options() {
    let home = tempfile::tempdir().expect("tempdir");
    let text = "model = \"file\"\nmodel_verbosity = \"low\"\n[profiles.p]\nmodel = \"profile\"\nmodel_verbosity = \"high\"\n[profiles.bad]\nmodel = 1";
    std::fs::write(home.path().join(FILE_NAME), text).expect("written");
    let with = |profile: &str, pairs: &[&str]| {
        let pairs = pairs.iter().map(|p| (*p).to_owned()).collect();
        Config::load(
            home.path(),
            &Overrides {
                pairs,
                profile: Some(profile.to_owned()),
            },
        )
    };
    let config = with("p", &["model=option"]).expect("accepted");
    assert_eq!(
        (config.model.as_str(), config.model_verbosity.as_deref()),
        ("option", Some("high"))
    );
    assert!(
        with("bad", &[])
            .expect_err("refused")
            .to_string()
            .contains("config.toml:7: `model`")
    );
    assert!(
        with("missing", &[])
            .expect_err("refused")
            .to_string()
            .contains("`profiles`")
    );
}

#[test]
fn what_clients_see_has_known_keys_and_no_secrets() {
    let config = load(
        "[model_providers.p]\nbase_url = \"u\"\nhttp_headers = { Authorization = \"Bearer s3cret\", x-team = \"blue\" }\n[projects.\"/w\"]\ntrust_level = \"trusted\"",
        &[],
    )
    .expect("accepted");
    let shown = json!(config.shown());
    assert_eq!(shown["model_provider"], "openai");
    assert!(shown["model"].is_null() && shown.get("sandbox_workspace_write").is_some());
    assert_eq!(shown["projects"]["/w"]["trust_level"], "trusted");
    assert_eq!(shown["model_providers"]["p"]["http_headers"]["x-team"], "blue");
    assert!(!shown.to_string().contains("s3cret"), "{shown}");
    assert_eq!(config.shown_layers().len(), 1);
}

#[test]
fn defaults_without_a_file() {
    let home = tempfile::tempdir().expect("tempdir");
    let config = Config::load(home.path(), &Overrides::default()).expect("defaults");
    assert_eq!(
        (config.model_provider.as_str(), config.model.as_str()),
        ("openai", "gpt-5.5")
    );
    assert_eq!(
        (config.project_doc_max_bytes, config.shutdown_grace.as_secs()),
        (32 * 1024, 5)
    );
    assert!(config.warnings.is_empty());
}
