//! `thread/turns/list`: the turns of a thread in pages, loaded or not; the running one as it stands in memory.

use agentd_protocol::methods::thread_list::{SortDirection, ThreadTurnsListParams, ThreadTurnsListResponse};
use agentd_protocol::turn::ItemsView;
use agentd_store::PageQuery;

use super::thread_session::{checked_id, stored_snapshot};
use crate::rpc::error::RpcError;
use crate::rpc::table::{Answer, Ctx};
use crate::threads::registry::blocking;
use crate::threads::thread_view;

pub(super) async fn handle(
    ctx: Ctx,
    params: ThreadTurnsListParams,
) -> Result<Answer<ThreadTurnsListResponse>, RpcError> {
    checked_id(&params.thread_id)?;
    ctx.begin_large().await;
    let snapshot = stored_snapshot(&ctx.daemon, &params.thread_id, "thread/turns/list").await?;
    let view = params.items_view.unwrap_or(ItemsView::Summary);
    let query = PageQuery {
        cursor: params.cursor,
        limit: params.limit.map_or(0, |limit| limit as usize),
        direction: match params.sort_direction {
            Some(SortDirection::Asc) => agentd_store::SortDirection::Ascending,
            Some(SortDirection::Desc) | None => agentd_store::SortDirection::Descending,
        },
    };
    let (store, id) = (ctx.daemon.threads.store().clone(), params.thread_id);
    let mut page = blocking(move || store.turns_page(&id, &query, view)).await?;
    if let Some(active) = snapshot.and_then(|snapshot| snapshot.active_turn) {
        thread_view::put_running_turn(&mut page.entries, thread_view::with_items(active, view));
    }
    Ok(Answer::now(ThreadTurnsListResponse {
        data: page.entries,
        next_cursor: page.next_cursor,
        backwards_cursor: page.backwards_cursor,
    }))
}
