//! The error objects of model services, in the many spellings that are seen, and what they mean.

use serde::Deserialize;
use serde_json::Value;

/// `{code, type, message}` of an error; everything is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ApiError {
    /// `code`, text or number.
    pub(crate) code: Option<String>,
    /// `type`.
    pub(crate) kind: Option<String>,
    /// `message`.
    pub(crate) message: Option<String>,
}

/// What an error means for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    ContextFull,
    NoCredit,
    Overloaded,
    NoSuchModel,
    TooFast,
    /// The request itself is wrong or not allowed.
    BadRequest,
    ServerError,
    Unknown,
}

/// Codes and types, as whole words.
const WORDS: &[(&str, Meaning)] = &[
    ("context_length_exceeded", Meaning::ContextFull),
    ("exceed_context_size_error", Meaning::ContextFull),
    ("context_window_exceeded", Meaning::ContextFull),
    ("insufficient_quota", Meaning::NoCredit),
    ("usage_limit_reached", Meaning::NoCredit),
    ("usage_not_included", Meaning::NoCredit),
    ("billing_hard_limit_reached", Meaning::NoCredit),
    ("server_is_overloaded", Meaning::Overloaded),
    ("overloaded_error", Meaning::Overloaded),
    ("slow_down", Meaning::Overloaded),
    ("model_not_found", Meaning::NoSuchModel),
    ("rate_limit_exceeded", Meaning::TooFast),
    ("too_many_requests", Meaning::TooFast),
    ("invalid_prompt", Meaning::BadRequest),
    ("data_residency_mismatch", Meaning::BadRequest),
    ("bio_policy", Meaning::BadRequest),
    ("cyber_policy", Meaning::BadRequest),
    ("misalignment_policy_violation", Meaning::BadRequest),
    ("invalid_image", Meaning::BadRequest),
    ("invalid_image_format", Meaning::BadRequest),
    ("invalid_base64_image", Meaning::BadRequest),
    ("invalid_image_url", Meaning::BadRequest),
    ("image_too_large", Meaning::BadRequest),
    ("image_too_small", Meaning::BadRequest),
    ("image_parse_error", Meaning::BadRequest),
    ("image_content_policy_violation", Meaning::BadRequest),
    ("invalid_image_mode", Meaning::BadRequest),
    ("image_file_too_large", Meaning::BadRequest),
    ("unsupported_image_media_type", Meaning::BadRequest),
    ("empty_image_file", Meaning::BadRequest),
    ("image_file_not_found", Meaning::BadRequest),
    ("server_error", Meaning::ServerError),
    ("model_error", Meaning::ServerError),
    ("internal_server_error", Meaning::ServerError),
];

/// Parts of messages, for servers that give no telling code. Lower case.
const PHRASES: &[(&str, Meaning)] = &[
    ("context_length_exceeded", Meaning::ContextFull),
    ("exceeds the available context size", Meaning::ContextFull),
    ("exceeds the context window", Meaning::ContextFull),
    ("maximum context length", Meaning::ContextFull),
    ("prompt is too long", Meaning::ContextFull),
    ("input is too long", Meaning::ContextFull),
    ("invalid model name", Meaning::NoSuchModel),
];

impl ApiError {
    /// Reads the body of a response that is not a success.
    pub(crate) fn from_body(body: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => Self::from_value(&value),
            Err(_) => Self::default(),
        }
    }

    /// Reads `{"error": {…}}`, `{"error": "text"}`, `{"detail": "text"}`, or the error object itself.
    pub(crate) fn from_value(value: &Value) -> Self {
        if let Value::String(text) = value {
            return Self {
                message: Some(text.clone()),
                ..Self::default()
            };
        }
        match value
            .get("error")
            .filter(|inner| inner.is_object() || inner.is_string())
        {
            Some(inner) => Self::from_value(inner),
            None => Self {
                code: text(value, "code"),
                kind: text(value, "type"),
                message: text(value, "message").or_else(|| text(value, "detail")),
            },
        }
    }

    /// The code decides, then the type, then the wording.
    pub(crate) fn meaning(&self) -> Meaning {
        let word = |text: &Option<String>| {
            let text = text.as_deref()?;
            WORDS
                .iter()
                .find(|(word, _)| *word == text)
                .map(|(_, meaning)| *meaning)
        };
        let by_kind = word(&self.kind);
        word(&self.code)
            // A broad type says less than a telling message.
            .or(by_kind.filter(|meaning| *meaning != Meaning::ServerError))
            .or_else(|| self.by_wording())
            .or(by_kind)
            .unwrap_or(Meaning::Unknown)
    }

    fn by_wording(&self) -> Option<Meaning> {
        let message = self.message.as_deref()?.to_lowercase();
        if let Some((_, meaning)) = PHRASES.iter().find(|(phrase, _)| message.contains(phrase)) {
            return Some(*meaning);
        }
        let names_model = message.contains("model `") || message.contains("model '") || message.contains("model \"");
        let missing = message.contains("not found") || message.contains("does not exist");
        (names_model && missing).then_some(Meaning::NoSuchModel)
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Text(String),
        Number(serde_json::Number),
    }
    match Either::deserialize(value.get(key)?).ok()? {
        Either::Text(text) => Some(text),
        Either::Number(number) => Some(number.to_string()),
    }
}
