//! Which keys there are and what fits each: one table. Checks a layer against it; changes nothing.

use toml::{Table, Value};

/// What fits a key.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Text,
    Bool,
    /// A whole number, at least this.
    Whole(i64),
    TextList,
    /// A table of texts.
    TextMap,
    Word(&'static [&'static str]),
}

use Kind::{Bool, Text, TextList, TextMap, Whole, Word};

const APPROVALS: &[&str] = &["untrusted", "on-request", "on-failure", "never"];
const SANDBOXES: &[&str] = &["read-only", "workspace-write", "danger-full-access"];
const SUMMARIES: &[&str] = &["auto", "concise", "detailed", "none"];
const VERBOSITIES: &[&str] = &["low", "medium", "high"];

/// Every key with a meaning; `*` stands for any name.
pub(super) const KEYS: &[(&str, Kind)] = &[
    ("model", Text),
    ("model_provider", Text),
    ("approval_policy", Word(APPROVALS)),
    ("sandbox_mode", Word(SANDBOXES)),
    ("service_tier", Text),
    ("developer_instructions", Text),
    ("model_instructions_file", Text),
    ("model_context_window", Whole(1)),
    ("model_auto_compact_token_limit", Whole(1)),
    ("model_reasoning_effort", Text),
    ("model_reasoning_summary", Word(SUMMARIES)),
    ("model_verbosity", Word(VERBOSITIES)),
    ("project_doc_max_bytes", Whole(0)),
    ("project_doc_fallback_filenames", TextList),
    ("shutdown_grace_s", Whole(0)),
    ("allow_remote_websocket", Bool),
    ("profile", Text),
    ("sandbox_workspace_write.writable_roots", TextList),
    ("sandbox_workspace_write.network_access", Bool),
    ("sandbox_workspace_write.exclude_tmpdir_env_var", Bool),
    ("sandbox_workspace_write.exclude_slash_tmp", Bool),
    ("projects.*.trust_level", Word(&["trusted", "untrusted"])),
    ("model_providers.*.name", Text),
    ("model_providers.*.base_url", Text),
    ("model_providers.*.env_key", Text),
    ("model_providers.*.env_key_instructions", Text),
    ("model_providers.*.wire_api", Word(&["responses"])),
    ("model_providers.*.http_headers", TextMap),
    ("model_providers.*.env_http_headers", TextMap),
    ("model_providers.*.query_params", TextMap),
    ("model_providers.*.request_max_retries", Whole(0)),
    ("model_providers.*.stream_max_retries", Whole(0)),
    ("model_providers.*.stream_idle_timeout_ms", Whole(1)),
    ("model_providers.*.requires_openai_auth", Bool),
    ("model_providers.*.supports_websockets", Bool),
];

/// Keys of Codex that say nothing about what the daemon does.
const QUIET: &[&str] = &[
    "analytics",
    "feedback",
    "features",
    "history",
    "notice",
    "notify",
    "otel",
    "profiles",
    "tui",
    "file_opener",
    "hide_agent_reasoning",
    "show_raw_agent_reasoning",
    "check_for_update_on_startup",
    "disable_paste_burst",
    "suppress_unstable_features_warning",
    "cli_auth_credentials_store",
    "mcp_oauth_credentials_store",
    "log_dir",
    "windows",
    "plugins",
    "marketplaces",
    "desktop",
    "memories",
    "personality",
    "approvals_reviewer",
    "tools",
];

/// Keys of Codex that would change what the daemon does, if it knew them.
const WITHOUT_EFFECT: &[&str] = &[
    "agents",
    "apps",
    "auto_review",
    "chatgpt_base_url",
    "commit_attribution",
    "compact_prompt",
    "default_permissions",
    "disable_response_storage",
    "experimental_compact_prompt_file",
    "experimental_use_unified_exec_tool",
    "forced_login_method",
    "hooks",
    "instructions",
    "mcp_servers",
    "model_catalog_json",
    "model_supports_reasoning_summaries",
    "openai_base_url",
    "oss_provider",
    "permissions",
    "project_root_markers",
    "review_model",
    "shell_environment_policy",
    "skills",
    "sqlite_home",
    "tool_output_token_limit",
    "web_search",
    "allow_login_shell",
];

/// What a check found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Values that do not fit: key path, what fits, what is there.
    pub(super) misfits: Vec<(Vec<String>, String, String)>,
    /// Keys nobody knows.
    pub(super) unknown: Vec<Vec<String>>,
    /// Known keys that do nothing here.
    pub(super) without_effect: Vec<String>,
}

/// Checks every key of a layer.
pub(super) fn check(table: &Table) -> Findings {
    let mut findings = Findings::default();
    check_table(table, &mut Vec::new(), &mut findings);
    findings
}

fn check_table(table: &Table, path: &mut Vec<String>, findings: &mut Findings) {
    for (name, value) in table {
        path.push(name.clone());
        check_key(path, value, findings);
        path.pop();
    }
}

fn check_key(path: &mut Vec<String>, value: &Value, findings: &mut Findings) {
    if let Some(kind) = kind_of(path) {
        if !fits(kind, value) {
            findings.misfits.push((path.clone(), expected(kind), found(value)));
        }
    } else if is_table_of_keys(path) {
        match value {
            Value::Table(table) => check_table(table, path, findings),
            other => findings.misfits.push((path.clone(), "a table".into(), found(other))),
        }
    } else {
        let top = path.first().map_or("", String::as_str);
        if WITHOUT_EFFECT.contains(&top) {
            findings.without_effect.push(top.to_owned());
        } else if !QUIET.contains(&top) {
            findings.unknown.push(path.clone());
        }
    }
}

fn kind_of(path: &[String]) -> Option<Kind> {
    KEYS.iter()
        .find(|(pattern, _)| matches(pattern, path, false))
        .map(|(_, kind)| *kind)
}

fn is_table_of_keys(path: &[String]) -> bool {
    KEYS.iter().any(|(pattern, _)| matches(pattern, path, true))
}

/// Whether the path is the pattern, or (`begins`) a proper beginning of it.
fn matches(pattern: &str, path: &[String], begins: bool) -> bool {
    let mut parts = pattern.split('.');
    let same = path
        .iter()
        .all(|name| parts.next().is_some_and(|part| part == "*" || part == name));
    same && parts.next().is_some() == begins
}

fn fits(kind: Kind, value: &Value) -> bool {
    match (kind, value) {
        (Text, Value::String(_)) | (Bool, Value::Boolean(_)) => true,
        (Whole(least), Value::Integer(number)) => *number >= least,
        (TextList, Value::Array(list)) => list.iter().all(Value::is_str),
        (TextMap, Value::Table(table)) => table.values().all(Value::is_str),
        (Word(words), Value::String(word)) => words.contains(&word.as_str()),
        _ => false,
    }
}

fn expected(kind: Kind) -> String {
    match kind {
        Text => "a string".into(),
        Bool => "true or false".into(),
        Whole(least) => format!("a whole number of at least {least}"),
        TextList => "a list of strings".into(),
        TextMap => "a table of strings".into(),
        Word(words) => format!(
            "one of {}",
            words
                .iter()
                .map(|word| format!("`{word}`"))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    }
}

fn found(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the string {text:?}"),
        Value::Integer(number) => format!("the number {number}"),
        Value::Float(number) => format!("the number {number}"),
        Value::Boolean(truth) => truth.to_string(),
        Value::Datetime(time) => format!("the date {time}"),
        Value::Array(_) => "a list".into(),
        Value::Table(_) => "a table".into(),
    }
}
