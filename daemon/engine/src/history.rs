//! The model-visible history of a thread: bytes that only ever grow at the end.
//!
//! Owns the exact bytes of every input item and the JSON of the items that the engine writes itself. Items of the model
//! are kept as received; nothing here reprints them.

use std::collections::HashMap;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The input items of the next request, in order.
#[derive(Debug, Default)]
pub(crate) struct History {
    items: Vec<Bytes>,
}

impl History {
    pub(crate) fn push(&mut self, item: &RawValue) {
        self.items.push(Bytes::copy_from_slice(item.get().as_bytes()));
    }

    pub(crate) fn items(&self) -> &[Bytes] {
        &self.items
    }
}

/// How a call has to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallKind {
    /// `function_call`, and `local_shell_call`, which is answered the same way.
    Function,
    /// `custom_tool_call`.
    Custom,
}

impl CallKind {
    /// The kind of call an item of this type is, if it is one.
    pub(crate) fn of_call(item_type: &str) -> Option<Self> {
        match item_type {
            "function_call" | "local_shell_call" => Some(Self::Function),
            "custom_tool_call" => Some(Self::Custom),
            _ => None,
        }
    }

    /// The kind of call an item of this type answers, if it does.
    pub(crate) fn of_output(item_type: &str) -> Option<Self> {
        match item_type {
            "function_call_output" | "local_shell_call_output" => Some(Self::Function),
            "custom_tool_call_output" => Some(Self::Custom),
            _ => None,
        }
    }
}

/// Tells which calls of a history still wait for their output.
#[derive(Debug, Default)]
pub(crate) struct Pairing {
    /// In call order.
    open: Vec<(String, CallKind)>,
    /// How many open calls share a call id (models do repeat them).
    counts: HashMap<String, usize>,
}

#[derive(Deserialize)]
struct ItemHead {
    #[serde(rename = "type", default)]
    kind: Value,
    #[serde(default)]
    call_id: Value,
}

impl Pairing {
    /// Notes one item. `false`: it answers a call that nobody made and must not be sent.
    pub(crate) fn admit(&mut self, item: &RawValue) -> bool {
        let Ok(ItemHead {
            kind: Value::String(kind),
            call_id: Value::String(call_id),
        }) = serde_json::from_str(item.get())
        else {
            return true;
        };
        if let Some(call) = CallKind::of_call(&kind) {
            *self.counts.entry(call_id.clone()).or_default() += 1;
            self.open.push((call_id, call));
            return true;
        }
        if CallKind::of_output(&kind).is_none() {
            return true;
        }
        match self.counts.get_mut(&call_id) {
            Some(count) if *count > 0 => {
                *count -= 1;
                if let Some(at) = self.open.iter().position(|(id, _)| *id == call_id) {
                    self.open.remove(at);
                }
                true
            }
            _ => false,
        }
    }

    /// The calls that nobody answered, in call order.
    pub(crate) fn into_open(self) -> Vec<(String, CallKind)> {
        self.open
    }
}

/// A JSON string literal.
pub(crate) fn json_string(text: &str) -> String {
    Value::from(text).to_string()
}

fn raw(text: String) -> Box<RawValue> {
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// A message of ours made of text parts.
pub(crate) fn text_message(role: &str, parts: &[String]) -> Box<RawValue> {
    let part = |text: &String| format!(r#"{{"type":"input_text","text":{}}}"#, json_string(text));
    let content = parts.iter().map(part).collect::<Vec<_>>().join(",");
    raw(format!(
        r#"{{"type":"message","role":{},"content":[{content}]}}"#,
        json_string(role)
    ))
}

/// A user message whose content parts were made by the caller.
pub(crate) fn user_message(content: &[Box<RawValue>]) -> Box<RawValue> {
    let content = content.iter().map(|part| part.get()).collect::<Vec<_>>().join(",");
    raw(format!(r#"{{"type":"message","role":"user","content":[{content}]}}"#))
}

/// The part of an assistant message that the user saw before the turn was stopped.
pub(crate) fn assistant_message(text: &str) -> Box<RawValue> {
    let text = json_string(text);
    raw(format!(
        r#"{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":{text},"annotations":[]}}]}}"#
    ))
}

/// The answer to a tool call.
pub(crate) fn call_output(kind: CallKind, call_id: &str, output: &str) -> Box<RawValue> {
    let item_type = match kind {
        CallKind::Function => "function_call_output",
        CallKind::Custom => "custom_tool_call_output",
    };
    raw(format!(
        r#"{{"type":"{item_type}","call_id":{},"output":{}}}"#,
        json_string(call_id),
        json_string(output)
    ))
}
