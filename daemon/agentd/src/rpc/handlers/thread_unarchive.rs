//! `thread/unarchive`: brings a thread back into the list. It is not loaded; everybody is told.

use agentd_protocol::methods::threads::{ThreadIdParams, ThreadResponse};
use agentd_protocol::thread::ThreadStatus;

use super::thread_session::checked_id;
use crate::rpc::error::RpcError;
use crate::rpc::table::{Answer, Ctx};
use crate::threads::thread_view;

pub(super) async fn handle(ctx: Ctx, params: ThreadIdParams) -> Result<Answer<ThreadResponse>, RpcError> {
    checked_id(&params.thread_id)?;
    let (row, queued) = ctx.daemon.threads.unarchive(&params.thread_id).await?;
    let thread = thread_view::from_row(row, ThreadStatus::NotLoaded);
    Ok(Answer::then(ThreadResponse { thread }, queued))
}
