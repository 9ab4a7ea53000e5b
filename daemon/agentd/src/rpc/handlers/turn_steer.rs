//! `turn/steer`: adds input to the turn that the client believes to be running.

use agentd_protocol::methods::turns::{TurnSteerParams, TurnSteerResponse};

use super::thread_session::checked_id;
use crate::rpc::error::RpcError;
use crate::rpc::table::{Answer, Ctx};
use crate::threads::prepare;

pub(super) async fn handle(ctx: Ctx, params: TurnSteerParams) -> Result<Answer<TurnSteerResponse>, RpcError> {
    checked_id(&params.thread_id)?;
    let handle = ctx
        .daemon
        .threads
        .loaded(&params.thread_id)
        .ok_or_else(|| RpcError::thread_not_found(&params.thread_id))?;
    if params.input.is_empty() {
        return Err(RpcError::invalid_request("emptyInput", "input must not be empty"));
    }
    let steer = tokio::task::spawn_blocking(move || prepare::steer(params))
        .await
        .map_err(|error| RpcError::internal(format!("preparing the input died: {error}")))??;
    let (turn_id, queued) = handle.steer(steer).await?;
    Ok(Answer::then(TurnSteerResponse { turn_id }, queued))
}
