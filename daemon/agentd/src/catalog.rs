//! The models that are known: what `model/list` shows and what the engine must know of a model.
//!
//! Only facts; which model a thread uses is decided by the configuration and the client.

use agentd_engine::input::ModelFacts;
use agentd_protocol::methods::models::{Model, ReasoningEffortOption};

use crate::config::Config;
use crate::rpc::error::RpcError;

/// Id of the built-in scripted provider, and the slug of its model.
pub const REHEARSAL: &str = "rehearsal";

/// Part of the context window that is used, in percent; the rest is left for the answer.
const USABLE_PERCENT: i64 = 95;
/// Efforts of all known models.
const EFFORTS: &[(&str, &str)] = &[
    ("low", "Answers fast with little reasoning"),
    ("medium", "Balances speed and depth for everyday work"),
    ("high", "Reasons longer about hard problems"),
    ("xhigh", "Reasons as long as it takes"),
];
const DEFAULT_EFFORT: &str = "medium";

struct Entry {
    slug: &'static str,
    name: &'static str,
    description: &'static str,
    /// Tokens.
    context_window: i64,
    reasoning: bool,
}

/// The first one is the default.
const ENTRIES: &[Entry] = &[
    Entry {
        slug: "gpt-5.5",
        name: "GPT-5.5",
        description: "Frontier model for coding and long agentic work.",
        context_window: 272_000,
        reasoning: true,
    },
    Entry {
        slug: "gpt-5.5-mini",
        name: "GPT-5.5 Mini",
        description: "Smaller and faster, for everyday edits.",
        context_window: 272_000,
        reasoning: true,
    },
    Entry {
        slug: REHEARSAL,
        name: "Rehearsal",
        description: "Plays scripted answers on this machine; needs no network.",
        context_window: 272_000,
        reasoning: false,
    },
];

/// The model of a thread that names none.
pub fn default_model(provider: &str) -> &'static str {
    if provider == REHEARSAL { REHEARSAL } else { "gpt-5.5" }
}

/// All models, the default marked; a configured one that is unknown is put in front.
pub fn models(config: &Config) -> Vec<Model> {
    let mut models: Vec<Model> = ENTRIES
        .iter()
        .map(|entry| {
            let hidden = entry.slug == REHEARSAL && config.model_provider != REHEARSAL;
            model(entry.slug, entry.name, entry.description, entry.reasoning, hidden)
        })
        .collect();
    if !models.iter().any(|model| model.model == config.model) {
        let reasoning = supports_reasoning(&config.model);
        models.insert(
            0,
            model(
                &config.model,
                &config.model,
                "Configured in config.toml.",
                reasoning,
                false,
            ),
        );
    }
    for model in &mut models {
        model.is_default = model.model == config.model;
    }
    models
}

/// What the engine must know of a model.
///
/// # Errors
/// The provider is not configured.
pub fn model_facts(config: &Config, slug: &str, provider: &str) -> Result<ModelFacts, RpcError> {
    let entry = config.provider(provider).ok_or_else(|| {
        RpcError::invalid_request("providerNotFound", format!("Model provider `{provider}` not found"))
    })?;
    let known = ENTRIES.iter().find(|entry| entry.slug == slug);
    let window = config.model_context_window.or(known.map(|entry| entry.context_window));
    let reasoning = known.map_or_else(|| supports_reasoning(slug), |entry| entry.reasoning);
    let instructions = config
        .model_instructions
        .as_deref()
        .unwrap_or_else(|| agentd_prompts::base_instructions());
    Ok(ModelFacts {
        instructions: instructions.to_owned(),
        context_window: window.map(|tokens| tokens / 100 * USABLE_PERCENT + tokens % 100 * USABLE_PERCENT / 100),
        supports_reasoning: reasoning,
        default_effort: reasoning.then(|| DEFAULT_EFFORT.to_owned()),
        verbosity: config.model_verbosity.clone(),
        stream_max_retries: entry.stream_max_retries,
    })
}

/// Whether a model that is not in the catalog belongs to a family that takes `reasoning`.
fn supports_reasoning(slug: &str) -> bool {
    let numbered_o = slug
        .strip_prefix('o')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    numbered_o || slug.starts_with("gpt-5") || slug.starts_with("gpt-6") || slug.contains("codex")
}

fn model(slug: &str, name: &str, description: &str, reasoning: bool, hidden: bool) -> Model {
    let option = |(effort, text): &(&str, &str)| ReasoningEffortOption {
        reasoning_effort: (*effort).to_owned(),
        description: (*text).to_owned(),
    };
    let efforts = if reasoning {
        EFFORTS.iter().map(option).collect()
    } else {
        vec![option(&("none", "Does not reason"))]
    };
    Model {
        id: slug.to_owned(),
        model: slug.to_owned(),
        upgrade: None,
        upgrade_info: None,
        availability_nux: None,
        display_name: name.to_owned(),
        description: description.to_owned(),
        model_specialty: None,
        hidden,
        supported_reasoning_efforts: efforts,
        default_reasoning_effort: if reasoning { DEFAULT_EFFORT } else { "none" }.to_owned(),
        input_modalities: vec!["text".to_owned(), "image".to_owned()],
        supports_personality: false,
        multi_agent_version: None,
        additional_speed_tiers: Vec::new(),
        service_tiers: Vec::new(),
        default_service_tier: None,
        available_access_programs: None,
        is_default: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Overrides;

    fn config(pairs: &[&str]) -> Config {
        let home = tempfile::tempdir().expect("tempdir");
        let pairs = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        Config::load(home.path(), &Overrides { pairs, profile: None }).expect("config")
    }

    fn visible(config: &Config) -> Vec<(String, bool)> {
        models(config)
            .into_iter()
            .filter(|m| !m.hidden)
            .map(|m| (m.model, m.is_default))
            .collect()
    }

    #[test]
    fn the_configured_model_is_the_default_and_listed_even_if_unknown() {
        assert_eq!(
            visible(&config(&[])),
            [("gpt-5.5".into(), true), ("gpt-5.5-mini".into(), false)]
        );
        assert_eq!(visible(&config(&["model=my-model"]))[0], ("my-model".into(), true));
        let rehearsal = config(&["model_provider=rehearsal"]);
        assert!(visible(&rehearsal).contains(&(REHEARSAL.into(), true)));
    }

    #[test]
    fn facts_of_known_configured_and_unknown_models() {
        for (pairs, slug, window, reasoning) in [
            (vec![], "gpt-5.5", Some(258_400), true),
            (vec!["model_context_window=1000"], "gpt-5.5", Some(950), true),
            (vec![], "llama-3", None, false),
            (vec![], "o3", None, true),
            (vec![], "orca", None, false),
        ] {
            let facts = model_facts(&config(&pairs), slug, "openai").expect("facts");
            assert_eq!(
                (facts.context_window, facts.supports_reasoning),
                (window, reasoning),
                "{slug}"
            );
            assert!(!facts.instructions.is_empty());
        }
        assert!(model_facts(&config(&[]), "gpt-5.5", "nobody").is_err());
    }
}
