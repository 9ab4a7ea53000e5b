//! `thread/name/set`: gives a thread a name, whether it is in memory or not; everybody is told.

use agentd_protocol::methods::Empty;
use agentd_protocol::methods::threads::ThreadNameSetParams;

use super::thread_session::checked_id;
use crate::rpc::error::RpcError;
use crate::rpc::table::{Answer, Ctx};

pub(super) async fn handle(ctx: Ctx, params: ThreadNameSetParams) -> Result<Answer<Empty>, RpcError> {
    checked_id(&params.thread_id)?;
    let name = params.name.trim();
    if name.is_empty() {
        return Err(RpcError::invalid_request("emptyName", "thread name must not be empty"));
    }
    let queued = ctx.daemon.threads.set_name(&params.thread_id, name.to_owned()).await?;
    Ok(Answer::then(Empty {}, queued))
}
