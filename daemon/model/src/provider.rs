//! What a provider is, and the address and headers of a request to it.
//!
//! All secrets enter here. None of them may show up in `Debug` output, logs or failure messages.

use std::fmt;
use std::time::Duration;

use agentd_engine::input::ModelFailure;
use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};

use crate::failure;

/// Text that must not be printed. `Debug` shows a placeholder.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret; white space around it (a newline from a file) is dropped.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into().trim().to_owned())
    }

    /// The secret itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A service that speaks the Responses API.
#[derive(Clone)]
pub struct Provider {
    /// Key under `[model_providers]`.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// Address up to, not including, `/responses`.
    pub base_url: String,
    /// Sent as `Authorization: Bearer …`.
    pub api_key: Option<Secret>,
    /// Further headers; those whose value comes from the environment are already resolved. They win over our own.
    pub http_headers: Vec<(String, String)>,
    /// Query parameters added to the address.
    pub query_params: Vec<(String, String)>,
    /// How often a request that got no usable answer is sent again, silently.
    pub request_max_retries: u32,
    /// Longest wait for the response headers, for the first event, and between two events.
    pub stream_idle_timeout: Duration,
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &[(String, String)]| pairs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        f.debug_struct("Provider")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("base_url", &shown(&self.base_url))
            .field("api_key", &self.api_key)
            .field("http_headers", &names(&self.http_headers))
            .field("query_params", &names(&self.query_params))
            .field("request_max_retries", &self.request_max_retries)
            .field("stream_idle_timeout", &self.stream_idle_timeout)
            .finish()
    }
}

/// Who asks; becomes headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestContext {
    /// Thread id; sent as `thread-id`, `session-id` and `x-client-request-id`.
    pub thread_id: String,
    /// Turn id; for logs.
    pub turn_id: String,
    /// `clientInfo.name` of the client that started the thread.
    pub originator: String,
    /// `User-Agent`.
    pub user_agent: String,
}

/// Address and headers of one request; the same for every try.
pub(crate) struct Target {
    /// Where to.
    pub(crate) url: Url,
    /// `url` without user, password, query and fragment.
    pub(crate) shown: String,
    /// All headers but `Content-Length`.
    pub(crate) headers: HeaderMap,
}

impl Target {
    /// Fails, without retry, if the configuration cannot be turned into a request.
    pub(crate) fn new(provider: &Provider, ctx: &RequestContext) -> Result<Self, ModelFailure> {
        let url = address(provider)?;
        let shown = shown(url.as_str());
        Ok(Self {
            headers: headers(provider, ctx)?,
            url,
            shown,
        })
    }
}

fn address(provider: &Provider) -> Result<Url, ModelFailure> {
    let bad = |why: &str| {
        let base = shown(&provider.base_url);
        failure::configuration(format!("provider `{}`: base_url `{base}` {why}", provider.id))
    };
    let mut url = Url::parse(provider.base_url.trim()).map_err(|error| bad(&format!("is not an address: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("must begin with http:// or https://"));
    }
    match url.path_segments_mut() {
        Ok(mut segments) => {
            segments.pop_if_empty().push("responses");
        }
        Err(()) => return Err(bad("cannot hold a path")),
    }
    if !provider.query_params.is_empty() {
        url.query_pairs_mut().extend_pairs(&provider.query_params);
    }
    Ok(url)
}

fn headers(provider: &Provider, ctx: &RequestContext) -> Result<HeaderMap, ModelFailure> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, lenient(&ctx.user_agent));
    headers.insert("originator", lenient(&ctx.originator));
    for name in ["session-id", "thread-id", "x-client-request-id"] {
        headers.insert(name, lenient(&ctx.thread_id));
    }
    let bad = |what: &str| {
        failure::configuration(format!(
            "provider `{}`: {what} holds characters that no header may hold",
            provider.id
        ))
    };
    if let Some(key) = provider.api_key.as_ref().filter(|key| !key.expose().is_empty()) {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose())).map_err(|_| bad("the API key"))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    for (name, value) in &provider.http_headers {
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad(&format!("the header name `{name}`")))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| bad(&format!("the value of header `{name}`")))?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

/// Clients choose these texts, so a character that does not fit is replaced rather than refused.
fn lenient(text: &str) -> HeaderValue {
    let fit: String = text
        .chars()
        .map(|c| if c == ' ' || c.is_ascii_graphic() { c } else { '_' })
        .collect();
    HeaderValue::from_str(&fit).unwrap_or_else(|_| HeaderValue::from_static("unknown"))
}

/// An address as people may see it.
fn shown(address: &str) -> String {
    let Ok(mut url) = Url::parse(address.trim()) else {
        return address.split(['?', '#']).next().unwrap_or_default().to_owned();
    };
    // Both fail only for addresses that hold no user and no password.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(base_url: &str) -> Provider {
        Provider {
            id: "p".into(),
            name: "P".into(),
            base_url: base_url.into(),
            api_key: Some(Secret::new("sk-secret\n")),
            http_headers: vec![("X-Team".into(), "hidden".into()), ("originator".into(), "mine".into())],
            query_params: vec![("api-version".into(), "v 1".into())],
            request_max_retries: 0,
            stream_idle_timeout: Duration::from_secs(1),
        }
    }

    #[test]
    fn addresses() {
        let table = [
            ("http://h/v1", "http://h/v1/responses?api-version=v+1"),
            ("http://h/v1/", "http://h/v1/responses?api-version=v+1"),
            ("http://h", "http://h/responses?api-version=v+1"),
            (
                "https://u:p@h:1/a?key=k",
                "https://u:p@h:1/a/responses?key=k&api-version=v+1",
            ),
        ];
        for (base, want) in table {
            let target = Target::new(&provider(base), &RequestContext::default()).unwrap();
            assert_eq!(target.url.as_str(), want, "{base}");
            assert!(!target.shown.contains(['?', '@']), "{}", target.shown);
        }
        for base in ["", "h/v1", "ftp://h", "mailto:a@b"] {
            assert!(
                Target::new(&provider(base), &RequestContext::default()).is_err(),
                "{base}"
            );
        }
    }

    #[test]
    fn headers_come_from_context_and_provider() {
        let ctx = RequestContext {
            thread_id: "t1".into(),
            originator: "edi\ntor".into(),
            user_agent: "ä/1".into(),
            ..RequestContext::default()
        };
        let headers = headers(&provider("http://h"), &ctx).unwrap();
        let table = [
            ("authorization", "Bearer sk-secret"),
            ("accept", "text/event-stream"),
            ("content-type", "application/json"),
            ("originator", "mine"),
            ("user-agent", "_/1"),
            ("session-id", "t1"),
            ("thread-id", "t1"),
            ("x-client-request-id", "t1"),
            ("x-team", "hidden"),
        ];
        for (name, want) in table {
            assert_eq!(headers[name], want, "{name}");
        }
    }

    #[test]
    fn a_bad_header_is_named_without_its_value() {
        let mut bad = provider("http://h");
        bad.http_headers = vec![("x-a".into(), "top\nsecret".into())];
        let message = Target::new(&bad, &RequestContext::default()).err().unwrap().message;
        assert!(message.contains("x-a") && !message.contains("secret"), "{message}");
    }

    #[test]
    fn debug_shows_no_secret() {
        let text = format!("{:?}", provider("http://u:pass@h?k=query"));
        for secret in ["sk-secret", "hidden", "pass", "query", "v 1"] {
            assert!(
                !text.contains(&format!("{secret}\"")) && !text.contains(&format!(":{secret}@")),
                "{text}"
            );
        }
        assert!(text.contains("X-Team"));
    }
}
