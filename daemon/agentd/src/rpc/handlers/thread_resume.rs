//! `thread/resume`: a thread from memory or from the store, with its settings as they were; the connection becomes its
//! subscriber and sees everything from the answer's snapshot on.

use agentd_protocol::methods::thread_start::{ThreadResumeParams, ThreadResumeResponse};

use super::thread_session::{checked_id, effective_config, load_instructions, started, warn};
use crate::config::Config;
use crate::rpc::error::RpcError;
use crate::rpc::table::{Answer, Ctx};
use crate::threads::prepare::{self, Overrides};
use crate::threads::thread_view;

pub(super) async fn handle(ctx: Ctx, params: ThreadResumeParams) -> Result<Answer<ThreadResumeResponse>, RpcError> {
    let daemon = &ctx.daemon;
    checked_id(&params.thread_id)?;
    ctx.opens(&params.thread_id);
    if params.exclude_turns != Some(true) {
        ctx.begin_large().await;
    }
    let handle = daemon.threads.get_or_load(&params.thread_id).await?;
    let config = match &params.config {
        Some(overrides) => effective_config(daemon, overrides)?,
        None => daemon.config.clone(),
    };
    let overrides = overrides(&params, &config);
    if !overrides.is_empty() {
        let settings = overrides.apply(handle.snapshot().await?.settings, &config)?;
        handle.change_settings(settings).await?;
    }
    let (snapshot, queued) = handle.attach(ctx.conn.clone(), false).await?;
    let turns = match params.exclude_turns {
        Some(true) => Vec::new(),
        _ if snapshot.record.ephemeral => snapshot.active_turn.clone().into_iter().collect(),
        _ => thread_view::turns(daemon.threads.store(), Some(&snapshot), &params.thread_id).await?,
    };
    let instructions = load_instructions(daemon, &config, &snapshot.settings.cwd).await?;
    warn(&ctx.conn, &params.thread_id, &instructions.warnings);
    let started = started(&snapshot, &instructions, turns);
    Ok(Answer::then(
        ThreadResumeResponse {
            started,
            initial_turns_page: None,
        },
        queued,
    ))
}

fn overrides(params: &ThreadResumeParams, config: &Config) -> Overrides {
    Overrides {
        cwd: params.cwd.clone(),
        approval_policy: params.approval_policy,
        sandbox_policy: params.sandbox.map(|mode| prepare::sandbox_policy(config, mode)),
        model: params.model.clone(),
        model_provider: params.model_provider.clone(),
        service_tier: params.service_tier.clone(),
        effort: None,
        summary: None,
        personality: params.personality.clone(),
    }
}
