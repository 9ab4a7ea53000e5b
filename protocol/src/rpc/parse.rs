//! From bytes to [`Message`]. Everything a peer can send ends in one of its variants; nothing here panics, recurses with
//! the depth of the input or copies params.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{Dialect, Envelope, ErrorObject, INTERNAL_ERROR, INVALID_REQUEST, Message, PARSE_ERROR, RequestId};

/// Deepest nesting of arrays and objects in a message, the message itself included. It is the limit that serde_json has
/// for whole values; raw values are skipped without one, so it is held here.
pub const MAX_DEPTH: usize = 128;

/// The members that matter, each `None` if absent and the text `null` if null.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Members<'a> {
    #[serde(borrow, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads one message. White space around it is allowed, a second message after it is not.
pub fn parse(bytes: &[u8]) -> Envelope<'_> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return bare(not_json("message is not UTF-8"));
    };
    let members = match serde_json::from_str::<Members<'_>>(text) {
        Ok(members) => members,
        Err(error) => return bare(unreadable(text, &error)),
    };
    let versioned = members.jsonrpc.is_some_and(|version| version.get() == "\"2.0\"");
    let dialect = if versioned { Dialect::Versioned } else { Dialect::Bare };
    let message = match check_text(text) {
        Ok(()) => classify(&members),
        Err(problem) => not_a_request(request_id(&members), problem),
    };
    Envelope { dialect, message }
}

fn classify<'a>(members: &Members<'a>) -> Message<'a> {
    let Some(method) = members.method else {
        return classify_answer(members);
    };
    let id = request_id(members);
    let Ok(method) = serde_json::from_str::<Text<'a>>(method.get()) else {
        return not_a_request(id, "method is not a string");
    };
    let params = members.params;
    match (members.id, id) {
        (None, _) => Message::Notification {
            method: method.0,
            params,
        },
        (Some(_), Some(id)) => Message::Request {
            id,
            method: method.0,
            params,
        },
        (Some(_), None) => not_a_request(None, "id is neither a string nor an integer"),
    }
}

fn classify_answer<'a>(members: &Members<'a>) -> Message<'a> {
    let id = request_id(members);
    // Some peers send `"error":null` with a result.
    let error = members.error.filter(|error| error.get() != "null");
    match (error, members.result) {
        (Some(error), _) => Message::Response {
            id,
            outcome: Err(error_object(error)),
        },
        (None, Some(result)) => Message::Response {
            id,
            outcome: Ok(result),
        },
        (None, None) => not_a_request(id, "missing field `method`"),
    }
}

/// A string that is borrowed where it has no escapes; a plain `Cow` would always be copied.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

fn request_id(members: &Members<'_>) -> Option<RequestId> {
    members.id.and_then(|id| RequestId::from_json(id.get()))
}

fn error_object(raw: &RawValue) -> ErrorObject {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| ErrorObject {
        code: INTERNAL_ERROR,
        message: raw.get().to_owned(),
        data: None,
    })
}

fn unreadable<'a>(text: &str, error: &serde_json::Error) -> Message<'a> {
    // A value of the wrong type is reported before the rest of the text was looked at.
    let is_json = error.is_data() && serde_json::from_str::<IgnoredAny>(text).is_ok();
    match is_json {
        true => not_a_request(None, &error.to_string()),
        false => not_json(&error.to_string()),
    }
}

fn not_json<'a>(problem: &str) -> Message<'a> {
    Message::Invalid {
        id: None,
        error: ErrorObject::new(PARSE_ERROR, "parseError", format!("Parse error: {problem}")),
    }
}

fn not_a_request<'a>(id: Option<RequestId>, problem: &str) -> Message<'a> {
    let error = ErrorObject::new(INVALID_REQUEST, "invalidRequest", format!("Invalid request: {problem}"));
    Message::Invalid { id, error }
}

fn bare(message: Message<'_>) -> Envelope<'_> {
    Envelope {
        dialect: Dialect::Bare,
        message,
    }
}

/// Refuses what a raw value lets through but no later step can hold: deep nesting and halves of surrogate pairs.
///
/// The text must already be known to be JSON.
fn check_text(text: &str) -> Result<(), &'static str> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut in_string) = (0, 0_usize, false);
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => in_string = !in_string,
            b'\\' => at = after_escape(bytes, at)?,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err("nested too deeply");
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

/// Where the escape ends whose backslash stands before `at`.
fn after_escape(bytes: &[u8], at: usize) -> Result<usize, &'static str> {
    const HALF: &str = "a string holds one half of a surrogate pair";
    if bytes.get(at) != Some(&b'u') {
        return Ok(at + 1);
    }
    match code_unit(bytes, at + 1) {
        Some(0xD800..=0xDBFF) => {
            let pair = bytes.get(at + 5) == Some(&b'\\')
                && bytes.get(at + 6) == Some(&b'u')
                && matches!(code_unit(bytes, at + 7), Some(0xDC00..=0xDFFF));
            if pair { Ok(at + 11) } else { Err(HALF) }
        }
        Some(0xDC00..=0xDFFF) => Err(HALF),
        _ => Ok(at + 5),
    }
}

fn code_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = std::str::from_utf8(bytes.get(at..at + 4)?).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
