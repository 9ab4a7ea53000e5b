//! What the reader thread hands over: replies to open calls and events in order, behind one lock and one condition variable.
//!
//! It owns the bounds. The reader stops reading while [`SOFT_LIMIT`] events wait, so a slow client pushes back on the
//! daemon, which in turn closes connections that stay slow. While a call is open the reader must go on (its reply may be
//! behind the events); then [`HARD_LIMIT`] ends the connection. No lock is held while anything blocks on the socket.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::wire::{Event, Reply};

/// Events that may wait before the reader stops reading.
pub(crate) const SOFT_LIMIT: usize = 4_096;
/// Events that may wait while a call is open.
pub(crate) const HARD_LIMIT: usize = 262_144;

/// How a wait for a reply ended.
#[derive(Debug)]
pub(crate) enum Waited {
    Reply(Reply),
    TimedOut,
    Closed(String),
}

#[derive(Default)]
struct State {
    /// Events nobody has taken yet; bounded by the limits above.
    events: VecDeque<Event>,
    /// Calls that wait; `Some` once their reply is here. One entry per open call.
    calls: HashMap<u64, Option<Reply>>,
    /// Why nothing will come any more; set once.
    closed: Option<String>,
    /// Whether `Event::Closed` was handed out.
    told: bool,
}

/// The meeting point of the reader thread and the callers.
#[derive(Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
}

impl Inbox {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing under this lock can leave the state half-changed, so a poisoned lock is still a good one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces a call. Must come before its request is written, or a fast reply would find nobody.
    pub(crate) fn open_call(&self, id: u64) {
        self.state().calls.insert(id, None);
        self.changed.notify_all();
    }

    /// Forgets a call; a reply that comes later is dropped.
    pub(crate) fn drop_call(&self, id: u64) {
        self.state().calls.remove(&id);
    }

    /// Waits for the reply to a call and forgets the call.
    pub(crate) fn wait_reply(&self, id: u64, timeout: Duration) -> Waited {
        let deadline = Instant::now() + timeout;
        let mut state = self.state();
        loop {
            if let Some(reply) = state.calls.get_mut(&id).and_then(Option::take) {
                state.calls.remove(&id);
                return Waited::Reply(reply);
            }
            if let Some(reason) = state.closed.clone() {
                state.calls.remove(&id);
                return Waited::Closed(reason);
            }
            let Some(left) = deadline.checked_duration_since(Instant::now()).filter(|d| !d.is_zero()) else {
                state.calls.remove(&id);
                return Waited::TimedOut;
            };
            state = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Hands in a reply. One that nobody waits for (any more) is dropped.
    pub(crate) fn put_reply(&self, reply: Reply) {
        if let Some(slot) = self.state().calls.get_mut(&reply.id) {
            *slot = Some(reply);
        }
        self.changed.notify_all();
    }

    /// Hands in an event; waits for room. `false` once the connection is closed or the hard limit ended it.
    pub(crate) fn put_event(&self, event: Event) -> bool {
        let mut state = self.state();
        loop {
            if state.closed.is_some() {
                return false;
            }
            if state.events.len() >= HARD_LIMIT {
                drop(state);
                self.close(format!("{HARD_LIMIT} events wait and nobody takes them"));
                return false;
            }
            if state.events.len() < SOFT_LIMIT || !state.calls.is_empty() {
                state.events.push_back(event);
                drop(state);
                self.changed.notify_all();
                return true;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes the next event; waits at most `timeout`. Events that came before the end are handed out before it, then
    /// `Event::Closed` once, then always `None`.
    pub(crate) fn take_event(&self, timeout: Duration) -> Option<Event> {
        let deadline = Instant::now() + timeout;
        let mut state = self.state();
        loop {
            if let Some(event) = state.events.pop_front() {
                drop(state);
                self.changed.notify_all();
                return Some(event);
            }
            if let Some(reason) = state.closed.clone() {
                return (!std::mem::replace(&mut state.told, true)).then_some(Event::Closed { reason });
            }
            let left = deadline
                .checked_duration_since(Instant::now())
                .filter(|d| !d.is_zero())?;
            state = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Ends everything; the first reason stays.
    pub(crate) fn close(&self, reason: String) {
        self.state().closed.get_or_insert(reason);
        self.changed.notify_all();
    }

    /// Why the connection is closed, if it is.
    pub(crate) fn closed(&self) -> Option<String> {
        self.state().closed.clone()
    }
}
