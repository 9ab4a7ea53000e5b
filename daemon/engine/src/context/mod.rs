//! What the model is told about its surroundings, before the user's words: permissions, developer instructions, user
//! instructions, environment.
//!
//! The first turn tells everything; later turns append only what differs from the stored snapshot, so nothing that was
//! said is ever rewritten.

mod diff;
mod fragments;

use agentd_protocol::settings::ThreadSettings;
use serde_json::value::RawValue;

use crate::history::text_message;
use crate::input::TurnFacts;
use crate::rollout::{ContextSnapshot, ThreadRecord};

/// What there is to tell, if all of it had to be told.
pub(crate) fn snapshot(record: &ThreadRecord, settings: &ThreadSettings, facts: &TurnFacts) -> ContextSnapshot {
    ContextSnapshot {
        permissions: fragments::permissions(settings, facts),
        developer_instructions: record
            .developer_instructions
            .clone()
            .or_else(|| facts.developer_instructions.clone())
            .filter(|text| !text.is_empty()),
        user_instructions: facts.user_instructions.clone().filter(|text| !text.is_empty()),
        environment: facts.environment.clone(),
    }
}

/// The messages that bring the model from `told` to `now`; none if nothing differs.
pub(crate) fn messages(told: Option<&ContextSnapshot>, now: &ContextSnapshot) -> Vec<Box<RawValue>> {
    let diff::Parts { developer, user } = diff::parts(told, now);
    let message = |role: &str, parts: Vec<String>| (!parts.is_empty()).then(|| text_message(role, &parts));
    [message("developer", developer), message("user", user)]
        .into_iter()
        .flatten()
        .collect()
}
