//! `thread/unsubscribe`: this connection hears no more of the thread's turns and items. The thread goes on.

use agentd_protocol::methods::threads::{ThreadIdParams, ThreadUnsubscribeResponse};

use super::thread_session::checked_id;
use crate::rpc::error::RpcError;
use crate::rpc::table::{Answer, Ctx};

pub(super) async fn handle(ctx: Ctx, params: ThreadIdParams) -> Result<Answer<ThreadUnsubscribeResponse>, RpcError> {
    checked_id(&params.thread_id)?;
    let threads = &ctx.daemon.threads;
    match threads.loaded(&params.thread_id) {
        // A thread that ends meanwhile has no subscribers any more.
        Some(handle) => drop(handle.detach(ctx.conn.id()).await),
        None if threads.exists(&params.thread_id).await? => {}
        None => return Err(RpcError::thread_not_found(&params.thread_id)),
    }
    Ok(Answer::now(ThreadUnsubscribeResponse {
        status: "unsubscribed".into(),
    }))
}
