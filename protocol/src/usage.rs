//! Token usage as clients see it.
//!
//! Source: app-server protocol, `thread/tokenUsage/updated`. All counts are tokens as the model service reported them.

use serde::{Deserialize, Serialize};

/// Token counts of one response or a sum of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TokenUsageBreakdown {
    /// Input and output together.
    pub total_tokens: i64,
    /// Input, cached included.
    pub input_tokens: i64,
    /// Input that was served from the prompt cache.
    pub cached_input_tokens: i64,
    /// Input that was written to the prompt cache.
    pub cache_write_input_tokens: i64,
    /// Output, reasoning included.
    pub output_tokens: i64,
    /// Output that was reasoning.
    pub reasoning_output_tokens: i64,
}

impl TokenUsageBreakdown {
    /// Adds another breakdown to this one.
    pub fn add(&mut self, other: &Self) {
        self.total_tokens += other.total_tokens;
        self.input_tokens += other.input_tokens;
        self.cached_input_tokens += other.cached_input_tokens;
        self.cache_write_input_tokens += other.cache_write_input_tokens;
        self.output_tokens += other.output_tokens;
        self.reasoning_output_tokens += other.reasoning_output_tokens;
    }
}

/// Usage of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadTokenUsage {
    /// Sum over all responses of the thread.
    pub total: TokenUsageBreakdown,
    /// The last response.
    pub last: TokenUsageBreakdown,
    /// Size of the model's context window in tokens, if it is known.
    pub model_context_window: Option<i64>,
}
