//! `model/list`: what can be chosen.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Params of `model/list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(optional_fields = nullable))]
#[serde(rename_all = "camelCase")]
pub struct ModelListParams {
    /// Where an earlier page ended.
    pub cursor: Option<String>,
    /// At most this many.
    pub limit: Option<u32>,
    /// Hidden models too.
    pub include_hidden: Option<bool>,
}

/// Result of `model/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ModelListResponse {
    /// The models.
    pub data: Vec<Model>,
    /// For the next page, if there is more.
    pub next_cursor: Option<String>,
}

/// A model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// Same as `model`.
    pub id: String,
    /// Model slug.
    pub model: String,
    /// Reserved; always null here.
    pub upgrade: Option<String>,
    /// Reserved; always null here.
    pub upgrade_info: Option<Value>,
    /// Reserved; always null here.
    pub availability_nux: Option<Value>,
    /// Name for people.
    pub display_name: String,
    /// For people.
    pub description: String,
    /// Reserved; always null here.
    pub model_specialty: Option<Value>,
    /// Whether pickers should leave it out.
    pub hidden: bool,
    /// Efforts it takes.
    pub supported_reasoning_efforts: Vec<ReasoningEffortOption>,
    /// The effort it has if none is asked for.
    pub default_reasoning_effort: String,
    /// `text`, `image`.
    #[serde(default)]
    pub input_modalities: Vec<String>,
    /// Whether it takes a personality.
    #[serde(default)]
    pub supports_personality: bool,
    /// Reserved; always null here.
    pub multi_agent_version: Option<String>,
    /// Always empty here.
    #[serde(default)]
    pub additional_speed_tiers: Vec<String>,
    /// Service tiers it can be asked for.
    #[serde(default)]
    pub service_tiers: Vec<ServiceTier>,
    /// Tier it has if none is asked for.
    pub default_service_tier: Option<String>,
    /// Reserved; always null here.
    pub available_access_programs: Option<Value>,
    /// Whether it is the one a thread gets that names none.
    pub is_default: bool,
}

/// A reasoning effort.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ReasoningEffortOption {
    /// The word to send.
    pub reasoning_effort: String,
    /// For people.
    pub description: String,
}

/// A service tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ServiceTier {
    /// The word to send.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// For people.
    pub description: String,
}
