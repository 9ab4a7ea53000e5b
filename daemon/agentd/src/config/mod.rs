//! The configuration: layers (defaults < `config.toml` < profile < `-c` < a thread's own) merged and checked, then typed.
//!
//! Only the home's `config.toml` and what the caller passes are read. Nothing in a workspace is configuration.

mod build;
mod error;
mod file;
mod keys;
mod layer;
mod providers;
mod shown;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentd_protocol::settings::{AskForApproval, SandboxMode};
use serde_json::{Map, Value};

pub use error::ConfigError;
pub use layer::Layer;
pub use providers::ProviderEntry;

/// Name of the configuration file in the home.
pub const FILE_NAME: &str = "config.toml";

/// The checked configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// Model slug; the catalog's default if none is configured.
    pub model: String,
    /// Provider id.
    pub model_provider: String,
    /// When to ask.
    pub approval_policy: AskForApproval,
    /// What commands may do.
    pub sandbox_mode: SandboxMode,
    /// Details of `workspace-write`.
    pub sandbox_workspace_write: WorkspaceWrite,
    /// Service tier to ask for.
    pub service_tier: Option<String>,
    /// Text of the developer for every thread.
    pub developer_instructions: Option<String>,
    /// Content of `model_instructions_file`.
    pub model_instructions: Option<Arc<str>>,
    /// Context window in tokens, if the catalog's is to be replaced.
    pub model_context_window: Option<i64>,
    /// Reasoning effort.
    pub model_reasoning_effort: Option<String>,
    /// Reasoning summary.
    pub model_reasoning_summary: Option<String>,
    /// Verbosity.
    pub model_verbosity: Option<String>,
    /// Bytes of instruction files that a thread gets at most.
    pub project_doc_max_bytes: usize,
    /// File names that stand in for `AGENTS.md`.
    pub project_doc_fallback_filenames: Vec<String>,
    /// How long running turns may go on at shutdown.
    pub shutdown_grace: Duration,
    /// Whether `ws://` may listen on other addresses than loopback.
    pub allow_remote_websocket: bool,
    /// What was not understood; told to every client.
    pub warnings: Vec<String>,
    providers: BTreeMap<String, ProviderEntry>,
    layers: Layers,
}

/// `[sandbox_workspace_write]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkspaceWrite {
    /// Further writable folders.
    pub writable_roots: Vec<String>,
    /// Whether commands reach the network.
    pub network_access: bool,
    /// Leave `$TMPDIR` out.
    pub exclude_tmpdir_env_var: bool,
    /// Leave `/tmp` out.
    pub exclude_slash_tmp: bool,
}

/// What the command line says about the configuration.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `key=value` pairs, weakest first.
    pub pairs: Vec<String>,
    /// Name of a table below `profiles`.
    pub profile: Option<String>,
}

/// The layers, weakest first, and the folder that relative paths start from.
#[derive(Clone, Debug, Default)]
struct Layers {
    home: PathBuf,
    list: Vec<Layer>,
}

impl Config {
    /// Reads the home's file and puts the command line on top.
    ///
    /// # Errors
    /// The file cannot be read, is no TOML, or a value does not fit its key.
    pub fn load(home: &Path, overrides: &Overrides) -> Result<Self, ConfigError> {
        let mut list = Vec::new();
        list.extend(Layer::from_file(&home.join(FILE_NAME))?);
        if let Some(profile) = layer::chosen_profile(&list, overrides)? {
            list.push(profile);
        }
        for pair in &overrides.pairs {
            list.push(Layer::from_pair(pair)?);
        }
        build::config(Layers {
            home: home.to_owned(),
            list,
        })
    }

    /// The configuration with a thread's own map on top (dotted keys, JSON values).
    ///
    /// # Errors
    /// A value does not fit its key.
    pub fn with_overrides(&self, overrides: &Map<String, Value>) -> Result<Self, ConfigError> {
        let mut layers = self.layers.clone();
        layers.list.push(Layer::from_json(overrides)?);
        build::config(layers)
    }

    /// A provider by its id.
    pub fn provider(&self, id: &str) -> Option<&ProviderEntry> {
        self.providers.get(id)
    }

    /// The merged configuration as clients see it: keys as in the file, known ones null when unset, secrets left out.
    pub fn shown(&self) -> BTreeMap<String, Value> {
        shown::config(&self.layers.list, &self.model_provider)
    }

    /// The layers, strongest first.
    pub fn shown_layers(&self) -> Vec<agentd_protocol::methods::config::ConfigLayer> {
        self.layers.list.iter().rev().map(shown::layer).collect()
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
