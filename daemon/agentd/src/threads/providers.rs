//! Provider ids to endpoints: resolves configuration, environment and the built-in rehearsal into what the model crate needs.

use std::time::Duration;

use agentd_model::{Provider, Secret};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Config;
use crate::rehearsal::Rehearsal;

/// Id of the built-in scripted provider.
pub const REHEARSAL: &str = "rehearsal";

/// Knows how to reach providers; starts the rehearsal's server when it is first asked for.
pub struct Providers {
    tracker: TaskTracker,
    shutdown: CancellationToken,
    rehearsal: OnceCell<Rehearsal>,
}

impl Providers {
    /// Starts nothing yet. `tracker` will own the rehearsal's tasks, `shutdown` ends them.
    pub fn new(tracker: TaskTracker, shutdown: CancellationToken) -> Self {
        Self {
            tracker,
            shutdown,
            rehearsal: OnceCell::new(),
        }
    }

    /// The endpoint of a provider. `Err` is a text for the user that says what to do.
    pub async fn resolve(&self, config: &Config, id: &str) -> Result<Provider, String> {
        let entry = config
            .provider(id)
            .ok_or_else(|| format!("Model provider `{id}` not found"))?;
        let base_url = if id == REHEARSAL {
            let started = self
                .rehearsal
                .get_or_try_init(|| Rehearsal::start(&self.tracker, self.shutdown.clone()))
                .await;
            started
                .map_err(|error| format!("the rehearsal server cannot be started: {error}"))?
                .base_url()
        } else {
            entry.base_url.clone()
        };
        let api_key = match &entry.env_key {
            Some(variable) => Some(read_key(id, variable)?),
            None => None,
        };
        let mut http_headers: Vec<(String, String)> = entry
            .http_headers
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        for (name, variable) in &entry.env_http_headers {
            // As people know it from Codex: a header whose variable is not set is left out.
            http_headers.extend(
                std::env::var(variable)
                    .ok()
                    .filter(|v| !v.is_empty())
                    .map(|value| (name.clone(), value)),
            );
        }
        Ok(Provider {
            id: id.to_owned(),
            name: entry.name.clone(),
            base_url,
            api_key,
            http_headers,
            query_params: entry.query_params.iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
            request_max_retries: entry.request_max_retries,
            stream_idle_timeout: Duration::from_millis(entry.stream_idle_timeout_ms),
        })
    }
}

fn read_key(provider: &str, variable: &str) -> Result<Secret, String> {
    match std::env::var(variable) {
        Ok(key) if !key.trim().is_empty() => Ok(Secret::new(key)),
        _ => Err(format!(
            "Missing environment variable: `{variable}` (provider `{provider}` takes its API key from it)"
        )),
    }
}
