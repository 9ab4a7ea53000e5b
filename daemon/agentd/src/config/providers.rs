//! Model providers: the built-in ones, and what `[model_providers]` adds or changes. Resolves no secrets.

use std::collections::BTreeMap;

use toml::{Table, Value};

/// Requests that fail before their stream begins are sent again this often.
const REQUEST_MAX_RETRIES: u32 = 4;
/// Streams that break are asked for again this often.
const STREAM_MAX_RETRIES: u32 = 5;
/// A stream may be silent this long, in milliseconds.
const STREAM_IDLE_TIMEOUT_MS: u64 = 300_000;

/// Id of the default provider.
pub(super) const OPENAI: &str = "openai";

/// How to reach a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderEntry {
    /// Name for people.
    pub name: String,
    /// Base URL; empty for the rehearsal, whose address is known when it runs.
    pub base_url: String,
    /// Environment variable that holds the API key.
    pub env_key: Option<String>,
    /// Headers as they stand.
    pub http_headers: BTreeMap<String, String>,
    /// Headers whose values are in environment variables.
    pub env_http_headers: BTreeMap<String, String>,
    /// Query parameters.
    pub query_params: BTreeMap<String, String>,
    /// Retries of a request.
    pub request_max_retries: u32,
    /// Retries of a stream.
    pub stream_max_retries: u32,
    /// Longest silence of a stream, in milliseconds.
    pub stream_idle_timeout_ms: u64,
}

impl ProviderEntry {
    fn new(name: &str, base_url: &str) -> Self {
        Self {
            name: name.to_owned(),
            base_url: base_url.to_owned(),
            env_key: None,
            http_headers: BTreeMap::new(),
            env_http_headers: BTreeMap::new(),
            query_params: BTreeMap::new(),
            request_max_retries: REQUEST_MAX_RETRIES,
            stream_max_retries: STREAM_MAX_RETRIES,
            stream_idle_timeout_ms: STREAM_IDLE_TIMEOUT_MS,
        }
    }

    /// Takes over what a checked table says.
    fn apply(&mut self, table: &Table) {
        let text = |key: &str| table.get(key).and_then(Value::as_str).map(str::to_owned);
        let whole = |key: &str| table.get(key).and_then(Value::as_integer);
        let texts = |key: &str| table.get(key).and_then(Value::as_table).map(text_map);
        self.name = text("name").unwrap_or_else(|| self.name.clone());
        self.base_url = text("base_url").unwrap_or_else(|| self.base_url.clone());
        self.env_key = text("env_key").or_else(|| self.env_key.take());
        self.http_headers.extend(texts("http_headers").unwrap_or_default());
        self.env_http_headers
            .extend(texts("env_http_headers").unwrap_or_default());
        self.query_params.extend(texts("query_params").unwrap_or_default());
        let retries = |key: &str| whole(key).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        self.request_max_retries = retries("request_max_retries").unwrap_or(self.request_max_retries);
        self.stream_max_retries = retries("stream_max_retries").unwrap_or(self.stream_max_retries);
        let idle = whole("stream_idle_timeout_ms").and_then(|n| u64::try_from(n).ok());
        self.stream_idle_timeout_ms = idle.unwrap_or(self.stream_idle_timeout_ms);
    }
}

fn text_map(table: &Table) -> BTreeMap<String, String> {
    table
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect()
}

/// The built-in providers with the configured ones on top. `openai_base_url` replaces the address of `openai`.
pub(super) fn all(configured: Option<&Table>, openai_base_url: Option<String>) -> BTreeMap<String, ProviderEntry> {
    let mut all = built_in(openai_base_url);
    for (id, value) in configured.into_iter().flatten() {
        if let Value::Table(table) = value {
            all.entry(id.clone())
                .or_insert_with(|| ProviderEntry::new(id, ""))
                .apply(table);
        }
    }
    all
}

fn built_in(openai_base_url: Option<String>) -> BTreeMap<String, ProviderEntry> {
    let openai_url = openai_base_url.unwrap_or_else(|| "https://api.openai.com/v1".to_owned());
    let mut openai = ProviderEntry::new("OpenAI", &openai_url);
    openai.env_key = Some("OPENAI_API_KEY".to_owned());
    let ollama = ProviderEntry::new("Ollama", "http://localhost:11434/v1");
    BTreeMap::from([
        (OPENAI.to_owned(), openai),
        ("ollama".to_owned(), ollama.clone()),
        ("oss".to_owned(), ollama),
        (
            "lmstudio".to_owned(),
            ProviderEntry::new("LM Studio", "http://localhost:1234/v1"),
        ),
        ("rehearsal".to_owned(), ProviderEntry::new("Rehearsal", "")),
    ])
}
