//! What happens when a thread's record cannot be written (a full disk, mostly).
//!
//! What the thread runs is stopped, its turn ends visibly as failed, and nothing that was not durable is pretended to be.
//! The thread stays, with its subscribers: at the next thing it is asked, it is built again from what is durable, and goes
//! on as soon as the store can be written. Until then every caller is told why not.

use std::sync::PoisonError;

use agentd_engine::Engine;
use agentd_engine::rollout::RolloutLine;
use agentd_protocol::item::{CommandStatus, PatchStatus, ThreadItem};
use agentd_protocol::notification::ServerNotification;
use agentd_protocol::thread::ThreadStatus;
use agentd_protocol::turn::{ItemsView, Turn, TurnError, TurnStatus};
use agentd_store::StoreError;
use serde_json::json;

use super::actor::{Actor, now_ms};
use super::children::ChildKey;
use super::handle::Control;
use super::registry::read_rollout;
use crate::rpc::error::RpcError;

/// Most output of a command that is kept for its end, in bytes; the item's own limit.
const MAX_SHOWN_OUTPUT: usize = 1 << 20;

/// What clients were told to have begun and not yet told to have ended, as they know it.
#[derive(Default)]
pub(super) struct Shown {
    turn: Option<Turn>,
    items: Vec<ThreadItem>,
}

impl Shown {
    /// Takes note of what is being told.
    pub(super) fn note(&mut self, notification: &ServerNotification) {
        use ServerNotification as N;
        match notification {
            N::TurnStarted { turn, .. } => self.turn = Some(turn.clone()),
            N::TurnCompleted { .. } => self.turn = None,
            N::ItemStarted { item, .. } => self.items.push(item.clone()),
            N::ItemCompleted { item, .. } => self.items.retain(|open| open.id() != item.id()),
            N::AgentMessageDelta { item_id, delta, .. } | N::CommandExecutionOutputDelta { item_id, delta, .. } => {
                self.grow(item_id, 0, delta);
            }
            N::ReasoningSummaryTextDelta {
                item_id,
                summary_index: part,
                delta,
                ..
            } => self.grow(item_id, *part, delta),
            _ => {}
        }
    }

    fn grow(&mut self, item_id: &str, part: u32, delta: &str) {
        match self.items.iter_mut().rfind(|open| open.id() == item_id) {
            Some(ThreadItem::AgentMessage(item)) => item.text.push_str(delta),
            Some(ThreadItem::Reasoning(item)) => {
                // Parts come in order; a gap is no reason to grow without bound.
                if item.summary.len() <= part as usize {
                    item.summary.push(String::new());
                }
                if let Some(text) = item.summary.last_mut() {
                    text.push_str(delta);
                }
            }
            Some(ThreadItem::CommandExecution(item)) => {
                let output = item.aggregated_output.get_or_insert_default();
                if output.len() < MAX_SHOWN_OUTPUT {
                    output.push_str(delta);
                }
            }
            _ => {}
        }
    }
}

impl Actor {
    /// Ends what cannot be recorded; then waits until the thread can go on. `false`: it is to end.
    pub(super) async fn survive(&mut self, error: &StoreError) -> bool {
        tracing::error!(thread = self.engine.record().id, %error, "the thread's record cannot be written");
        self.stop_children();
        self.withdraw_all();
        let failed = self.fail_turn(&error.to_string());
        while let Some(control) = self.control.recv().await {
            if matches!(control, Control::Stop { .. }) {
                return false;
            }
            match self.rebuild(failed.as_ref()).await {
                Ok(engine) => {
                    self.engine = engine;
                    self.publish_status(ThreadStatus::Idle);
                    self.postponed = Some(control);
                    return true;
                }
                Err(error) => refuse(control, error),
            }
        }
        false
    }

    /// Dropped commands lose their lifetime link, which kills their trees. Nothing they said meanwhile counts.
    fn stop_children(&mut self) {
        self.child_keys.retain(|_, (key, abort)| {
            let stays = *key == ChildKey::Waiter;
            if !stays {
                abort.abort();
            }
            stays
        });
        self.cancels.clear();
        self.checkpoint_at = None;
        self.unsaved.clear();
        while self.data.try_recv().is_ok() {}
    }

    fn withdraw_all(&mut self) {
        let open: Vec<String> = self.asks.keys().cloned().collect();
        for approval_id in open {
            self.withdraw(&approval_id);
        }
    }

    /// Completes every open item and ends the turn, for clients. Yields what the record has to say once it can.
    fn fail_turn(&mut self, message: &str) -> Option<(String, TurnError)> {
        // A turn whose very beginning could not be recorded was never shown; its caller got the error.
        let active = self.shown.turn.take()?;
        let thread_id = self.engine.record().id.clone();
        let error = TurnError {
            message: format!("the turn was stopped because its record cannot be written: {message}"),
            codex_error_info: Some(json!("other")),
            additional_details: None,
            misalignment: None,
        };
        for item in std::mem::take(&mut self.shown.items) {
            self.emit(&ServerNotification::ItemCompleted {
                item: closed(item),
                thread_id: thread_id.clone(),
                turn_id: active.id.clone(),
                content_token_count: None,
                completed_at_ms: now_ms(),
            });
        }
        self.publish_status(ThreadStatus::SystemError);
        self.emit(&ServerNotification::Error {
            error: error.clone(),
            will_retry: false,
            thread_id: thread_id.clone(),
            turn_id: active.id.clone(),
        });
        let turn_id = active.id.clone();
        let turn = Turn {
            items: Vec::new(),
            items_view: ItemsView::NotLoaded,
            status: TurnStatus::Failed,
            error: Some(error.clone()),
            completed_at: Some(now_ms() / 1000),
            ..active
        };
        self.emit(&ServerNotification::TurnCompleted { thread_id, turn });
        Some((turn_id, error))
    }

    fn publish_status(&mut self, status: ThreadStatus) {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = status.clone();
        let thread_id = self.engine.record().id.clone();
        self.emit(&ServerNotification::ThreadStatusChanged { thread_id, status });
    }

    /// The thread as it is durable. The turn that was cut off is recorded as clients saw it end.
    async fn rebuild(&self, failed: Option<&(String, TurnError)>) -> Result<Engine, RpcError> {
        let thread_id = self.engine.record().id.clone();
        let (engine, mut repairs) = read_rollout(&self.deps.store, &thread_id).await?;
        for line in &mut repairs {
            if let (RolloutLine::TurnCompleted(ended), Some((turn_id, error))) = (line, failed)
                && ended.turn_id == *turn_id
            {
                ended.status = TurnStatus::Failed;
                ended.error = Some(error.clone());
            }
        }
        if repairs.is_empty() {
            // Nothing to write says nothing about whether writing works: the caller's own request will show.
            return Ok(engine);
        }
        self.deps.store.append(&thread_id, repairs).await?;
        Ok(engine)
    }
}

/// The item as it ends when its turn can no longer be recorded.
fn closed(mut item: ThreadItem) -> ThreadItem {
    let at = Some(now_ms());
    match &mut item {
        ThreadItem::UserMessage(item) => item.completed_at_ms = at,
        ThreadItem::AgentMessage(item) => item.completed_at_ms = at,
        ThreadItem::Reasoning(item) => item.completed_at_ms = at,
        ThreadItem::CommandExecution(item) => (item.status, item.completed_at_ms) = (CommandStatus::Failed, at),
        ThreadItem::FileChange(item) => (item.status, item.completed_at_ms) = (PatchStatus::Failed, at),
    }
    item
}

/// Tells a caller why the thread cannot do anything now. An unsendable answer means that the caller is gone.
fn refuse(control: Control, error: RpcError) {
    match control {
        Control::StartTurn { reply, .. } => drop(reply.send(Err(error))),
        Control::Steer { reply, .. } => drop(reply.send(Err(error))),
        Control::Interrupt { reply, .. } | Control::ChangeSettings { reply, .. } => drop(reply.send(Err(error))),
        Control::SetName { reply, .. } => drop(reply.send(Err(error))),
        Control::Attach { reply, .. } => drop(reply.send(Err(error))),
        Control::Snapshot { reply } => drop(reply.send(Err(error))),
        // Nothing to refuse: a subscriber that leaves is forgotten when it is next told something.
        Control::Detach { .. } | Control::Stop { .. } => {}
    }
}
