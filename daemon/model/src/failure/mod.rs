//! Failures in the words of the protocol: what each trouble is called and whether asking again may help.
//!
//! The table of statuses is here; what a server's own error object means is read in [`api_error`].

mod api_error;
#[cfg(test)]
mod tests;

use std::time::Duration;

use agentd_engine::input::{ModelFailure, RetryAdvice};
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

pub(crate) use api_error::ApiError;
use api_error::Meaning;

use crate::retry;

/// Bodies and messages of servers are cut at this many bytes.
const SHOWN_LIMIT: usize = 2048;

/// An answer, or the lack of one, that may be tried again before anybody hears of it.
pub(crate) struct Refusal {
    /// What to report when no try is left.
    pub(crate) failure: ModelFailure,
    /// Whether another try makes sense.
    pub(crate) again: bool,
    /// The wait that the server asked for.
    pub(crate) wait: Option<Duration>,
}

/// The request cannot even be made.
pub(crate) fn configuration(message: String) -> ModelFailure {
    ModelFailure {
        message,
        info: json!("other"),
        details: None,
        retry: RetryAdvice::Never,
    }
}

/// No HTTP response: refused, unreachable, reset.
pub(crate) fn transport(error: reqwest::Error, shown_url: &str) -> Refusal {
    let never = error.is_builder();
    let failure = ModelFailure {
        message: format!("cannot reach {shown_url}: {}", chain(&error.without_url())),
        info: http_status("httpConnectionFailed", None),
        details: None,
        retry: if never {
            RetryAdvice::Never
        } else {
            RetryAdvice::Backoff
        },
    };
    Refusal {
        failure,
        again: !never,
        wait: None,
    }
}

/// The response ended, or nothing came, before it was complete.
pub(crate) fn disconnected(why: &str) -> ModelFailure {
    let text = format!("stream disconnected before completion: {why}");
    ModelFailure {
        message: text.clone(),
        info: http_status("responseStreamDisconnected", None),
        details: Some(text),
        retry: RetryAdvice::Backoff,
    }
}

/// The response ended with `incomplete`.
pub(crate) fn incomplete(reason: Option<&str>) -> ModelFailure {
    let reason = reason.unwrap_or("unknown");
    let note = if reason == "content_filter" {
        " (the provider's content filter stopped the answer)"
    } else {
        ""
    };
    configuration(format!("Incomplete response returned, reason: {reason}{note}"))
}

/// `response.failed`, or an `error` event that the stream ended with.
pub(crate) fn reported(error: &ApiError) -> ModelFailure {
    let code = error.code.as_deref().or(error.kind.as_deref());
    let said = error.message.as_deref().map(cut).filter(|text| !text.is_empty());
    let (info, retry) = match error.meaning() {
        Meaning::ContextFull => (json!("contextWindowExceeded"), RetryAdvice::Never),
        Meaning::NoCredit => (json!("usageLimitExceeded"), RetryAdvice::Never),
        Meaning::Overloaded => (json!("serverOverloaded"), RetryAdvice::Never),
        Meaning::NoSuchModel => (json!("modelNotFound"), RetryAdvice::Never),
        Meaning::BadRequest => (json!("other"), RetryAdvice::Never),
        Meaning::TooFast => (too_many(429), in_words(said.as_deref())),
        Meaning::ServerError => (json!("internalServerError"), RetryAdvice::Backoff),
        Meaning::Unknown => (json!("other"), RetryAdvice::Backoff),
    };
    let message = match (&said, code) {
        (Some(said), _) => said.clone(),
        (None, Some(code)) => format!("the model service reported `{code}`"),
        (None, None) => "the model service reported a failure without saying which".to_owned(),
    };
    ModelFailure {
        message,
        info,
        details: code.map(|code| format!("code: {code}")),
        retry,
    }
}

/// A response with another status than 2xx.
pub(crate) fn status(status: StatusCode, headers: &HeaderMap, body: &[u8], shown_url: &str, now_ms: i64) -> Refusal {
    let error = ApiError::from_body(body);
    let verdict = Verdict::of(status, &error);
    let wait = retry::server_wait(headers, now_ms);
    let again = verdict.again && retry::server_verdict(headers) != Some(false)
        || verdict.open && retry::server_verdict(headers) == Some(true);
    let advice = match (verdict.later && retry::server_verdict(headers) != Some(false), wait) {
        (false, _) => RetryAdvice::Never,
        (true, Some(wait)) => RetryAdvice::AfterMs(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
        (true, None) => RetryAdvice::Backoff,
    };
    let body = cut(&String::from_utf8_lossy(body));
    let said = error
        .message
        .as_deref()
        .map(cut)
        .filter(|text| !text.is_empty())
        .unwrap_or_else(|| body.clone());
    let message = if verdict.rate_limited {
        format!("exceeded retry limit, last status: {}, url: {shown_url}", named(status))
    } else {
        let said = if said.is_empty() { "(empty body)" } else { &said };
        format!("unexpected status {}: {said}, url: {shown_url}", named(status))
    };
    let details = if verdict.rate_limited { said } else { body };
    let failure = ModelFailure {
        message,
        info: verdict.info,
        details: Some(details).filter(|d| !d.is_empty()),
        retry: advice,
    };
    Refusal { failure, again, wait }
}

/// What a status, together with the server's error, amounts to.
struct Verdict {
    info: Value,
    /// Try again here, silently.
    again: bool,
    /// `x-should-retry: true` may overrule `again`.
    open: bool,
    /// Trying again later may help.
    later: bool,
    rate_limited: bool,
}

impl Verdict {
    fn of(status: StatusCode, error: &ApiError) -> Self {
        let code = status.as_u16();
        let fixed = |info| Self {
            info,
            again: false,
            open: false,
            later: false,
            rate_limited: false,
        };
        let passing = |info| Self {
            info,
            again: true,
            open: true,
            later: true,
            rate_limited: false,
        };
        match (code, error.meaning()) {
            (429 | 402 | 403, Meaning::NoCredit) | (402, _) => fixed(json!("usageLimitExceeded")),
            // Waiting is left to the turn, where the user sees it.
            (429, _) => Self {
                info: too_many(429),
                again: false,
                open: true,
                later: true,
                rate_limited: true,
            },
            (503, Meaning::Overloaded) => Self {
                later: false,
                ..passing(json!("serverOverloaded"))
            },
            (500.., Meaning::ContextFull) => fixed(json!("contextWindowExceeded")),
            (500.., _) => passing(json!("internalServerError")),
            (408 | 409, _) => passing(http_status("httpConnectionFailed", Some(code))),
            (400 | 413 | 422, Meaning::ContextFull) => fixed(json!("contextWindowExceeded")),
            (400 | 404 | 422, Meaning::NoSuchModel) => fixed(json!("modelNotFound")),
            (400 | 422, _) => fixed(json!("other")),
            (401 | 403 | 404, _) => fixed(http_status("httpConnectionFailed", Some(code))),
            _ => Self {
                open: true,
                ..fixed(http_status("httpConnectionFailed", Some(code)))
            },
        }
    }
}

fn too_many(status: u16) -> Value {
    http_status("responseTooManyFailedAttempts", Some(status))
}

fn http_status(kind: &str, status: Option<u16>) -> Value {
    json!({ kind: { "httpStatusCode": status } })
}

fn in_words(message: Option<&str>) -> RetryAdvice {
    match message.and_then(retry::wait_in_words) {
        Some(wait) => RetryAdvice::AfterMs(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
        None => RetryAdvice::Backoff,
    }
}

/// `404 Not Found`; only the number for statuses without a name.
fn named(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_str().to_owned(),
    }
}

fn cut(text: &str) -> String {
    let text = text.trim();
    if text.len() <= SHOWN_LIMIT {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(SHOWN_LIMIT)])
}

/// An error with all its causes, each said once.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        next = cause.source();
    }
    text
}
