//! `initialize`: who talks to whom.

use serde::{Deserialize, Serialize};

/// Params of `initialize`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(optional_fields = nullable))]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// The client.
    pub client_info: ClientInfo,
    /// What it can do and wants.
    pub capabilities: Option<ClientCapabilities>,
}

/// The client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(optional_fields = nullable))]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    /// Name for programs; becomes `thread.originator`.
    pub name: String,
    /// Name for people.
    pub title: Option<String>,
    /// Its version.
    pub version: String,
}

/// What a client can do and wants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(optional_fields = nullable))]
#[serde(rename_all = "camelCase")]
pub struct ClientCapabilities {
    /// Whether it may call experimental methods and wants experimental members.
    pub experimental_api: Option<bool>,
    /// Exact names of notifications this connection does not want. Unknown names are ignored.
    pub opt_out_notification_methods: Option<Vec<String>>,
}

/// Result of `initialize`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct InitializeResponse {
    /// `<client name>/<protocol version> (<os>; <arch>) …`. Clients cut the version out, so the shape is fixed.
    pub user_agent: String,
    /// Absolute home directory of the daemon. (The protocol's name for it.)
    pub codex_home: String,
    /// `unix`.
    pub platform_family: String,
    /// `linux`.
    pub platform_os: String,
}
