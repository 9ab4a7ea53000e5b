//! `thread/start`: a new thread with its settings; the connection becomes its subscriber.
//!
//! Starting a thread never trusts a folder and reads nothing of it but instruction files and git facts.

use std::path::Path;
use std::sync::Arc;

use agentd_engine::rollout::ThreadRecord;
use agentd_protocol::methods::thread_start::{ThreadStartParams, ThreadStartResponse};
use serde_json::Value;

use super::thread_session::{effective_config, load_instructions, started, warn};
use crate::rpc::error::RpcError;
use crate::rpc::table::{Answer, Ctx};
use crate::threads::now_ms;
use crate::threads::prepare::{self, Overrides};
use crate::workspace::git;

pub(super) async fn handle(ctx: Ctx, params: ThreadStartParams) -> Result<Answer<ThreadStartResponse>, RpcError> {
    let daemon = &ctx.daemon;
    let config = match &params.config {
        Some(overrides) => effective_config(daemon, overrides)?,
        None => daemon.config.clone(),
    };
    let overrides = Overrides {
        cwd: params.cwd.clone(),
        approval_policy: params.approval_policy,
        sandbox_policy: params.sandbox.map(|mode| prepare::sandbox_policy(&config, mode)),
        model: params.model.clone(),
        model_provider: params.model_provider.clone(),
        service_tier: params.service_tier.clone(),
        effort: None,
        summary: None,
        personality: params.personality.clone(),
    };
    let settings = overrides.apply(prepare::default_settings(&config)?, &config)?;
    let instructions = load_instructions(daemon, &config, &settings.cwd).await?;
    let record = record(ctx.conn.client_name(), params, &settings.cwd);
    let handle = daemon.threads.start(record, settings, Arc::clone(&config)).await?;
    let (snapshot, queued) = handle.attach(ctx.conn.clone(), true).await?;
    warn(&ctx.conn, &snapshot.record.id, &instructions.warnings);
    if !Path::new(&snapshot.settings.cwd).exists() {
        let message = format!("the working directory does not exist: {}", snapshot.settings.cwd);
        warn(&ctx.conn, &snapshot.record.id, &[message]);
    }
    Ok(Answer::then(started(&snapshot, &instructions, Vec::new()), queued))
}

fn record(originator: &str, params: ThreadStartParams, cwd: &str) -> ThreadRecord {
    ThreadRecord {
        id: uuid::Uuid::now_v7().to_string(),
        created_at_ms: now_ms(),
        originator: originator.to_owned(),
        source: "vscode".into(),
        thread_source: params.thread_source,
        ephemeral: params.ephemeral.unwrap_or(false),
        forked_from_id: None,
        base_instructions: params.base_instructions,
        developer_instructions: params.developer_instructions,
        git_info: git::info(Path::new(cwd)),
        config: params
            .config
            .map(|overrides| Value::Object(overrides.into_iter().collect())),
    }
}
