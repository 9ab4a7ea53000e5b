//! Settings of a thread that clients read and write: approval policy, sandbox policy, reasoning.
//!
//! Source: app-server protocol. Mode strings are kebab-case, policy objects camelCase, as there.

use serde::{Deserialize, Serialize};

/// When the daemon asks before it acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum AskForApproval {
    /// Ask before every command and every patch.
    Untrusted,
    /// Ask when the model asks to leave the sandbox, or a patch leaves the writable roots.
    #[default]
    OnRequest,
    /// Never ask; what would need an approval is refused.
    Never,
}

/// Shorthand for a sandbox policy, as in `thread/start` and `config.toml`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// Read everything, write nothing.
    #[default]
    ReadOnly,
    /// Read everything, write in the working directory and the temporary folders.
    WorkspaceWrite,
    /// No confinement.
    DangerFullAccess,
}

/// What commands may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum SandboxPolicy {
    /// No confinement.
    DangerFullAccess,
    /// Read everything, write nothing.
    ReadOnly {
        /// Whether commands reach the network.
        #[serde(default)]
        network_access: bool,
    },
    /// Write in the working directory, the listed roots and the temporary folders.
    WorkspaceWrite {
        /// Further writable folders (absolute).
        #[serde(default)]
        writable_roots: Vec<String>,
        /// Whether commands reach the network.
        #[serde(default)]
        network_access: bool,
        /// Leave `$TMPDIR` out of the writable roots.
        #[serde(default)]
        exclude_tmpdir_env_var: bool,
        /// Leave `/tmp` out of the writable roots.
        #[serde(default)]
        exclude_slash_tmp: bool,
    },
}

impl SandboxPolicy {
    /// The policy a mode string stands for.
    pub fn from_mode(mode: SandboxMode) -> Self {
        match mode {
            SandboxMode::ReadOnly => Self::ReadOnly { network_access: false },
            SandboxMode::WorkspaceWrite => Self::WorkspaceWrite {
                writable_roots: Vec::new(),
                network_access: false,
                exclude_tmpdir_env_var: false,
                exclude_slash_tmp: false,
            },
            SandboxMode::DangerFullAccess => Self::DangerFullAccess,
        }
    }

    /// Whether commands reach the network.
    pub fn network_access(&self) -> bool {
        match self {
            Self::DangerFullAccess => true,
            Self::ReadOnly { network_access } | Self::WorkspaceWrite { network_access, .. } => *network_access,
        }
    }
}

/// The settings a thread runs with; sticky over its turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadSettings {
    /// Absolute working directory.
    pub cwd: String,
    /// When to ask.
    pub approval_policy: AskForApproval,
    /// Who answers approvals; always `user` here.
    pub approvals_reviewer: String,
    /// What commands may do.
    pub sandbox_policy: SandboxPolicy,
    /// Model slug.
    pub model: String,
    /// Provider id, a key of `model_providers`.
    pub model_provider: String,
    /// Service tier, if one was asked for.
    pub service_tier: Option<String>,
    /// Reasoning effort (`low`, `medium`, …), if one was asked for.
    pub effort: Option<String>,
    /// Reasoning summary (`auto`, `concise`, `detailed`, `none`), if one was asked for.
    pub summary: Option<String>,
    /// Personality, if one was asked for.
    pub personality: Option<String>,
}
