//! A running turn: how it starts, when it asks the model again, how it ends.
//!
//! Owns the turn's state and the order of its steps. What the model says is handled in [`crate::model_events`], tool
//! calls in [`crate::tool_calls`], stopping in [`crate::stop`].

use std::collections::VecDeque;

use agentd_protocol::item::{ThreadItem, UserInput, UserMessageItem};
use agentd_protocol::notification::ServerNotification;
use agentd_protocol::thread::{ActiveFlag, ThreadStatus};
use agentd_protocol::turn::{ItemsView, Turn, TurnError, TurnStatus};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::context;
use crate::diff::TurnDiff;
use crate::effect::{Effect, ModelCall, Reply};
use crate::history::user_message;
use crate::input::{ModelFacts, StartTurn, TurnFacts};
use crate::items;
use crate::out::Out;
use crate::rollout::{ItemLine, RolloutLine, TurnCompleted, TurnStarted};
use crate::stop::Stop;
use crate::stream::{Checkpoints, OpenText};
use crate::thread::ThreadState;
use crate::tool_calls::Call;
use crate::wire::{self, RequestHead};

/// State of the running turn.
#[derive(Debug)]
pub(crate) struct ActiveTurn {
    pub(crate) id: String,
    pub(crate) started_at_ms: i64,
    pub(crate) model: ModelFacts,
    pub(crate) facts: TurnFacts,
    pub(crate) output_schema: Option<Value>,
    /// All shown items in the order they began; open ones have no completion time and grow in place.
    pub(crate) items: Vec<ThreadItem>,
    /// Number of the request that runs.
    pub(crate) request: Option<u64>,
    /// Stream retries since the last complete response.
    pub(crate) attempt: u32,
    /// Messages and reasoning that the model is still writing.
    pub(crate) stream: Vec<OpenText>,
    pub(crate) checkpoints: Checkpoints,
    /// Tool calls whose output is not yet in the history, in call order.
    pub(crate) calls: VecDeque<Call>,
    /// Input that came during the turn; goes in right before the next request.
    pub(crate) pending: Vec<PendingInput>,
    /// Whether the model has to be asked again.
    pub(crate) follow_up: bool,
    /// Set while a broken request waits to be sent again.
    pub(crate) retry_delay_ms: Option<u64>,
    /// Set when the turn has to end as soon as its tools have.
    pub(crate) stop: Option<Stop>,
    pub(crate) diff: TurnDiff,
    /// Set by [`ActiveTurn::finish`]; the engine then drops the turn.
    pub(crate) ended: bool,
}

/// User input on its way into the history.
#[derive(Debug)]
pub(crate) struct PendingInput {
    /// The item to be shown; its times are set when it is.
    pub(crate) item: Option<ThreadItem>,
    /// The message for the model.
    pub(crate) message: Option<Box<RawValue>>,
}

impl PendingInput {
    pub(crate) fn new(
        thread: &mut ThreadState,
        input: Vec<UserInput>,
        content: &[Box<RawValue>],
        client_id: Option<String>,
        out: &mut Out<'_, '_>,
    ) -> Self {
        let message = (!content.is_empty()).then(|| user_message(content));
        let item = (!input.is_empty()).then(|| {
            ThreadItem::UserMessage(UserMessageItem {
                id: thread.unique_item_id(None, out),
                client_id,
                content: input,
                started_at_ms: None,
                completed_at_ms: None,
            })
        });
        Self { item, message }
    }
}

/// Takes over settings that a client sent along, if they differ.
pub(crate) fn apply_settings(thread: &mut ThreadState, start: &StartTurn, out: &mut Out<'_, '_>) -> bool {
    if thread.settings == start.settings {
        return false;
    }
    thread.settings = start.settings.clone();
    out.append(RolloutLine::Settings(start.settings.clone()));
    true
}

pub(crate) fn emit_settings(thread: &ThreadState, out: &mut Out<'_, '_>) {
    let thread_id = out.thread_id();
    out.emit(ServerNotification::ThreadSettingsUpdated {
        thread_id,
        thread_settings: thread.settings.clone(),
    });
}

impl ActiveTurn {
    /// Starts a turn: stores what belongs to it, answers, tells clients, asks the model.
    pub(crate) fn start(thread: &mut ThreadState, start: StartTurn, out: &mut Out<'_, '_>) -> Self {
        let settings_changed = apply_settings(thread, &start, out);
        let mut turn = Self::empty(out.new_id(), out.ms(), start.model, start.facts, start.output_schema);
        thread.updated_at_ms = out.ms();
        thread.failed = false;
        out.append(RolloutLine::TurnStarted(TurnStarted {
            turn_id: turn.id.clone(),
            started_at_ms: out.ms(),
        }));
        turn.tell_context(thread, out);
        let pending = PendingInput::new(thread, start.input, &start.content, start.client_user_message_id, out);
        let message = turn.store_user_message(thread, pending, out);

        if settings_changed {
            emit_settings(thread, out);
        }
        out.reply(start.reply, Ok(Reply::TurnStarted(turn.reply_view())));
        out.emit_status(turn.status());
        let view = Turn {
            started_at: Some(turn.started_at_ms / 1000),
            ..turn.reply_view()
        };
        out.emit(ServerNotification::TurnStarted {
            thread_id: out.thread_id(),
            turn: view,
        });
        turn.show_whole_item(message, out);
        turn.ask_model(thread, out);
        turn
    }

    fn empty(id: String, ms: i64, model: ModelFacts, facts: TurnFacts, output_schema: Option<Value>) -> Self {
        Self {
            id,
            started_at_ms: ms,
            model,
            facts,
            output_schema,
            items: Vec::new(),
            request: None,
            attempt: 0,
            stream: Vec::new(),
            checkpoints: Checkpoints::default(),
            calls: VecDeque::new(),
            pending: Vec::new(),
            follow_up: false,
            retry_delay_ms: None,
            stop: None,
            diff: TurnDiff::default(),
            ended: false,
        }
    }

    /// Appends what the model has not been told yet.
    fn tell_context(&self, thread: &mut ThreadState, out: &mut Out<'_, '_>) {
        let now = context::snapshot(&thread.record, &thread.settings, &self.facts);
        if thread.context.as_ref() == Some(&now) {
            return;
        }
        for message in context::messages(thread.context.as_ref(), &now) {
            thread.append_history(&self.id, message, out);
        }
        out.append(RolloutLine::Context(now.clone()));
        thread.context = Some(now);
    }

    /// Puts a user message into the history and among the items.
    fn store_user_message(
        &mut self,
        thread: &mut ThreadState,
        pending: PendingInput,
        out: &mut Out<'_, '_>,
    ) -> Option<usize> {
        if let Some(message) = pending.message {
            thread.append_history(&self.id, message, out);
        }
        let mut item = pending.item?;
        items::set_times(&mut item, out.ms());
        thread.note_item(&item);
        out.append(RolloutLine::ItemCompleted(ItemLine {
            turn_id: self.id.clone(),
            item: item.clone(),
        }));
        self.items.push(item);
        Some(self.items.len() - 1)
    }

    fn show_whole_item(&self, index: Option<usize>, out: &mut Out<'_, '_>) {
        let Some(item) = index.and_then(|index| self.items.get(index)) else {
            return;
        };
        out.emit_item_started(&self.id, items::as_started(item));
        out.emit_item_completed(&self.id, item.clone());
    }

    /// Moves the input that came meanwhile into the history.
    pub(crate) fn flush_pending(&mut self, thread: &mut ThreadState, out: &mut Out<'_, '_>) {
        if self.pending.is_empty() {
            return;
        }
        self.tell_context(thread, out);
        for pending in std::mem::take(&mut self.pending) {
            let message = self.store_user_message(thread, pending, out);
            self.show_whole_item(message, out);
        }
    }

    /// Sends the next request.
    fn ask_model(&mut self, thread: &mut ThreadState, out: &mut Out<'_, '_>) {
        self.flush_pending(thread, out);
        self.follow_up = false;
        let delay_ms = self.retry_delay_ms.take().unwrap_or(0);
        let instructions = thread.instructions(&self.model);
        let head = RequestHead {
            thread_id: &thread.record.id,
            instructions: &instructions,
            settings: &thread.settings,
            model: &self.model,
            output_schema: self.output_schema.as_ref(),
        };
        let body = wire::body(&head, &thread.history);
        let request = thread.next_request();
        self.request = Some(request);
        out.push(Effect::CallModel(ModelCall {
            request,
            provider: thread.settings.model_provider.clone(),
            body,
            turn_id: self.id.clone(),
            attempt: self.attempt,
            delay_ms,
        }));
    }

    /// Does whatever can be done now: starts waiting calls, hands outputs over, asks again, or ends the turn.
    pub(crate) fn advance(&mut self, thread: &mut ThreadState, out: &mut Out<'_, '_>) {
        if self.ended {
            return;
        }
        while self.stop.is_none() && self.start_next_call(thread, out) {}
        if self.request.is_some() {
            return;
        }
        self.flush_outputs(thread, out);
        if !self.calls.is_empty() {
            return;
        }
        match self.stop.take() {
            Some(stop) => self.end_stopped(thread, stop, out),
            None if self.follow_up || self.retry_delay_ms.is_some() || !self.pending.is_empty() => {
                self.ask_model(thread, out);
            }
            None => self.finish(thread, TurnStatus::Completed, None, out),
        }
    }

    /// Ends the turn. Nothing may be open any more.
    pub(crate) fn finish(
        &mut self,
        thread: &mut ThreadState,
        status: TurnStatus,
        error: Option<TurnError>,
        out: &mut Out<'_, '_>,
    ) {
        self.ended = true;
        thread.updated_at_ms = out.ms();
        thread.failed = status == TurnStatus::Failed;
        let duration_ms = (out.ms() - self.started_at_ms).max(0);
        out.append(RolloutLine::TurnCompleted(TurnCompleted {
            turn_id: self.id.clone(),
            status,
            error: error.clone(),
            completed_at_ms: out.ms(),
            duration_ms,
        }));
        out.emit_status(if thread.failed {
            ThreadStatus::SystemError
        } else {
            ThreadStatus::Idle
        });
        if let Some(error) = &error {
            self.emit_error(error.clone(), false, out);
        }
        let last_message = self
            .items
            .iter()
            .rev()
            .find(|item| matches!(item, ThreadItem::AgentMessage(_)))
            .cloned();
        let turn = Turn {
            items_view: if last_message.is_some() {
                ItemsView::Summary
            } else {
                ItemsView::NotLoaded
            },
            items: last_message.into_iter().collect(),
            status,
            error,
            started_at: Some(self.started_at_ms / 1000),
            completed_at: Some(out.ms() / 1000),
            duration_ms: Some(duration_ms),
            ..self.reply_view()
        };
        out.emit(ServerNotification::TurnCompleted {
            thread_id: out.thread_id(),
            turn,
        });
    }

    pub(crate) fn emit_error(&self, error: TurnError, will_retry: bool, out: &mut Out<'_, '_>) {
        let (thread_id, turn_id) = (out.thread_id(), self.id.clone());
        out.emit(ServerNotification::Error {
            error,
            will_retry,
            thread_id,
            turn_id,
        });
    }

    /// Shows an item that begins now.
    pub(crate) fn open_item(&mut self, item: ThreadItem, out: &mut Out<'_, '_>) -> usize {
        out.emit_item_started(&self.id, item.clone());
        self.items.push(item);
        self.items.len() - 1
    }

    /// Shows an item that begins and ends at once.
    pub(crate) fn add_whole_item(&mut self, mut item: ThreadItem, out: &mut Out<'_, '_>) {
        items::set_completed_at(&mut item, out.ms());
        let line = ItemLine {
            turn_id: self.id.clone(),
            item: item.clone(),
        };
        out.append(RolloutLine::ItemCompleted(line));
        self.items.push(item);
        self.show_whole_item(Some(self.items.len() - 1), out);
    }

    /// Ends an open item: stored, then shown.
    pub(crate) fn complete_item(&mut self, index: usize, out: &mut Out<'_, '_>) {
        let Some(item) = self.items.get_mut(index) else { return };
        items::set_completed_at(item, out.ms());
        let item = item.clone();
        self.checkpoints.forget(index);
        out.append(RolloutLine::ItemCompleted(ItemLine {
            turn_id: self.id.clone(),
            item: item.clone(),
        }));
        out.emit_item_completed(&self.id, item);
    }

    pub(crate) fn status(&self) -> ThreadStatus {
        let waits = self.calls.iter().any(Call::is_asking);
        ThreadStatus::Active {
            active_flags: if waits {
                vec![ActiveFlag::WaitingOnApproval]
            } else {
                Vec::new()
            },
        }
    }

    /// The turn as `turn/start` answers it.
    pub(crate) fn reply_view(&self) -> Turn {
        Turn {
            id: self.id.clone(),
            root_turn_id: self.id.clone(),
            items: Vec::new(),
            items_view: ItemsView::NotLoaded,
            status: TurnStatus::InProgress,
            error: None,
            started_at: None,
            completed_at: None,
            duration_ms: None,
        }
    }

    /// The turn with all its items so far.
    pub(crate) fn full_view(&self) -> Turn {
        Turn {
            items: self.items.clone(),
            items_view: ItemsView::Full,
            started_at: Some(self.started_at_ms / 1000),
            ..self.reply_view()
        }
    }
}
