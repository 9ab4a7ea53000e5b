//! The configuration as clients may see it: keys as in the file, secrets replaced.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use agentd_protocol::methods::config::{ConfigLayer, ConfigLayerName};
use serde_json::{Map, Value, json};
use toml::Table;

use super::build;
use super::keys::KEYS;
use super::layer::{Layer, Source};

/// Stands for a value that must not be shown.
const REDACTED: &str = "<redacted>";
/// Parts of names whose values are secrets.
const SECRET_WORDS: &[&str] = &["auth", "key", "token", "secret", "cookie", "password"];

/// All layers merged, with every known top-level key.
pub(super) fn config(layers: &[Layer], model_provider: &str) -> BTreeMap<String, Value> {
    let mut shown: BTreeMap<String, Value> = KEYS
        .iter()
        .filter_map(|(key, _)| Some((key.split('.').next()?.to_owned(), Value::Null)))
        .collect();
    // Clients look folders up in it.
    shown.insert("projects".to_owned(), json!({}));
    shown.extend(table(&build::merged(layers)));
    // Clients pass it back when they resume a thread.
    shown.insert("model_provider".to_owned(), Value::from(model_provider));
    shown
}

/// One layer.
pub(super) fn layer(layer: &Layer) -> ConfigLayer {
    let name = match &layer.source {
        Source::File { path, profile, .. } => ConfigLayerName::User {
            file: path.display().to_string(),
            profile: profile.clone(),
        },
        Source::Option(_) | Source::Thread => ConfigLayerName::SessionFlags,
    };
    let mut hasher = DefaultHasher::new();
    layer.table.to_string().hash(&mut hasher);
    let version = format!("{:016x}", hasher.finish());
    ConfigLayer {
        name,
        version,
        config: table(&layer.table).into_iter().collect(),
        disabled_reason: None,
    }
}

fn table(table: &Table) -> Map<String, Value> {
    let shown = serde_json::to_value(table).unwrap_or_default();
    let Value::Object(mut shown) = shown else {
        return Map::new();
    };
    for group in ["model_providers", "profiles", "mcp_servers"] {
        if let Some(group) = shown.get_mut(group) {
            redact(group, false);
        }
    }
    shown
}

/// Replaces texts below `http_headers`, `query_params` and `env` whose names sound like secrets.
fn redact(value: &mut Value, within: bool) {
    let Value::Object(members) = value else { return };
    for (name, value) in members {
        let lower = name.to_ascii_lowercase();
        if within && value.is_string() && SECRET_WORDS.iter().any(|word| lower.contains(word)) {
            *value = Value::from(REDACTED);
        } else {
            redact(
                value,
                within || matches!(lower.as_str(), "http_headers" | "query_params" | "env"),
            );
        }
    }
}
