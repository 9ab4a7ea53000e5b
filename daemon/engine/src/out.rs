//! The list of effects that one step builds up, in order.
//!
//! Owns the shape of what the engine emits (ids and times filled in from [`Now`]); decides nothing.

use agentd_protocol::item::ThreadItem;
use agentd_protocol::notification::ServerNotification;
use agentd_protocol::thread::ThreadStatus;

use crate::Now;
use crate::effect::{Effect, Rejection, Reply};
use crate::input::ReplyToken;
use crate::rollout::RolloutLine;

/// Collects the effects of one step.
pub(crate) struct Out<'a, 'n> {
    now: &'a mut Now<'n>,
    thread_id: String,
    effects: Vec<Effect>,
}

impl<'a, 'n> Out<'a, 'n> {
    pub(crate) fn new(thread_id: &str, now: &'a mut Now<'n>) -> Self {
        Self {
            now,
            thread_id: thread_id.to_owned(),
            effects: Vec::new(),
        }
    }

    pub(crate) fn into_effects(self) -> Vec<Effect> {
        self.effects
    }

    pub(crate) fn ms(&self) -> i64 {
        self.now.ms
    }

    pub(crate) fn new_id(&mut self) -> String {
        (self.now.ids)()
    }

    pub(crate) fn thread_id(&self) -> String {
        self.thread_id.clone()
    }

    pub(crate) fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Stores a line; lines that follow each other directly share one durable write.
    pub(crate) fn append(&mut self, line: RolloutLine) {
        match self.effects.last_mut() {
            Some(Effect::Append(lines)) => lines.push(line),
            _ => self.effects.push(Effect::Append(vec![line])),
        }
    }

    pub(crate) fn reply(&mut self, token: ReplyToken, result: Result<Reply, Rejection>) {
        self.push(Effect::Reply { token, result });
    }

    pub(crate) fn emit(&mut self, notification: ServerNotification) {
        self.push(Effect::Emit(Box::new(notification)));
    }

    pub(crate) fn emit_status(&mut self, status: ThreadStatus) {
        let thread_id = self.thread_id();
        self.emit(ServerNotification::ThreadStatusChanged { thread_id, status });
    }

    pub(crate) fn emit_item_started(&mut self, turn_id: &str, item: ThreadItem) {
        let notification = ServerNotification::ItemStarted {
            started_at_ms: item.started_at_ms().unwrap_or(self.now.ms),
            item,
            thread_id: self.thread_id(),
            turn_id: turn_id.to_owned(),
        };
        self.emit(notification);
    }

    pub(crate) fn emit_item_completed(&mut self, turn_id: &str, item: ThreadItem) {
        let notification = ServerNotification::ItemCompleted {
            completed_at_ms: item.completed_at_ms().unwrap_or(self.now.ms),
            item,
            thread_id: self.thread_id(),
            turn_id: turn_id.to_owned(),
            content_token_count: None,
        };
        self.emit(notification);
    }
}
