//! `thread/loaded/list`: ids of the threads in memory, in order of their start, in pages.

use agentd_protocol::methods::thread_list::{ThreadLoadedListParams, ThreadLoadedListResponse};

use crate::rpc::error::RpcError;
use crate::rpc::table::{Answer, Ctx};

/// Length of a page when the client does not say.
const DEFAULT_LIMIT: usize = 1000;

pub(super) async fn handle(
    ctx: Ctx,
    params: ThreadLoadedListParams,
) -> Result<Answer<ThreadLoadedListResponse>, RpcError> {
    let limit = params.limit.map_or(DEFAULT_LIMIT, |limit| limit.max(1) as usize);
    // The cursor is the last id of the page before; ids are in order, so it needs not exist any more.
    let mut ids = ctx
        .daemon
        .threads
        .loaded_ids()
        .into_iter()
        .filter(|id| params.cursor.as_ref().is_none_or(|after| id > after));
    let data: Vec<String> = ids.by_ref().take(limit).collect();
    let next_cursor = ids.next().and_then(|_| data.last().cloned());
    Ok(Answer::now(ThreadLoadedListResponse { data, next_cursor }))
}
