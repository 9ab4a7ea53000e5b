//! The data of one stream event, or a whole response object, to model events.
//!
//! Each event is parsed once, and only the members we use; items stay the exact bytes received. What we do not know or
//! cannot parse is skipped, so that newer servers keep working.

use std::borrow::Cow;

use agentd_engine::input::{ModelEvent, ModelFailure};
use agentd_protocol::usage::TokenUsageBreakdown;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::failure::{self, ApiError};

/// Reads the events of one response, in order.
#[derive(Default)]
pub(crate) struct Decoder {
    /// Ids and call ids of items that were done.
    done_ids: Vec<String>,
    done_count: usize,
    last_error: Option<ApiError>,
}

/// Whether more is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Read on.
    Open,
    /// The last event was pushed.
    Ended,
}

#[derive(Deserialize)]
struct StreamEvent<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    delta: Option<String>,
    item_id: Option<String>,
    #[serde(default)]
    summary_index: u32,
    #[serde(default)]
    content_index: u32,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// The members of a response object that we use; each is read leniently on its own.
#[derive(Default, Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    incomplete_details: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    end_turn: Option<&'a RawValue>,
}

impl Decoder {
    /// Takes the data of one event.
    pub(crate) fn event(&mut self, data: &str, out: &mut Vec<ModelEvent>) -> Progress {
        let Ok(event) = serde_json::from_str::<StreamEvent<'_>>(data) else {
            // `[DONE]`, or something that is not ours to understand.
            return Progress::Open;
        };
        match &*event.kind {
            "response.output_text.delta"
            | "response.reasoning_summary_text.delta"
            | "response.reasoning_text.delta"
            | "response.reasoning_summary_part.added" => out.extend(delta(event)),
            "response.output_item.added" => {
                out.extend(event.item.map(|item| ModelEvent::ItemAdded { item: item.to_owned() }))
            }
            "response.output_item.done" => self.item_done(event.item, out),
            "response.completed" => return self.completed(event.response.map_or("{}", RawValue::get), out),
            "response.failed" => return ended(failed(&parsed(event.response)), out),
            "response.incomplete" => return ended(incomplete(&parsed(event.response)), out),
            "error" => self.last_error = Some(ApiError::from_body(data.as_bytes())),
            "" if event.error.is_some() => self.last_error = Some(ApiError::from_body(data.as_bytes())),
            _ => {}
        }
        Progress::Open
    }

    /// Takes a whole response object, as servers send it that do not stream.
    pub(crate) fn whole(&mut self, body: &[u8], out: &mut Vec<ModelEvent>) {
        let text = String::from_utf8_lossy(body);
        let Ok(response) = serde_json::from_str::<Response<'_>>(&text) else {
            out.push(ModelEvent::Failed(failure::disconnected(
                "the body is neither an event stream nor a response",
            )));
            return;
        };
        if response.output.is_none() && word(response.status).is_none() && response.error.is_none() {
            out.push(ModelEvent::Failed(failure::disconnected("the body holds no response")));
            return;
        }
        self.completed(&text, out);
    }

    /// The failure to report for a stream that ended early; an `error` event that came before explains it.
    pub(crate) fn cut_short(&self, why: &str) -> ModelFailure {
        match &self.last_error {
            None => failure::disconnected(why),
            Some(error) => ModelFailure {
                details: Some(failure::disconnected(why).message),
                ..failure::reported(error)
            },
        }
    }

    fn item_done(&mut self, item: Option<&RawValue>, out: &mut Vec<ModelEvent>) {
        let Some(item) = item else { return };
        self.done_count += 1;
        self.done_ids.extend(ids(item));
        out.push(ModelEvent::ItemDone { item: item.to_owned() });
    }

    /// `response.completed`, unless the object itself says that it is not.
    fn completed(&mut self, response: &str, out: &mut Vec<ModelEvent>) -> Progress {
        let parsed: Response<'_> = serde_json::from_str(response).unwrap_or_default();
        self.missing_items(parsed.output, out);
        match word(parsed.status).as_deref() {
            Some("failed" | "cancelled") => return ended(failed(&parsed), out),
            Some("incomplete") => return ended(incomplete(&parsed), out),
            // Proxies say so under any status.
            _ if parsed.error.is_some_and(says_something) => return ended(failed(&parsed), out),
            _ => {}
        }
        out.push(ModelEvent::Completed {
            usage: parsed.usage.and_then(usage),
            end_turn: parsed.end_turn.and_then(|value| serde_json::from_str(value.get()).ok()),
        });
        Progress::Ended
    }

    /// Some servers name items only in the completed response. Others give items new ids there, so the list counts only
    /// if it is longer than what came before.
    fn missing_items(&mut self, output: Option<&RawValue>, out: &mut Vec<ModelEvent>) {
        let items: Vec<&RawValue> = output
            .and_then(|list| serde_json::from_str(list.get()).ok())
            .unwrap_or_default();
        if items.len() <= self.done_count {
            return;
        }
        for (position, item) in items.into_iter().enumerate() {
            let ids = ids(item);
            let known = match ids.is_empty() {
                true => position < self.done_count,
                false => ids.iter().any(|id| self.done_ids.contains(id)),
            };
            if !known {
                out.push(ModelEvent::ItemDone { item: item.to_owned() });
            }
        }
    }
}

fn delta(event: StreamEvent<'_>) -> Option<ModelEvent> {
    let item_id = event.item_id;
    let (summary_index, content_index) = (event.summary_index, event.content_index);
    if event.kind == "response.reasoning_summary_part.added" {
        return Some(ModelEvent::ReasoningSummaryPartAdded { item_id, summary_index });
    }
    let delta = event.delta?;
    Some(match &*event.kind {
        "response.output_text.delta" => ModelEvent::TextDelta { item_id, delta },
        "response.reasoning_summary_text.delta" => ModelEvent::ReasoningSummaryDelta {
            item_id,
            summary_index,
            delta,
        },
        _ => ModelEvent::ReasoningTextDelta {
            item_id,
            content_index,
            delta,
        },
    })
}

fn ended(failure: ModelFailure, out: &mut Vec<ModelEvent>) -> Progress {
    out.push(ModelEvent::Failed(failure));
    Progress::Ended
}

fn failed(response: &Response<'_>) -> ModelFailure {
    let error: Option<Value> = response.error.and_then(|raw| serde_json::from_str(raw.get()).ok());
    failure::reported(&error.as_ref().map(ApiError::from_value).unwrap_or_default())
}

fn incomplete(response: &Response<'_>) -> ModelFailure {
    let details: Option<Value> = response
        .incomplete_details
        .and_then(|raw| serde_json::from_str(raw.get()).ok());
    failure::incomplete(details.as_ref().and_then(|details| details.get("reason")?.as_str()))
}

fn parsed(response: Option<&RawValue>) -> Response<'_> {
    response
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default()
}

/// Whether an `error` member is more than an empty place.
fn says_something(error: &RawValue) -> bool {
    !matches!(error.get(), "null" | "{}" | "\"\"" | "false")
}

fn word(raw: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(raw?.get()).ok()
}

/// `id` and `call_id`, as far as there are any.
fn ids(item: &RawValue) -> Vec<String> {
    #[derive(Deserialize)]
    struct Ids {
        id: Option<Value>,
        call_id: Option<Value>,
    }
    let Ok(ids) = serde_json::from_str::<Ids>(item.get()) else {
        return Vec::new();
    };
    [ids.id, ids.call_id]
        .into_iter()
        .flatten()
        .filter_map(|id| Some(id.as_str()?.to_owned()))
        .collect()
}

/// All counts are optional, and so are the details around them.
fn usage(raw: &RawValue) -> Option<TokenUsageBreakdown> {
    let value: Value = serde_json::from_str(raw.get()).ok()?;
    let count = |path: &str| {
        value
            .pointer(path)
            .and_then(|n| n.as_i64().or_else(|| n.as_f64().map(|f| f as i64)))
    };
    let (input, output) = (count("/input_tokens"), count("/output_tokens"));
    let total = count("/total_tokens");
    // Without any count there is no usage.
    input.or(output).or(total)?;
    let (input_tokens, output_tokens) = (input.unwrap_or(0), output.unwrap_or(0));
    Some(TokenUsageBreakdown {
        total_tokens: total.unwrap_or_else(|| input_tokens.saturating_add(output_tokens)),
        input_tokens,
        cached_input_tokens: count("/input_tokens_details/cached_tokens").unwrap_or(0),
        cache_write_input_tokens: count("/input_tokens_details/cache_write_tokens").unwrap_or(0),
        output_tokens,
        reasoning_output_tokens: count("/output_tokens_details/reasoning_tokens").unwrap_or(0),
    })
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
