//! `config/read` and `permissionProfile/list`: what is configured.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Params of `config/read`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(optional_fields = nullable))]
#[serde(rename_all = "camelCase")]
pub struct ConfigReadParams {
    /// Fill `layers`.
    pub include_layers: Option<bool>,
    /// Working directory whose project configuration counts.
    pub cwd: Option<String>,
}

/// Result of `config/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ConfigReadResponse {
    /// The configuration in force, keys as in `config.toml`. Secrets are left out.
    pub config: BTreeMap<String, Value>,
    /// Where each value came from, by dotted key.
    #[serde(default)]
    pub origins: BTreeMap<String, ConfigOrigin>,
    /// The layers, strongest first; null unless they were asked for.
    pub layers: Option<Vec<ConfigLayer>>,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ConfigOrigin {
    /// The layer.
    pub name: ConfigLayerName,
    /// Changes with the layer's content: `sha256:…`.
    pub version: String,
}

/// A layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ConfigLayer {
    /// Which.
    pub name: ConfigLayerName,
    /// Changes with the layer's content: `sha256:…`.
    pub version: String,
    /// What it says.
    pub config: BTreeMap<String, Value>,
    /// Why it does not count, if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled_reason: Option<String>,
}

/// Which layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ConfigLayerName {
    /// The machine's.
    System {
        /// Absolute path.
        file: String,
    },
    /// The user's.
    User {
        /// Absolute path.
        file: String,
        /// Profile within it, if one was chosen.
        profile: Option<String>,
    },
    /// A project's.
    Project {
        /// Absolute folder it lies in. (The protocol's name for it.)
        dot_codex_folder: String,
    },
    /// Given on the command line or by a client for one thread.
    SessionFlags,
}

/// Params of `permissionProfile/list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(optional_fields = nullable))]
#[serde(rename_all = "camelCase")]
pub struct PermissionProfileListParams {
    /// Where an earlier page ended.
    pub cursor: Option<String>,
    /// At most this many.
    pub limit: Option<u32>,
    /// Working directory whose project configuration counts.
    pub cwd: Option<String>,
}

/// Result of `permissionProfile/list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct PermissionProfileListResponse {
    /// Always empty here.
    pub data: Vec<Value>,
    /// Always null here.
    pub next_cursor: Option<String>,
}
