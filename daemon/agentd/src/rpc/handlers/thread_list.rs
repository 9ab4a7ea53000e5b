//! `thread/list`: stored threads in pages, with how each stands in memory.

use std::collections::BTreeMap;

use agentd_protocol::methods::thread_list::{SortDirection, ThreadListParams, ThreadListResponse, ThreadSortKey};
use agentd_store::ListQuery;

use crate::rpc::error::RpcError;
use crate::rpc::table::{Answer, Ctx};
use crate::threads::registry::blocking;
use crate::threads::thread_view;

pub(super) async fn handle(ctx: Ctx, params: ThreadListParams) -> Result<Answer<ThreadListResponse>, RpcError> {
    let threads = &ctx.daemon.threads;
    let (store, query) = (threads.store().clone(), query(params));
    let page = blocking(move || store.list_threads(&query)).await?;
    let data = page.threads.into_iter().map(|row| {
        let status = threads.status(&row.record.id);
        thread_view::from_row(row, status)
    });
    Ok(Answer::now(ThreadListResponse {
        data: data.collect(),
        read_states: BTreeMap::new(),
        next_cursor: page.next_cursor,
        backwards_cursor: page.backwards_cursor,
    }))
}

fn query(params: ThreadListParams) -> ListQuery {
    ListQuery {
        cursor: params.cursor,
        limit: params.limit.map_or(0, |limit| limit as usize),
        sort_key: match params.sort_key {
            Some(ThreadSortKey::CreatedAt) => agentd_store::SortKey::CreatedAt,
            Some(ThreadSortKey::UpdatedAt) => agentd_store::SortKey::UpdatedAt,
            Some(ThreadSortKey::RecencyAt) | None => agentd_store::SortKey::Recency,
        },
        direction: match params.sort_direction {
            Some(SortDirection::Asc) => agentd_store::SortDirection::Ascending,
            Some(SortDirection::Desc) | None => agentd_store::SortDirection::Descending,
        },
        archived: params.archived.unwrap_or(false),
        cwds: params.cwd.map(|filter| filter.paths().to_vec()).unwrap_or_default(),
        search_term: params.search_term.filter(|term| !term.is_empty()),
        model_providers: params.model_providers.unwrap_or_default(),
        // Every thread that a client starts has the same source word; other kinds do not exist here.
        sources: Vec::new(),
    }
}
