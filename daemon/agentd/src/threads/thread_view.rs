//! What clients see of a thread: the protocol's `Thread`, from memory or from the store.

use agentd_engine::rollout::ThreadRecord;
use agentd_protocol::item::ThreadItem;
use agentd_protocol::settings::ThreadSettings;
use agentd_protocol::thread::{Thread, ThreadEnvironment, ThreadStatus};
use agentd_protocol::turn::{ItemsView, Turn, TurnStatus};
use agentd_store::{Store, ThreadRow};

use super::handle::Snapshot;
use super::registry::blocking;
use crate::rpc::PROTOCOL_VERSION;
use crate::rpc::error::RpcError;

/// A thread in memory, without turns.
pub fn from_snapshot(snapshot: &Snapshot) -> Thread {
    build(
        &snapshot.record,
        &snapshot.settings,
        snapshot.name.clone(),
        snapshot.preview.clone(),
        (snapshot.updated_at_ms, snapshot.updated_at_ms),
        snapshot.status.clone(),
    )
}

/// A stored thread, without turns. `status` says how it stands in memory.
pub fn from_row(row: ThreadRow, status: ThreadStatus) -> Thread {
    let times = (row.updated_at_ms, row.recency_at_ms);
    build(&row.record, &row.settings, row.name, row.preview, times, status)
}

/// All turns of a thread with all their items. The running turn comes from memory, the others from the store.
///
/// # Errors
/// The store cannot be read.
pub async fn turns(store: &Store, snapshot: Option<&Snapshot>, thread_id: &str) -> Result<Vec<Turn>, RpcError> {
    let (store, id) = (store.clone(), thread_id.to_owned());
    let mut turns = blocking(move || store.turns(&id)).await?;
    if let Some(active) = snapshot.and_then(|s| s.active_turn.clone())
        && !put_running_turn(&mut turns, active.clone())
    {
        turns.push(active);
    }
    Ok(turns)
}

/// Puts the running turn in the place of what is stored of it. `false`: it is not among these turns.
pub fn put_running_turn(turns: &mut [Turn], active: Turn) -> bool {
    match turns.iter_mut().find(|turn| turn.id == active.id) {
        // It may have ended between the snapshot and the read.
        Some(stored) if stored.status != TurnStatus::InProgress => {}
        Some(stored) => *stored = active,
        None => return false,
    }
    true
}

/// A turn that has all its items, with those that the view shows.
pub fn with_items(mut turn: Turn, view: ItemsView) -> Turn {
    match view {
        ItemsView::Full => {}
        ItemsView::NotLoaded => turn.items.clear(),
        ItemsView::Summary => {
            let is_question = |item: &&ThreadItem| matches!(item, ThreadItem::UserMessage(_));
            let is_answer = |item: &&ThreadItem| matches!(item, ThreadItem::AgentMessage(_));
            let question = turn.items.iter().find(is_question);
            let answer = turn.items.iter().rev().find(is_answer);
            turn.items = question.into_iter().chain(answer).cloned().collect();
        }
    }
    turn.items_view = view;
    turn
}

fn build(
    record: &ThreadRecord,
    settings: &ThreadSettings,
    name: Option<String>,
    preview: String,
    (updated_at_ms, recency_at_ms): (i64, i64),
    status: ThreadStatus,
) -> Thread {
    Thread {
        id: record.id.clone(),
        environments: Some(vec![ThreadEnvironment {
            environment_id: "local".into(),
            cwd: settings.cwd.clone(),
            runtime_workspace_roots: vec![settings.cwd.clone()],
        }]),
        extra: None,
        session_id: record.id.clone(),
        forked_from_id: record.forked_from_id.clone(),
        attached_to_thread_id: None,
        parent_thread_id: None,
        preview,
        ephemeral: record.ephemeral,
        section: None,
        section_entered_at: None,
        project_id: None,
        history_mode: "paginated".into(),
        model_provider: settings.model_provider.clone(),
        model: settings.model.clone(),
        reasoning_effort: settings.effort.clone(),
        created_at: record.created_at_ms / 1000,
        updated_at: updated_at_ms / 1000,
        recency_at: recency_at_ms / 1000,
        status,
        path: None,
        cwd: settings.cwd.clone(),
        cli_version: PROTOCOL_VERSION.into(),
        originator: record.originator.clone(),
        source: record.source.clone(),
        can_accept_direct_input: true,
        thread_source: record.thread_source.clone(),
        agent_nickname: None,
        agent_role: None,
        git_info: record.git_info.clone(),
        name,
        daybreak_enabled: None,
        turns: Vec::new(),
    }
}
