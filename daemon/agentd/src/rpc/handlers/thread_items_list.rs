//! `thread/items/list`: the items of a thread or of one of its turns in pages, loaded or not.
//!
//! Open items of the running turn come from memory. Those that have no place in the store yet are shown behind the newest
//! stored one, so a page may be a little longer than asked for.

use agentd_protocol::item::ThreadItem;
use agentd_protocol::methods::thread_list::{
    SortDirection, ThreadItemEntry, ThreadItemsListParams, ThreadItemsListResponse,
};
use agentd_protocol::turn::Turn;
use agentd_store::{ItemEntry, PageQuery};

use super::thread_session::{checked_id, stored_snapshot};
use crate::rpc::error::RpcError;
use crate::rpc::table::{Answer, Ctx};
use crate::threads::registry::blocking;

pub(super) async fn handle(
    ctx: Ctx,
    params: ThreadItemsListParams,
) -> Result<Answer<ThreadItemsListResponse>, RpcError> {
    checked_id(&params.thread_id)?;
    ctx.begin_large().await;
    let snapshot = stored_snapshot(&ctx.daemon, &params.thread_id, "thread/items/list").await?;
    let descending = params.sort_direction == Some(SortDirection::Desc);
    let is_first = params.cursor.is_none();
    let query = PageQuery {
        cursor: params.cursor,
        limit: params.limit.map_or(0, |limit| limit as usize),
        direction: match descending {
            true => agentd_store::SortDirection::Descending,
            false => agentd_store::SortDirection::Ascending,
        },
    };
    let (store, id, turn_id) = (
        ctx.daemon.threads.store().clone(),
        params.thread_id,
        params.turn_id.clone(),
    );
    let page = blocking(move || store.items_page(&id, turn_id.as_deref(), &query)).await?;
    let mut data: Vec<ThreadItemEntry> = page.entries.into_iter().map(entry).collect();
    let active = snapshot.and_then(|snapshot| snapshot.active_turn);
    if let Some(active) = active.filter(|turn| params.turn_id.as_ref().is_none_or(|wanted| *wanted == turn.id)) {
        refresh(&mut data, &active);
        match descending {
            true if is_first => data
                .splice(0..0, unsaved(&active, data.first()).into_iter().rev())
                .for_each(drop),
            false if page.next_cursor.is_none() => data.extend(unsaved(&active, data.last())),
            _ => {}
        }
    }
    Ok(Answer::now(ThreadItemsListResponse {
        data,
        next_cursor: page.next_cursor,
        backwards_cursor: page.backwards_cursor,
    }))
}

/// Open items as they stand in memory.
fn refresh(data: &mut [ThreadItemEntry], active: &Turn) {
    for known in data
        .iter_mut()
        .filter(|e| e.turn_id == active.id && e.item.completed_at_ms().is_none())
    {
        if let Some(item) = active.items.iter().find(|item| item.id() == known.item.id()) {
            *known = shown(&active.id, item.clone());
        }
    }
}

/// Open items of the running turn that began after the newest stored one.
fn unsaved(active: &Turn, newest: Option<&ThreadItemEntry>) -> Vec<ThreadItemEntry> {
    let after = match newest {
        Some(newest) if newest.turn_id == active.id => active
            .items
            .iter()
            .position(|item| item.id() == newest.item.id())
            .map_or(active.items.len(), |at| at + 1),
        Some(_) => 0,
        // A page behind the end: whatever is open was on the page before.
        None => active.items.len(),
    };
    let open = active
        .items
        .iter()
        .skip(after)
        .filter(|item| item.completed_at_ms().is_none());
    open.map(|item| shown(&active.id, item.clone())).collect()
}

fn entry(stored: ItemEntry) -> ThreadItemEntry {
    shown(&stored.turn_id, stored.item)
}

fn shown(turn_id: &str, item: ThreadItem) -> ThreadItemEntry {
    ThreadItemEntry {
        turn_id: turn_id.to_owned(),
        started_at_ms: item.started_at_ms(),
        completed_at_ms: item.completed_at_ms(),
        item,
    }
}
