//! Gathers what a turn needs to know before the engine hears of it: settings after overrides, the model's facts, the
//! workspace's facts. Does the reading that the engine must not do.

use std::path::{Path, PathBuf};

use agentd_engine::input::{ReplyToken, StartTurn, Steer, TurnFacts};
use agentd_protocol::item::UserInput;
use agentd_protocol::methods::turns::TurnSteerParams;
use agentd_protocol::settings::{AskForApproval, SandboxMode, SandboxPolicy, ThreadSettings};
use serde_json::Value;

use crate::catalog;
use crate::config::Config;
use crate::rpc::error::RpcError;
use crate::workspace::{environment, images, instructions, roots};

/// Settings that a request changes; `None` keeps what is there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// Working directory; a relative one starts from the daemon's.
    pub cwd: Option<String>,
    /// When to ask.
    pub approval_policy: Option<AskForApproval>,
    /// What commands may do.
    pub sandbox_policy: Option<SandboxPolicy>,
    /// Model slug.
    pub model: Option<String>,
    /// Provider id.
    pub model_provider: Option<String>,
    /// Service tier.
    pub service_tier: Option<String>,
    /// Reasoning effort.
    pub effort: Option<String>,
    /// Reasoning summary.
    pub summary: Option<String>,
    /// Personality.
    pub personality: Option<String>,
}

impl Overrides {
    /// Whether nothing is to be changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Applies the overrides.
    ///
    /// # Errors
    /// The provider is not configured, or the working directory is something else than a folder.
    pub fn apply(self, mut settings: ThreadSettings, config: &Config) -> Result<ThreadSettings, RpcError> {
        if let Some(cwd) = self.cwd {
            settings.cwd = working_directory(&cwd)?;
        }
        if let Some(provider) = self.model_provider {
            check_provider(config, &provider)?;
            settings.model_provider = provider;
        }
        settings.approval_policy = self.approval_policy.unwrap_or(settings.approval_policy);
        if let Some(policy) = self.sandbox_policy {
            settings.sandbox_policy = with_real_roots(policy, &settings.cwd);
        }
        settings.model = self.model.unwrap_or(settings.model);
        settings.service_tier = self.service_tier.or(settings.service_tier);
        settings.effort = self.effort.or(settings.effort);
        settings.summary = self.summary.or(settings.summary);
        settings.personality = self.personality.or(settings.personality);
        Ok(settings)
    }
}

/// Settings of a new thread before any override: what the configuration says.
///
/// # Errors
/// The configured provider does not exist, or the daemon's working directory is gone.
pub fn default_settings(config: &Config) -> Result<ThreadSettings, RpcError> {
    check_provider(config, &config.model_provider)?;
    let cwd = real(absolute(".")?);
    let sandbox_policy = with_real_roots(sandbox_policy(config, config.sandbox_mode), &cwd);
    Ok(ThreadSettings {
        cwd,
        approval_policy: config.approval_policy,
        approvals_reviewer: "user".into(),
        sandbox_policy,
        model: config.model.clone(),
        model_provider: config.model_provider.clone(),
        service_tier: config.service_tier.clone(),
        effort: config.model_reasoning_effort.clone(),
        summary: config.model_reasoning_summary.clone(),
        personality: None,
    })
}

/// The policy of a mode word, with `[sandbox_workspace_write]` of the configuration.
pub fn sandbox_policy(config: &Config, mode: SandboxMode) -> SandboxPolicy {
    match mode {
        SandboxMode::WorkspaceWrite => {
            let w = &config.sandbox_workspace_write;
            SandboxPolicy::WorkspaceWrite {
                writable_roots: w.writable_roots.clone(),
                network_access: w.network_access,
                exclude_tmpdir_env_var: w.exclude_tmpdir_env_var,
                exclude_slash_tmp: w.exclude_slash_tmp,
            }
        }
        other => SandboxPolicy::from_mode(other),
    }
}

/// What a `turn/start` brings besides its overrides.
pub struct TurnInput {
    /// What the user sent.
    pub input: Vec<UserInput>,
    /// `clientUserMessageId`.
    pub client_user_message_id: Option<String>,
    /// JSON schema of the final answer.
    pub output_schema: Option<Value>,
}

/// Everything a turn starts with. Blocking: reads instruction files and images.
///
/// # Errors
/// An image cannot be read, or `model_instructions_file` cannot.
pub fn start_turn(
    home: &Path,
    config: &Config,
    settings: ThreadSettings,
    turn: TurnInput,
) -> Result<StartTurn, RpcError> {
    let content = images::content_parts(&turn.input).map_err(|e| RpcError::invalid_params(e.to_string()))?;
    let model = catalog::model_facts(config, &settings.model, &settings.model_provider)?;
    let facts = turn_facts(home, config, &settings);
    Ok(StartTurn {
        // Filled in by the thread's task.
        reply: ReplyToken(0),
        input: turn.input,
        content,
        client_user_message_id: turn.client_user_message_id,
        settings,
        model,
        facts,
        output_schema: turn.output_schema,
    })
}

/// Input for a running turn. Blocking: reads images.
///
/// # Errors
/// An image cannot be read.
pub fn steer(params: TurnSteerParams) -> Result<Steer, RpcError> {
    let content = images::content_parts(&params.input).map_err(|e| RpcError::invalid_params(e.to_string()))?;
    Ok(Steer {
        // Filled in by the thread's task.
        reply: ReplyToken(0),
        expected_turn_id: params.expected_turn_id,
        input: params.input,
        content,
        client_user_message_id: params.client_user_message_id,
    })
}

/// Instruction files that apply to a working directory.
pub fn instructions(home: &Path, config: &Config, cwd: &str) -> instructions::Instructions {
    instructions::load(
        home,
        Path::new(cwd),
        config.project_doc_max_bytes,
        &config.project_doc_fallback_filenames,
    )
}

fn turn_facts(home: &Path, config: &Config, settings: &ThreadSettings) -> TurnFacts {
    let shell = environment::shell();
    let roots = roots::writable_roots(&settings.sandbox_policy, Path::new(&settings.cwd));
    TurnFacts {
        user_instructions: instructions(home, config, &settings.cwd).text,
        developer_instructions: config.developer_instructions.clone(),
        environment: environment::facts(&settings.cwd, &settings.sandbox_policy, &shell),
        writable_roots: roots.iter().map(|p| p.to_string_lossy().into_owned()).collect(),
        shell,
    }
}

fn check_provider(config: &Config, id: &str) -> Result<(), RpcError> {
    match config.provider(id) {
        Some(_) => Ok(()),
        None => {
            let message = format!("failed to load configuration: Model provider `{id}` not found");
            Err(RpcError::invalid_request("providerNotFound", message))
        }
    }
}

/// A folder, or a path where one may come to be; commands fail in words as long as there is none.
fn working_directory(path: &str) -> Result<String, RpcError> {
    if path.contains('\0') {
        return Err(RpcError::invalid_params("cwd contains a NUL byte"));
    }
    let path = absolute(path)?;
    match std::fs::metadata(&path) {
        Ok(found) if !found.is_dir() => Err(RpcError::invalid_request(
            "cwdNotDirectory",
            format!("cwd is not a directory: {path}"),
        )),
        _ => Ok(real(path)),
    }
}

/// The path without symlinks, if it exists. Settings hold real paths, so that a folder which a command later replaces by a
/// symlink is noticed instead of followed.
fn real(path: String) -> String {
    match std::fs::canonicalize(&path) {
        Ok(real) => real.to_string_lossy().into_owned(),
        Err(_) => path,
    }
}

/// The policy with its writable roots as absolute real paths.
fn with_real_roots(mut policy: SandboxPolicy, cwd: &str) -> SandboxPolicy {
    if let SandboxPolicy::WorkspaceWrite { writable_roots, .. } = &mut policy {
        for root in writable_roots {
            *root = real(Path::new(cwd).join(&*root).to_string_lossy().into_owned());
        }
    }
    policy
}

/// Joins a relative path to the daemon's working directory and takes out `.` and `..`.
fn absolute(path: &str) -> Result<String, RpcError> {
    let here =
        || std::env::current_dir().map_err(|e| RpcError::internal(format!("the daemon has no working directory: {e}")));
    let joined = if path.starts_with('/') {
        PathBuf::from(path)
    } else {
        here()?.join(path)
    };
    let mut clean = PathBuf::from("/");
    for part in joined.components() {
        match part {
            std::path::Component::ParentDir => drop(clean.pop()),
            std::path::Component::Normal(name) => clean.push(name),
            _ => {}
        }
    }
    Ok(clean.to_string_lossy().into_owned())
}
