//! What `thread/start` and `thread/resume` share: the answer's shape, the thread's configuration and instruction files.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentd_engine::rollout::ThreadRecord;
use agentd_protocol::methods::thread_start::ThreadStartResponse;
use agentd_protocol::notification::ServerNotification;
use agentd_protocol::turn::Turn;
use serde_json::Value;

use crate::config::Config;
use crate::daemon::Daemon;
use crate::rpc::conn::{ConnHandle, Outgoing};
use crate::rpc::error::RpcError;
use crate::threads::now_ms;
use crate::threads::{Snapshot, prepare, thread_view};
use crate::workspace::instructions::Instructions;

/// The daemon's configuration with a thread's overrides.
pub(super) fn effective_config(daemon: &Daemon, overrides: &BTreeMap<String, Value>) -> Result<Arc<Config>, RpcError> {
    if overrides.is_empty() {
        return Ok(daemon.config.clone());
    }
    let overrides = overrides
        .iter()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    Ok(Arc::new(daemon.config.with_overrides(&overrides)?))
}

/// The configuration that a thread was started with.
pub(super) fn config_of(daemon: &Daemon, record: &ThreadRecord) -> Result<Arc<Config>, RpcError> {
    match &record.config {
        Some(Value::Object(overrides)) if !overrides.is_empty() => {
            Ok(Arc::new(daemon.config.with_overrides(overrides)?))
        }
        _ => Ok(daemon.config.clone()),
    }
}

/// Reads the instruction files of a working directory on the blocking pool.
pub(super) async fn load_instructions(
    daemon: &Daemon,
    config: &Arc<Config>,
    cwd: &str,
) -> Result<Instructions, RpcError> {
    let (home, config, cwd) = (daemon.home.path().to_path_buf(), config.clone(), cwd.to_owned());
    tokio::task::spawn_blocking(move || prepare::instructions(&home, &config, &cwd))
        .await
        .map_err(|error| RpcError::internal(format!("reading instruction files died: {error}")))
}

/// The answer.
pub(super) fn started(snapshot: &Snapshot, instructions: &Instructions, turns: Vec<Turn>) -> ThreadStartResponse {
    let settings = &snapshot.settings;
    let mut thread = thread_view::from_snapshot(snapshot);
    thread.turns = turns;
    ThreadStartResponse {
        thread,
        model: settings.model.clone(),
        model_provider: settings.model_provider.clone(),
        service_tier: settings.service_tier.clone(),
        disabled_plugin_ids: Vec::new(),
        cwd: settings.cwd.clone(),
        runtime_workspace_roots: vec![settings.cwd.clone()],
        instruction_sources: instructions
            .sources
            .iter()
            .map(|path| path.display().to_string())
            .collect(),
        approval_policy: settings.approval_policy,
        approvals_reviewer: settings.approvals_reviewer.clone(),
        sandbox: settings.sandbox_policy.clone(),
        active_permission_profile: None,
        reasoning_effort: settings.effort.clone(),
        multi_agent_mode: "explicitRequestOnly".into(),
    }
}

/// Tells the connection what its user should know about a thread.
pub(super) fn warn(conn: &ConnHandle, thread_id: &str, messages: &[String]) {
    for message in messages {
        let warning = ServerNotification::Warning {
            thread_id: Some(thread_id.to_owned()),
            message: message.clone(),
        };
        conn.send(Outgoing::notification(&warning, now_ms()));
    }
}

/// A thread id as clients must send it.
pub(super) fn checked_id(thread_id: &str) -> Result<(), RpcError> {
    uuid::Uuid::parse_str(thread_id)
        .map(drop)
        .map_err(RpcError::invalid_thread_id)
}

/// A thread whose history is in the store, as it stands in memory; `None` if it is not there.
pub(super) async fn stored_snapshot(
    daemon: &Daemon,
    thread_id: &str,
    method: &str,
) -> Result<Option<Snapshot>, RpcError> {
    // The thread may end between the look-up and its answer; then the store knows it all.
    let snapshot = match daemon.threads.loaded(thread_id) {
        Some(handle) => handle.snapshot().await.ok(),
        None => None,
    };
    match snapshot {
        Some(snapshot) if snapshot.record.ephemeral => {
            let message = format!("ephemeral threads do not support {method}");
            Err(RpcError::invalid_request("ephemeral", message))
        }
        other => Ok(other),
    }
}
