//! `thread/archive`: puts a thread away. What runs in it is stopped first; everybody is told.

use agentd_protocol::methods::Empty;
use agentd_protocol::methods::threads::ThreadIdParams;

use super::thread_session::checked_id;
use crate::rpc::error::RpcError;
use crate::rpc::table::{Answer, Ctx};

pub(super) async fn handle(ctx: Ctx, params: ThreadIdParams) -> Result<Answer<Empty>, RpcError> {
    checked_id(&params.thread_id)?;
    let queued = ctx.daemon.threads.archive(&params.thread_id).await?;
    Ok(Answer::then(Empty {}, queued))
}
