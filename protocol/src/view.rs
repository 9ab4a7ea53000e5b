//! [`ThreadView`]: one reducer that rebuilds a thread from a snapshot and the notifications after it.
//!
//! Clients use it to draw, the tests to compare what was told with what `thread/read` says. It must accept anything a
//! server can send in any order: what it does not know it ignores, what comes twice changes nothing the second time.

mod deltas;

use crate::item::ThreadItem;
use crate::notification::{PlanStep, ServerNotification};
use crate::settings::ThreadSettings;
use crate::thread::Thread;
use crate::turn::{ItemsView, Turn, TurnStatus};
use crate::usage::ThreadTokenUsage;

use deltas::{Delta, grow};

/// The newest plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanView {
    /// The turn that made it.
    pub turn_id: String,
    /// Why it changed.
    pub explanation: Option<String>,
    /// The steps.
    pub steps: Vec<PlanStep>,
}

/// The newest diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffView {
    /// The turn whose changes it shows.
    pub turn_id: String,
    /// All changes of the turn so far, git style.
    pub diff: String,
}

/// A thread as notifications tell it.
///
/// Exact are: status, name and preview as given or told, settings, turns and their items. Times of the thread itself
/// (`updatedAt`, `recencyAt`) are not told by notifications and stay as they were in the snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadView {
    thread: Thread,
    settings: Option<ThreadSettings>,
    usage: Option<ThreadTokenUsage>,
    plan: Option<PlanView>,
    diff: Option<DiffView>,
}

impl ThreadView {
    /// Starts from a snapshot: the thread of `thread/start`, `thread/resume` or `thread/read`.
    pub fn from_thread(thread: Thread) -> Self {
        Self {
            thread,
            settings: None,
            usage: None,
            plan: None,
            diff: None,
        }
    }

    /// The thread so far.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// The turn with this id.
    pub fn turn(&self, turn_id: &str) -> Option<&Turn> {
        self.thread.turns.iter().find(|turn| turn.id == turn_id)
    }

    /// The turn that runs.
    pub fn active_turn(&self) -> Option<&Turn> {
        self.thread
            .turns
            .iter()
            .rev()
            .find(|turn| turn.status == TurnStatus::InProgress)
    }

    /// The settings, once a change was told.
    pub fn settings(&self) -> Option<&ThreadSettings> {
        self.settings.as_ref()
    }

    /// Token usage, once it was told.
    pub fn usage(&self) -> Option<&ThreadTokenUsage> {
        self.usage.as_ref()
    }

    /// The newest plan.
    pub fn plan(&self) -> Option<&PlanView> {
        self.plan.as_ref()
    }

    /// The newest diff.
    pub fn diff(&self) -> Option<&DiffView> {
        self.diff.as_ref()
    }

    /// Takes one notification. False if it is about another thread, or about none; then nothing changes.
    pub fn apply(&mut self, notification: &ServerNotification) -> bool {
        if notification.thread_id() != Some(self.thread.id.as_str()) {
            return false;
        }
        if let Some((turn_id, item_id, delta)) = Delta::of(notification) {
            self.grow_item(turn_id, item_id, delta);
            return true;
        }
        self.apply_whole(notification);
        true
    }

    fn apply_whole(&mut self, notification: &ServerNotification) {
        use ServerNotification as N;
        match notification {
            N::ThreadStarted { thread } => self.replace_thread(thread),
            N::ThreadStatusChanged { status, .. } => self.thread.status = status.clone(),
            N::ThreadNameUpdated { thread_name, .. } => self.thread.name.clone_from(thread_name),
            N::ThreadSettingsUpdated { thread_settings, .. } => self.change_settings(thread_settings),
            N::ThreadTokenUsageUpdated { token_usage, .. } => self.usage = Some(*token_usage),
            N::TurnStarted { turn, .. } => self.start_turn(turn),
            N::TurnCompleted { turn, .. } => self.complete_turn(turn),
            N::TurnDiffUpdated { turn_id, diff, .. } => {
                self.diff = Some(DiffView {
                    turn_id: turn_id.clone(),
                    diff: diff.clone(),
                });
            }
            N::TurnPlanUpdated {
                turn_id,
                explanation,
                plan,
                ..
            } => {
                self.plan = Some(PlanView {
                    turn_id: turn_id.clone(),
                    explanation: explanation.clone(),
                    steps: plan.clone(),
                });
            }
            N::ItemStarted { item, turn_id, .. } => self.start_item(turn_id, item),
            N::ItemCompleted { item, turn_id, .. } => self.complete_item(turn_id, item),
            // Deltas were taken before; the rest tells nothing that a thread object holds. An error that ends a turn
            // comes again in `turn/completed`.
            _ => {}
        }
    }

    fn replace_thread(&mut self, thread: &Thread) {
        let turns = std::mem::take(&mut self.thread.turns);
        self.thread = thread.clone();
        if self.thread.turns.is_empty() {
            self.thread.turns = turns;
        }
    }

    fn change_settings(&mut self, settings: &ThreadSettings) {
        for environment in self.thread.environments.iter_mut().flatten() {
            if environment.runtime_workspace_roots == [environment.cwd.as_str()] {
                environment.runtime_workspace_roots = vec![settings.cwd.clone()];
            }
            environment.cwd.clone_from(&settings.cwd);
        }
        self.thread.cwd.clone_from(&settings.cwd);
        self.thread.model.clone_from(&settings.model);
        self.thread.model_provider.clone_from(&settings.model_provider);
        self.thread.reasoning_effort.clone_from(&settings.effort);
        self.settings = Some(settings.clone());
    }

    fn start_turn(&mut self, started: &Turn) {
        let turn = self.turn_or_stub(&started.id);
        // A turn that ended does not begin again.
        if turn.status != TurnStatus::InProgress {
            return;
        }
        turn.root_turn_id.clone_from(&started.root_turn_id);
        turn.started_at = started.started_at.or(turn.started_at);
        turn.status = started.status;
        if turn.items.is_empty() {
            turn.items.clone_from(&started.items);
        }
    }

    fn complete_turn(&mut self, completed: &Turn) {
        let known = self.turn(&completed.id).is_some();
        let turn = self.turn_or_stub(&completed.id);
        turn.root_turn_id.clone_from(&completed.root_turn_id);
        turn.status = completed.status;
        turn.error.clone_from(&completed.error);
        turn.started_at = completed.started_at.or(turn.started_at);
        turn.completed_at = completed.completed_at;
        turn.duration_ms = completed.duration_ms;
        if !known {
            turn.items.clone_from(&completed.items);
            turn.items_view = completed.items_view;
        }
    }

    fn start_item(&mut self, turn_id: &str, item: &ThreadItem) {
        let items = &mut self.turn_or_stub(turn_id).items;
        match items.iter_mut().find(|known| known.id() == item.id()) {
            // Told again: what has grown since must not be lost, unless the item ended and its id is used once more.
            Some(known) if known.completed_at_ms().is_some() && item.started_at_ms() > known.started_at_ms() => {
                known.clone_from(item);
            }
            Some(_) => {}
            None => items.push(item.clone()),
        }
        self.note_preview(item);
    }

    fn complete_item(&mut self, turn_id: &str, item: &ThreadItem) {
        let items = &mut self.turn_or_stub(turn_id).items;
        match items.iter_mut().find(|known| known.id() == item.id()) {
            Some(known) => known.clone_from(item),
            None => items.push(item.clone()),
        }
        self.note_preview(item);
    }

    fn grow_item(&mut self, turn_id: &str, item_id: &str, delta: Delta<'_>) {
        let turn = self.thread.turns.iter_mut().rev().find(|turn| turn.id == turn_id);
        let item = turn.and_then(|turn| turn.items.iter_mut().rev().find(|item| item.id() == item_id));
        if let Some(item) = item.filter(|item| item.completed_at_ms().is_none()) {
            grow(item, delta);
        }
    }

    /// The turn with this id. A turn of which nothing was told yet begins with this: in progress, without items.
    fn turn_or_stub(&mut self, turn_id: &str) -> &mut Turn {
        let turns = &mut self.thread.turns;
        let at = turns.iter().rposition(|turn| turn.id == turn_id).unwrap_or_else(|| {
            turns.push(Turn {
                id: turn_id.to_owned(),
                root_turn_id: turn_id.to_owned(),
                items: Vec::new(),
                items_view: ItemsView::Full,
                status: TurnStatus::InProgress,
                error: None,
                started_at: None,
                completed_at: None,
                duration_ms: None,
            });
            turns.len() - 1
        });
        let turn = &mut turns[at];
        turn.items_view = ItemsView::Full;
        turn
    }

    fn note_preview(&mut self, item: &ThreadItem) {
        let ThreadItem::UserMessage(message) = item else {
            return;
        };
        if !self.thread.preview.is_empty() {
            return;
        }
        self.thread.preview = message.preview();
    }
}

#[cfg(test)]
#[path = "view/tests.rs"]
mod tests;
