//! `thread/fork`: a new thread that begins as another one does; the connection becomes its subscriber.
//!
//! Whatever the request does not say comes from the source: settings, configuration, instructions, name.

use std::collections::BTreeMap;
use std::path::Path;

use agentd_engine::rollout::ThreadRecord;
use agentd_protocol::methods::thread_start::{ThreadForkParams, ThreadStartResponse};
use agentd_protocol::settings::ThreadSettings;
use agentd_store::ForkPoint;
use serde_json::Value;

use super::thread_session::{checked_id, effective_config, load_instructions, started, warn};
use crate::config::Config;
use crate::daemon::Daemon;
use crate::rpc::error::RpcError;
use crate::rpc::table::{Answer, Ctx};
use crate::threads::fork::NewFork;
use crate::threads::now_ms;
use crate::threads::prepare::{self, Overrides};
use crate::threads::thread_view;
use crate::workspace::git;

pub(super) async fn handle(ctx: Ctx, params: ThreadForkParams) -> Result<Answer<ThreadStartResponse>, RpcError> {
    let daemon = &ctx.daemon;
    checked_id(&params.thread_id)?;
    if params.exclude_turns != Some(true) {
        ctx.begin_large().await;
    }
    let source = find_source(daemon, &params.thread_id).await?;
    let overrides = merged_config(&source.record, &params);
    let config = effective_config(daemon, &overrides)?;
    let settings = changes(&params, &config).apply(source.settings, &config)?;
    let instructions = load_instructions(daemon, &config, &settings.cwd).await?;
    let fork = NewFork {
        record: record(ctx.conn.client_name(), source.record, &params, overrides, &settings.cwd),
        settings,
        name: source.name,
        point: ForkPoint {
            source_id: params.thread_id,
            last_turn_id: params.last_turn_id,
        },
    };
    let (handle, shared) = daemon.threads.fork(fork, config).await?;
    let (snapshot, queued) = handle.attach(ctx.conn.clone(), true).await?;
    let turns = match shared {
        _ if params.exclude_turns == Some(true) => Vec::new(),
        Some(shared) => shared,
        None => thread_view::turns(daemon.threads.store(), Some(&snapshot), &snapshot.record.id).await?,
    };
    warn(&ctx.conn, &snapshot.record.id, &instructions.warnings);
    Ok(Answer::then(started(&snapshot, &instructions, turns), queued))
}

/// What a fork takes from its source besides the turns.
struct Source {
    record: ThreadRecord,
    settings: ThreadSettings,
    name: Option<String>,
}

/// The source as it stands in memory, else as it is stored.
async fn find_source(daemon: &Daemon, thread_id: &str) -> Result<Source, RpcError> {
    let row = daemon
        .threads
        .row(thread_id)
        .await?
        .ok_or_else(|| RpcError::no_rollout(thread_id))?;
    if row.archived {
        return Err(RpcError::archived(thread_id));
    }
    Ok(Source {
        record: row.record,
        settings: row.settings,
        name: row.name,
    })
}

fn merged_config(source: &ThreadRecord, params: &ThreadForkParams) -> BTreeMap<String, Value> {
    let mut merged = BTreeMap::new();
    if let Some(Value::Object(config)) = &source.config {
        merged.extend(config.clone());
    }
    merged.extend(params.config.clone().unwrap_or_default());
    merged
}

fn changes(params: &ThreadForkParams, config: &Config) -> Overrides {
    Overrides {
        cwd: params.cwd.clone(),
        approval_policy: params.approval_policy,
        sandbox_policy: params.sandbox.map(|mode| prepare::sandbox_policy(config, mode)),
        model: params.model.clone(),
        model_provider: params.model_provider.clone(),
        service_tier: params.service_tier.clone(),
        ..Overrides::default()
    }
}

fn record(
    originator: &str,
    source: ThreadRecord,
    params: &ThreadForkParams,
    config: BTreeMap<String, Value>,
    cwd: &str,
) -> ThreadRecord {
    ThreadRecord {
        id: uuid::Uuid::now_v7().to_string(),
        created_at_ms: now_ms(),
        originator: originator.to_owned(),
        ephemeral: params.ephemeral.unwrap_or(false),
        forked_from_id: Some(source.id),
        git_info: git::info(Path::new(cwd)),
        config: (!config.is_empty()).then(|| Value::Object(config.into_iter().collect())),
        ..source
    }
}
