//! What the model service says, and what follows from it.
//!
//! Only finished items enter the history, as the bytes received. Unknown kinds of items are kept there too; they just
//! have no shown item.

use agentd_protocol::notification::ServerNotification;
use agentd_protocol::turn::TurnError;
use agentd_protocol::usage::TokenUsageBreakdown;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::effect::Effect;
use crate::history::CallKind;
use crate::input::{ModelEvent, ModelFailure, RetryAdvice};
use crate::out::Out;
use crate::rollout::{RolloutLine, UsageLine};
use crate::stop::Stop;
use crate::stream::TextKind;
use crate::thread::ThreadState;
use crate::turn::ActiveTurn;

/// First delay before a broken request is sent again; doubles each time.
const RETRY_BASE_MS: u64 = 200;

/// No retry waits longer than this many doublings.
const MAX_RETRY_DOUBLINGS: u32 = 10;

impl ActiveTurn {
    pub(crate) fn on_model_event(
        &mut self,
        thread: &mut ThreadState,
        request: u64,
        event: ModelEvent,
        out: &mut Out<'_, '_>,
    ) {
        if self.request != Some(request) {
            return;
        }
        match event {
            ModelEvent::ItemAdded { item } => self.item_added(thread, &item, out),
            ModelEvent::TextDelta { item_id, delta } => self.message_delta(thread, item_id.as_deref(), delta, out),
            ModelEvent::ReasoningSummaryPartAdded { item_id, summary_index } => {
                self.summary_part_added(thread, item_id.as_deref(), summary_index, out);
            }
            ModelEvent::ReasoningSummaryDelta {
                item_id,
                summary_index,
                delta,
            } => {
                self.summary_delta(thread, item_id.as_deref(), summary_index, delta, out);
            }
            ModelEvent::ReasoningTextDelta {
                item_id,
                content_index,
                delta,
            } => {
                self.reasoning_delta(thread, item_id.as_deref(), content_index, delta, out);
            }
            ModelEvent::ItemDone { item } => self.item_done(thread, item, out),
            ModelEvent::Completed { usage, end_turn } => self.response_completed(thread, usage, end_turn, out),
            ModelEvent::Failed(failure) => self.response_failed(thread, failure, out),
        }
    }

    fn item_added(&mut self, thread: &mut ThreadState, item: &RawValue, out: &mut Out<'_, '_>) {
        let Ok(value) = serde_json::from_str::<Value>(item.get()) else {
            return;
        };
        let kind = match value["type"].as_str() {
            Some("message") => TextKind::Message,
            Some("reasoning") => TextKind::Reasoning,
            _ => return,
        };
        self.open_text(
            thread,
            kind,
            value["id"].as_str(),
            value["phase"].as_str().map(str::to_owned),
            out,
        );
    }

    fn item_done(&mut self, thread: &mut ThreadState, item: Box<RawValue>, out: &mut Out<'_, '_>) {
        let Some(value) = readable(item.get()) else {
            return self.unreadable_item(thread, out);
        };
        let Some(item_type) = value["type"].as_str() else {
            return;
        };
        if let Some(kind) = CallKind::of_call(item_type) {
            return self.call_done(thread, kind, &value, item, out);
        }
        if let Some(why) = unwanted(item_type, &value) {
            return warn(format!("The model sent {why}; it was ignored."), out);
        }
        thread.append_history(&self.id, item, out);
        match item_type {
            "message" => self.text_done(thread, TextKind::Message, &value, out),
            "reasoning" => self.text_done(thread, TextKind::Reasoning, &value, out),
            _ => {}
        }
    }

    /// A finished item that cannot be read may be a call: going on without it would end the turn as if all were well.
    fn unreadable_item(&mut self, thread: &mut ThreadState, out: &mut Out<'_, '_>) {
        if let Some(request) = self.request {
            out.push(Effect::CancelModel { request });
        }
        let failure = ModelFailure {
            message: "the model service sent an item that cannot be read".to_owned(),
            info: json!("other"),
            details: Some("the item is nested too deeply, or a number or text in it is out of range".to_owned()),
            retry: RetryAdvice::Backoff,
        };
        self.response_failed(thread, failure, out);
    }

    fn call_done(
        &mut self,
        thread: &mut ThreadState,
        kind: CallKind,
        value: &Value,
        item: Box<RawValue>,
        out: &mut Out<'_, '_>,
    ) {
        let Some(call_id) = value["call_id"].as_str().filter(|id| !id.is_empty()) else {
            // A call that cannot be answered would make every later request invalid; it never enters the history.
            return warn(
                "The model made a tool call without call_id; it was ignored.".to_owned(),
                out,
            );
        };
        thread.append_history(&self.id, item, out);
        self.follow_up = true;
        self.receive_call(thread, kind, call_id, value, out);
        self.advance(thread, out);
    }

    fn response_completed(
        &mut self,
        thread: &mut ThreadState,
        usage: Option<TokenUsageBreakdown>,
        end_turn: Option<bool>,
        out: &mut Out<'_, '_>,
    ) {
        self.close_stream(out);
        self.request = None;
        self.attempt = 0;
        self.follow_up |= end_turn == Some(false);
        self.report_usage(thread, usage, out);
        self.advance(thread, out);
    }

    fn report_usage(&self, thread: &mut ThreadState, usage: Option<TokenUsageBreakdown>, out: &mut Out<'_, '_>) {
        thread.usage.model_context_window = self.model.context_window;
        if let Some(last) = usage {
            thread.usage.total.add(&last);
            thread.usage.last = last;
            out.append(RolloutLine::Usage(UsageLine {
                turn_id: self.id.clone(),
                usage: thread.usage,
            }));
        }
        let (thread_id, turn_id) = (out.thread_id(), self.id.clone());
        out.emit(ServerNotification::ThreadTokenUsageUpdated {
            thread_id,
            turn_id,
            token_usage: thread.usage,
        });
        out.emit(ServerNotification::AccountRateLimitsUpdated {
            rate_limits: no_rate_limits(),
        });
    }

    fn response_failed(&mut self, thread: &mut ThreadState, failure: ModelFailure, out: &mut Out<'_, '_>) {
        self.close_stream(out);
        self.request = None;
        let delay_ms = match failure.retry {
            RetryAdvice::Never => None,
            RetryAdvice::Backoff => Some(RETRY_BASE_MS << self.attempt.min(MAX_RETRY_DOUBLINGS)),
            RetryAdvice::AfterMs(ms) => Some(ms),
        };
        match delay_ms.filter(|_| self.attempt < self.model.stream_max_retries) {
            Some(delay_ms) => self.retry_later(failure, delay_ms, out),
            None => self.begin_stop(Stop::Failed(turn_error(failure)), out),
        }
        self.advance(thread, out);
    }

    fn retry_later(&mut self, failure: ModelFailure, delay_ms: u64, out: &mut Out<'_, '_>) {
        self.attempt += 1;
        self.retry_delay_ms = Some(delay_ms);
        let message = format!("Reconnecting... {}/{}", self.attempt, self.model.stream_max_retries);
        let details = failure.details.clone().unwrap_or_else(|| failure.message.clone());
        let error = TurnError {
            message,
            additional_details: Some(details),
            ..turn_error(failure)
        };
        self.emit_error(error, true, out);
    }
}

/// What of an item the engine looks at; `None`: it cannot be read. The bytes that are kept are not changed by this.
fn readable(text: &str) -> Option<Value> {
    serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(&without_lone_surrogates(text)))
        .ok()
}

/// Servers do send half a surrogate pair (`\ud83d`) where a text was cut; it stands for no character.
fn without_lone_surrogates(text: &str) -> String {
    let code = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(step) = text[at..].find('\\') {
        clean.push_str(&text[at..at + step]);
        at += step;
        let length = match (code(at), code(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                clean.push_str("\\ufffd");
                at += 6;
                continue;
            }
            (Some(_), _) => 6,
            // A short escape such as `\\n`, or the end of a text that is no JSON.
            (None, _) => text[at..].chars().take(2).map(char::len_utf8).sum(),
        };
        clean.push_str(&text[at..at + length]);
        at += length;
    }
    clean.push_str(&text[at..]);
    clean
}

/// Why an item of the model must not enter the history: a call that we cannot answer would stay without an output, and an
/// output that the model made up would answer twice or nobody. Either would make every later request invalid.
fn unwanted(item_type: &str, item: &Value) -> Option<String> {
    let has_call_id = item["call_id"].as_str().is_some_and(|id| !id.is_empty());
    if CallKind::of_output(item_type).is_some() || (item_type.ends_with("_output") && has_call_id) {
        return Some(format!("a `{item_type}`, which is ours to give"));
    }
    (item_type.ends_with("_call") && has_call_id).then(|| format!("a `{item_type}`, which cannot be answered here"))
}

fn warn(message: String, out: &mut Out<'_, '_>) {
    out.emit(ServerNotification::Warning {
        thread_id: Some(out.thread_id()),
        message,
    });
}

fn turn_error(failure: ModelFailure) -> TurnError {
    TurnError {
        message: failure.message,
        codex_error_info: Some(failure.info).filter(|info| !info.is_null()),
        additional_details: failure.details,
        misalignment: None,
    }
}

/// agentd keeps no account with the model service; clients of the protocol still expect the notification.
fn no_rate_limits() -> Value {
    json!({
        "limitId": "codex",
        "limitName": null,
        "normalModelSlug": null,
        "primary": null,
        "secondary": null,
        "credits": null,
        "individualLimit": null,
        "spendControlReached": null,
        "planType": null,
        "rateLimitReachedType": null,
    })
}
