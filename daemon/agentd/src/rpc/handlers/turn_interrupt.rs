//! `turn/interrupt`: stops the running turn; its end arrives as `turn/completed`.

use agentd_protocol::methods::Empty;
use agentd_protocol::methods::turns::TurnInterruptParams;

use super::thread_session::checked_id;
use crate::rpc::error::RpcError;
use crate::rpc::table::{Answer, Ctx};

pub(super) async fn handle(ctx: Ctx, params: TurnInterruptParams) -> Result<Answer<Empty>, RpcError> {
    checked_id(&params.thread_id)?;
    let handle = ctx
        .daemon
        .threads
        .loaded(&params.thread_id)
        .ok_or_else(|| RpcError::thread_not_found(&params.thread_id))?;
    handle.interrupt(params.turn_id).await?;
    Ok(Answer::now(Empty {}))
}
