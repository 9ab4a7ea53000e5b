//! From checked layers to the typed configuration. Every value is known to fit its key by then; what depends on more than
//! one key is checked here.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agentd_protocol::settings::{AskForApproval, SandboxMode};
use toml::{Table, Value};

use super::error::ConfigError;
use super::layer::{Layer, merge};
use super::{Config, Layers, WorkspaceWrite, file, providers};
use crate::catalog;

const PROJECT_DOC_MAX_BYTES: usize = 32 * 1024;
const SHUTDOWN_GRACE_S: u64 = 5;

pub(super) fn config(layers: Layers) -> Result<Config, ConfigError> {
    let mut warnings = Vec::new();
    for layer in &layers.list {
        layer.check(&mut warnings)?;
    }
    let table = merged(&layers.list);
    let values = Values(&table);
    let base_url = std::env::var("OPENAI_BASE_URL")
        .ok()
        .filter(|url| !url.trim().is_empty());
    let providers = providers::all(table.get("model_providers").and_then(Value::as_table), base_url);
    let model_provider = values
        .text("model_provider")
        .unwrap_or_else(|| providers::OPENAI.to_owned());
    check_provider(&layers.list, &model_provider, &providers)?;
    let model = values
        .text("model")
        .unwrap_or_else(|| catalog::default_model(&model_provider).to_owned());
    Ok(Config {
        model,
        model_provider,
        approval_policy: approval_policy(&layers.list, &values, &mut warnings),
        sandbox_mode: sandbox_mode(&values),
        sandbox_workspace_write: workspace_write(&table),
        service_tier: values.text("service_tier"),
        developer_instructions: values.text("developer_instructions"),
        model_instructions: model_instructions(&layers, &values)?,
        model_context_window: values.whole("model_context_window"),
        model_reasoning_effort: values.text("model_reasoning_effort"),
        model_reasoning_summary: values.text("model_reasoning_summary"),
        model_verbosity: values.text("model_verbosity"),
        project_doc_max_bytes: values.size("project_doc_max_bytes").unwrap_or(PROJECT_DOC_MAX_BYTES),
        project_doc_fallback_filenames: values.texts("project_doc_fallback_filenames"),
        shutdown_grace: Duration::from_secs(values.size("shutdown_grace_s").map_or(SHUTDOWN_GRACE_S, |s| s as u64)),
        allow_remote_websocket: values.truth("allow_remote_websocket"),
        warnings,
        providers,
        layers,
    })
}

/// All layers on top of each other.
pub(super) fn merged(layers: &[Layer]) -> Table {
    let mut table = Table::new();
    for layer in layers {
        merge(&mut table, layer.table.clone());
    }
    table
}

fn check_provider(
    layers: &[Layer],
    id: &str,
    providers: &std::collections::BTreeMap<String, providers::ProviderEntry>,
) -> Result<(), ConfigError> {
    let problem = match providers.get(id) {
        None => format!(
            "one of {}",
            providers
                .keys()
                .map(|id| format!("`{id}`"))
                .collect::<Vec<_>>()
                .join(", ")
        ),
        Some(entry) if entry.base_url.is_empty() && id != catalog::REHEARSAL => {
            "a provider with a `base_url`".to_owned()
        }
        Some(_) => return Ok(()),
    };
    let key = "model_provider".to_owned();
    let place = place_of(layers, &key);
    Err(ConfigError::Value {
        place,
        key,
        expected: problem,
        found: format!("the string {id:?}"),
    })
}

/// Where the strongest layer says this top-level key.
fn place_of(layers: &[Layer], key: &str) -> String {
    let path = [key.to_owned()];
    layers
        .iter()
        .rev()
        .find(|layer| layer.table.contains_key(key))
        .map_or_else(String::new, |layer| layer.place_of(&path))
}

fn approval_policy(layers: &[Layer], values: &Values<'_>, warnings: &mut Vec<String>) -> AskForApproval {
    match values.text("approval_policy").as_deref() {
        Some("untrusted") => AskForApproval::Untrusted,
        Some("never") => AskForApproval::Never,
        Some("on-failure") => {
            let place = place_of(layers, "approval_policy");
            warnings.push(format!(
                "{place}: `approval_policy = \"on-failure\"` is no longer known; using `on-request`"
            ));
            AskForApproval::OnRequest
        }
        _ => AskForApproval::OnRequest,
    }
}

fn sandbox_mode(values: &Values<'_>) -> SandboxMode {
    match values.text("sandbox_mode").as_deref() {
        Some("workspace-write") => SandboxMode::WorkspaceWrite,
        Some("danger-full-access") => SandboxMode::DangerFullAccess,
        _ => SandboxMode::ReadOnly,
    }
}

fn workspace_write(table: &Table) -> WorkspaceWrite {
    let Some(Value::Table(table)) = table.get("sandbox_workspace_write") else {
        return WorkspaceWrite::default();
    };
    let values = Values(table);
    WorkspaceWrite {
        writable_roots: values.texts("writable_roots"),
        network_access: values.truth("network_access"),
        exclude_tmpdir_env_var: values.truth("exclude_tmpdir_env_var"),
        exclude_slash_tmp: values.truth("exclude_slash_tmp"),
    }
}

fn model_instructions(layers: &Layers, values: &Values<'_>) -> Result<Option<Arc<str>>, ConfigError> {
    let key = "model_instructions_file";
    let Some(file) = values.text(key) else { return Ok(None) };
    let path = layers.home.join(Path::new(&file));
    match file::read(&path) {
        Ok(text) => Ok(Some(text.into())),
        Err(error) => Err(ConfigError::Value {
            place: place_of(&layers.list, key),
            key: key.to_owned(),
            expected: "a readable text file".to_owned(),
            found: format!("{} ({error})", path.display()),
        }),
    }
}

/// Reads values that are known to fit their keys.
struct Values<'a>(&'a Table);

impl Values<'_> {
    fn text(&self, key: &str) -> Option<String> {
        self.0.get(key)?.as_str().map(str::to_owned)
    }

    fn whole(&self, key: &str) -> Option<i64> {
        self.0.get(key)?.as_integer()
    }

    fn size(&self, key: &str) -> Option<usize> {
        usize::try_from(self.whole(key)?).ok()
    }

    fn truth(&self, key: &str) -> bool {
        self.0.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    fn texts(&self, key: &str) -> Vec<String> {
        let list = self.0.get(key).and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(|value| value.as_str().map(str::to_owned))
            .collect()
    }
}
