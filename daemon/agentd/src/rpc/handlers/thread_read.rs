//! `thread/read`: a thread with or without its turns; does not load it.

use agentd_protocol::methods::threads::{ThreadReadParams, ThreadReadResponse};
use agentd_protocol::thread::ThreadStatus;

use super::thread_session::checked_id;
use crate::rpc::error::RpcError;
use crate::rpc::table::{Answer, Ctx};
use crate::threads::registry::blocking;
use crate::threads::thread_view;

pub(super) async fn handle(ctx: Ctx, params: ThreadReadParams) -> Result<Answer<ThreadReadResponse>, RpcError> {
    checked_id(&params.thread_id)?;
    if params.include_turns == Some(true) {
        ctx.begin_large().await;
    }
    let threads = &ctx.daemon.threads;
    // The thread may end between the look-up and its answer; then it is read from the store.
    let snapshot = match threads.loaded(&params.thread_id) {
        Some(handle) => handle.snapshot().await.ok(),
        None => None,
    };
    let mut thread = match &snapshot {
        Some(snapshot) => thread_view::from_snapshot(snapshot),
        None => {
            let (store, id) = (threads.store().clone(), params.thread_id.clone());
            let row = blocking(move || store.thread(&id)).await?;
            let row = row.ok_or_else(|| RpcError::thread_not_loaded(&params.thread_id))?;
            thread_view::from_row(row, ThreadStatus::NotLoaded)
        }
    };
    if params.include_turns == Some(true) {
        if thread.ephemeral {
            return Err(RpcError::invalid_request(
                "ephemeral",
                "ephemeral threads do not support includeTurns",
            ));
        }
        thread.turns = thread_view::turns(threads.store(), snapshot.as_ref(), &params.thread_id).await?;
    }
    Ok(Answer::now(ThreadReadResponse {
        thread,
        read_state: None,
    }))
}
