//! The HTTP clients that all threads share, each built when it is first needed.
//!
//! There are two, because reading the system's certificates takes time and memory and fails on machines that have none:
//! a plain one for `http:` addresses, which knows no certificates, and one for `https:`.

use std::sync::OnceLock;
use std::time::Duration;

use agentd_engine::input::ModelFailure;
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};

use crate::failure;
use crate::provider::Target;

const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Kept connections are closed after this long without a request.
const POOL_IDLE: Duration = Duration::from_secs(60);
/// HTTP/2 only, and only while a response is awaited: notices a peer that is gone.
const PING_EVERY: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(crate) struct Connections {
    plain: OnceLock<Client>,
    tls: OnceLock<Client>,
}

impl Connections {
    /// The client for this target.
    pub(crate) fn client(&self, target: &Target) -> Result<Client, ModelFailure> {
        if target.url.scheme() == "https" {
            kept(&self.tls, base()).map_err(|error| no_certificates(target, &error))
        } else {
            kept(&self.plain, base().tls_certs_only([]))
                .map_err(|error| failure::configuration(format!("cannot set up HTTP: {}", failure::chain(&error))))
        }
    }
}

/// Only success is kept: certificates may be installed while the daemon runs.
fn kept(slot: &OnceLock<Client>, builder: ClientBuilder) -> Result<Client, reqwest::Error> {
    if let Some(client) = slot.get() {
        return Ok(client.clone());
    }
    // A provider that is already installed serves as well; reqwest panics only if there is none.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = builder.build()?;
    Ok(slot.get_or_init(|| client).clone())
}

/// Proxies come from the environment. There is no total limit: a response may stream for hours, and every single wait
/// is bounded by its reader. Redirects are not followed, because they would turn the POST into a GET or carry the key
/// elsewhere.
fn base() -> ClientBuilder {
    Client::builder()
        .connect_timeout(CONNECT_LIMIT)
        .pool_idle_timeout(POOL_IDLE)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(PING_EVERY)
        .http2_keep_alive_timeout(CONNECT_LIMIT)
        .redirect(Policy::none())
}

fn no_certificates(target: &Target, error: &reqwest::Error) -> ModelFailure {
    failure::configuration(format!(
        "cannot set up TLS for {}: {}. Are CA certificates installed (package `ca-certificates`, or SSL_CERT_FILE)?",
        target.shown,
        failure::chain(error)
    ))
}
