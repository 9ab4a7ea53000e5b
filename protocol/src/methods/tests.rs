//! The tables, and the shapes clients depend on.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::item::UserInput;
use crate::settings::{AskForApproval, SandboxMode, SandboxPolicy};

#[test]
fn names_are_unique_and_of_one_style() {
    let mut seen = BTreeSet::new();
    for line in METHODS {
        assert!(seen.insert(line.name), "{} stands twice", line.name);
        assert!(
            line.name.chars().all(|c| c.is_ascii_alphabetic() || c == '/'),
            "{}",
            line.name
        );
    }
    assert_eq!(find("turn/start").map(|line| line.experimental), Some(false));
    assert_eq!(find("thread/rollback"), None);
}

/// Decodes the same params once as an empty object, once with every member null that was written as null, and once with
/// an unknown member.
struct Optionals(BTreeSet<&'static str>);

impl MethodVisitor for Optionals {
    fn visit<M: Method>(&mut self) {
        let mut params = json!({
            "clientInfo": { "name": "n", "version": "1" },
            "threadId": "t", "turnId": "u", "expectedTurnId": "u", "input": [], "name": "n",
            "neverHeardOf": [{ "a": null }],
        });
        let decoded: M::Params = serde_json::from_value(params.clone()).expect(M::NAME);
        let written = serde_json::to_value(&decoded).expect(M::NAME);
        let members = written.as_object().expect("params are an object");
        assert!(!members.contains_key("neverHeardOf"));
        for (name, _) in members.iter().filter(|(_, value)| value.is_null()) {
            params[name] = serde_json::Value::Null;
        }
        let again: M::Params = serde_json::from_value(params).expect(M::NAME);
        assert_eq!(serde_json::to_value(&again).expect(M::NAME), written);
        self.0.insert(M::NAME);
    }
}

#[test]
fn optional_params_may_be_missing_or_null_and_unknown_ones_are_ignored() {
    let mut visitor = Optionals(BTreeSet::new());
    visit_methods(&mut visitor);
    assert_eq!(visitor.0.len(), METHODS.len());
}

#[test]
fn missing_required_members_are_named() {
    let error = serde_json::from_str::<turns::TurnStartParams>(r#"{"threadId":"t"}"#).unwrap_err();
    assert!(error.to_string().starts_with("missing field `input`"), "{error}");
    let error = serde_json::from_str::<turns::TurnStartParams>(r#"{"threadId":5,"input":[]}"#).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("invalid type: integer `5`, expected a string"),
        "{error}"
    );
}

#[test]
fn start_params_are_read_as_clients_write_them() {
    let params: thread_start::ThreadStartParams = serde_json::from_value(json!({
        "cwd": "/w", "approvalPolicy": "on-request", "sandbox": "workspace-write",
        "config": { "a.b": 1, "features": { "x": true } }, "ephemeral": true, "modelProvider": "p",
    }))
    .unwrap();
    assert_eq!(params.approval_policy, Some(AskForApproval::OnRequest));
    assert_eq!(params.sandbox, Some(SandboxMode::WorkspaceWrite));
    assert_eq!(params.config.map(|config| config.len()), Some(2));
    assert_eq!(
        (params.ephemeral, params.model_provider.as_deref()),
        (Some(true), Some("p"))
    );
}

#[test]
fn turn_params_are_read_as_clients_write_them() {
    let params: turns::TurnStartParams = serde_json::from_value(json!({
        "threadId": "t", "input": [{ "type": "text", "text": "hello" }, { "type": "localImage", "path": "/a.png" }],
        "sandboxPolicy": { "type": "workspaceWrite" }, "effort": "high", "summary": "auto",
        "outputSchema": { "type": "object" },
    }))
    .unwrap();
    assert_eq!(
        params.input[0],
        UserInput::Text {
            text: "hello".into(),
            text_elements: Vec::new()
        }
    );
    assert_eq!(
        params.sandbox_policy,
        Some(SandboxPolicy::from_mode(SandboxMode::WorkspaceWrite))
    );
    assert_eq!(params.output_schema, Some(json!({ "type": "object" })));
}

#[test]
fn the_directory_filter_is_a_path_or_a_list() {
    for (text, paths) in [
        (r#"{"cwd":"/a"}"#, vec!["/a"]),
        (r#"{"cwd":["/a","/b"]}"#, vec!["/a", "/b"]),
    ] {
        let params: thread_list::ThreadListParams = serde_json::from_str(text).unwrap();
        assert_eq!(params.cwd.unwrap().paths(), paths);
    }
}

#[test]
fn results_write_every_null_in_the_protocol_s_order() {
    let account = serde_json::to_string(&account::AccountReadResponse::default()).unwrap();
    assert_eq!(
        account,
        r#"{"account":null,"userId":null,"requiresOpenaiAuth":false,"workspaceRouting":null}"#
    );
    let list = thread_list::ThreadListResponse {
        data: Vec::new(),
        read_states: Default::default(),
        next_cursor: None,
        backwards_cursor: None,
    };
    assert_eq!(
        serde_json::to_string(&list).unwrap(),
        r#"{"data":[],"readStates":{},"nextCursor":null,"backwardsCursor":null}"#
    );
    assert_eq!(serde_json::to_string(&Empty {}).unwrap(), "{}");
}

/// A `thread/resume` result as the reference server writes it (members agentd does not have left out).
const RESUMED: &str = concat!(
    r#"{"thread":{"id":"01a2","environments":[{"environmentId":"local","cwd":"/w","runtimeWorkspaceRoots":["/w"]}],"#,
    r#""extra":null,"sessionId":"01a2","forkedFromId":null,"attachedToThreadId":null,"parentThreadId":null,"#,
    r#""preview":"","ephemeral":false,"section":null,"sectionEnteredAt":null,"projectId":null,"#,
    r#""historyMode":"paginated","modelProvider":"fake","model":"gpt-5.5","reasoningEffort":null,"#,
    r#""createdAt":1796078367,"updatedAt":1796078367,"recencyAt":1796078367,"status":{"type":"idle"},"path":null,"#,
    r#""cwd":"/w","cliVersion":"0.171.0","originator":"probe","source":"vscode","canAcceptDirectInput":true,"#,
    r#""threadSource":null,"agentNickname":null,"agentRole":null,"gitInfo":null,"name":null,"daybreakEnabled":null,"#,
    r#""turns":[]},"model":"gpt-5.5","modelProvider":"fake","serviceTier":null,"disabledPluginIds":[],"cwd":"/w","#,
    r#""runtimeWorkspaceRoots":["/w"],"instructionSources":[],"approvalPolicy":"on-request","#,
    r#""approvalsReviewer":"user","sandbox":{"type":"workspaceWrite","writableRoots":[],"networkAccess":false,"#,
    r#""excludeTmpdirEnvVar":false,"excludeSlashTmp":false},"activePermissionProfile":null,"reasoningEffort":null,"#,
    r#""multiAgentMode":"explicitRequestOnly","initialTurnsPage":null}"#
);

#[test]
fn a_resumed_thread_is_written_as_it_was_read() {
    let resumed: thread_start::ThreadResumeResponse = serde_json::from_str(RESUMED).unwrap();
    assert_eq!(serde_json::to_string(&resumed).unwrap(), RESUMED);
}

#[test]
fn a_configuration_is_written_as_it_was_read() {
    let text = concat!(
        r#"{"config":{"model":"m"},"origins":{"model":{"name":{"type":"user","file":"/h/config.toml","profile":null},"#,
        r#""version":"sha256:ba"}},"layers":[{"name":{"type":"project","dotCodexFolder":"/w/.codex"},"#,
        r#""version":"sha256:9f","config":{},"disabledReason":"untrusted"},{"name":{"type":"system","#,
        r#""file":"/etc/codex/config.toml"},"version":"sha256:44","config":{}}]}"#
    );
    let config: config::ConfigReadResponse = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&config).unwrap(), text);
}
