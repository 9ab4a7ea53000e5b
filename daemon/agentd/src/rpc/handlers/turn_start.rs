//! `turn/start`: a turn with the user's input; settings given here stick for later turns.

use agentd_protocol::methods::turns::{TurnStartParams, TurnStartResponse};

use super::thread_session::checked_id;
use crate::rpc::error::RpcError;
use crate::rpc::table::{Answer, Ctx};
use crate::threads::prepare::{self, Overrides, TurnInput};

pub(super) async fn handle(ctx: Ctx, params: TurnStartParams) -> Result<Answer<TurnStartResponse>, RpcError> {
    checked_id(&params.thread_id)?;
    let daemon = &ctx.daemon;
    let handle = daemon
        .threads
        .loaded(&params.thread_id)
        .ok_or_else(|| RpcError::thread_not_found(&params.thread_id))?;
    let snapshot = handle.snapshot().await?;
    let config = super::thread_session::config_of(daemon, &snapshot.record)?;
    let (overrides, input) = split(params);
    let settings = overrides.apply(snapshot.settings, &config)?;
    let home = daemon.home.path().to_path_buf();
    let start = tokio::task::spawn_blocking(move || prepare::start_turn(&home, &config, settings, input))
        .await
        .map_err(|error| RpcError::internal(format!("preparing the turn died: {error}")))??;
    let (turn, queued) = handle.start_turn(start).await?;
    Ok(Answer::then(TurnStartResponse { turn }, queued))
}

fn split(params: TurnStartParams) -> (Overrides, TurnInput) {
    let overrides = Overrides {
        cwd: params.cwd,
        approval_policy: params.approval_policy,
        sandbox_policy: params.sandbox_policy,
        model: params.model,
        model_provider: None,
        service_tier: params.service_tier,
        effort: params.effort,
        summary: params.summary,
        personality: params.personality,
    };
    let input = TurnInput {
        input: params.input,
        client_user_message_id: params.client_user_message_id,
        output_schema: params.output_schema.filter(|schema| !schema.is_null()),
    };
    (overrides, input)
}
