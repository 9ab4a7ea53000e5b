//! `account/read`. agentd has no accounts: keys come from the environment, as the provider's configuration says.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Params of `account/read`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(optional_fields = nullable))]
#[serde(rename_all = "camelCase")]
pub struct AccountReadParams {
    /// Accepted and ignored.
    pub refresh_token: Option<bool>,
}

/// Result of `account/read`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AccountReadResponse {
    /// Always null here.
    pub account: Option<Value>,
    /// Always null here.
    pub user_id: Option<String>,
    /// Always false here: clients must not ask for a login.
    pub requires_openai_auth: bool,
    /// Reserved; always null here.
    pub workspace_routing: Option<Value>,
}
