//! The body of a Responses API request.
//!
//! Owns the order of the members: everything that is constant over a thread comes first and `input` comes last, so that
//! one body without its closing `]}` is a literal prefix of the next. Named breaks: another model (its instructions),
//! other reasoning or tier settings, and an output schema, which holds for one turn.

use agentd_protocol::settings::ThreadSettings;
use bytes::Bytes;
use serde_json::Value;

use crate::history::{History, json_string};
use crate::input::ModelFacts;
use crate::tool_specs;

/// What a request is made of besides the history.
pub(crate) struct RequestHead<'a> {
    pub(crate) thread_id: &'a str,
    pub(crate) instructions: &'a str,
    pub(crate) settings: &'a ThreadSettings,
    pub(crate) model: &'a ModelFacts,
    pub(crate) output_schema: Option<&'a Value>,
}

/// The body in pieces; the items share the history's bytes.
pub(crate) fn body(head: &RequestHead<'_>, history: &History) -> Vec<Bytes> {
    let items = history.items();
    let mut pieces = Vec::with_capacity(items.len() * 2 + 2);
    pieces.push(Bytes::from(head_text(head)));
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            pieces.push(Bytes::from_static(b","));
        }
        pieces.push(item.clone());
    }
    pieces.push(Bytes::from_static(b"]}"));
    pieces
}

fn head_text(head: &RequestHead<'_>) -> String {
    let mut text = format!(
        r#"{{"model":{},"stream":true,"store":false,"instructions":{},"tools":{},"tool_choice":"auto","parallel_tool_calls":true"#,
        json_string(&head.settings.model),
        json_string(head.instructions),
        tool_specs::json(),
    );
    push_member(&mut text, "reasoning", reasoning(head.settings, head.model));
    text.push_str(r#","include":["reasoning.encrypted_content"],"prompt_cache_key":"#);
    text.push_str(&json_string(head.thread_id));
    push_member(&mut text, "text", text_options(head.model, head.output_schema));
    push_member(
        &mut text,
        "service_tier",
        head.settings.service_tier.as_deref().map(json_string),
    );
    text.push_str(r#","input":["#);
    text
}

fn push_member(text: &mut String, name: &str, value: Option<String>) {
    if let Some(value) = value {
        text.push_str(&format!(r#","{name}":{value}"#));
    }
}

fn object(members: Vec<(&str, Option<String>)>) -> Option<String> {
    let members: Vec<String> = members
        .into_iter()
        .filter_map(|(name, value)| Some(format!(r#""{name}":{}"#, value?)))
        .collect();
    (!members.is_empty()).then(|| format!("{{{}}}", members.join(",")))
}

fn reasoning(settings: &ThreadSettings, model: &ModelFacts) -> Option<String> {
    if !model.supports_reasoning && settings.effort.is_none() && settings.summary.is_none() {
        return None;
    }
    let effort = settings.effort.as_deref().or(model.default_effort.as_deref());
    let summary = settings.summary.as_deref().filter(|word| *word != "none");
    object(vec![
        ("effort", effort.map(json_string)),
        ("summary", summary.map(json_string)),
    ])
}

fn text_options(model: &ModelFacts, output_schema: Option<&Value>) -> Option<String> {
    let format = output_schema.map(|schema| {
        format!(r#"{{"type":"json_schema","name":"agentd_output_schema","strict":true,"schema":{schema}}}"#)
    });
    object(vec![
        ("verbosity", model.verbosity.as_deref().map(json_string)),
        ("format", format),
    ])
}
