//! Who is told: the subscribers of one thread.
//!
//! A notification is serialised once and its bytes are shared. A subscriber whose `thread/start` or `thread/resume`
//! response is not in its outbox yet has its events held back until it is, so that it sees the response first and then
//! every event after the snapshot, without a gap or a repeat. Sending never waits: a connection that cannot keep up is
//! closed by its outbox.

use agentd_protocol::notification::ServerNotification;

use crate::rpc::conn::{ConnHandle, Outgoing};

/// How many events are held back for a subscriber at most; beyond that its connection is closed and it resumes.
const MAX_HELD: usize = 100_000;

struct Subscriber {
    conn: ConnHandle,
    /// Events that wait for the response; `None` once the response is out.
    held: Option<Vec<Outgoing>>,
}

/// The subscribers of one thread.
#[derive(Default)]
pub(super) struct Subscribers {
    list: Vec<Subscriber>,
}

impl Subscribers {
    /// Adds a connection whose response is still to come. One that is there already keeps its place.
    pub(super) fn hold(&mut self, conn: ConnHandle) {
        match self.list.iter_mut().find(|s| s.conn.id() == conn.id()) {
            Some(known) => known.held = Some(known.held.take().unwrap_or_default()),
            None => self.list.push(Subscriber {
                conn,
                held: Some(Vec::new()),
            }),
        }
    }

    /// Forgets a connection, with what is held back for it.
    pub(super) fn remove(&mut self, conn_id: u64) {
        self.list.retain(|s| s.conn.id() != conn_id);
    }

    /// Whether this connection is one of them.
    pub(super) fn has(&self, conn_id: u64) -> bool {
        self.list.iter().any(|s| s.conn.id() == conn_id)
    }

    /// The connection's response is out: delivers what was held back, then whatever `also` yields for it.
    pub(super) fn release(&mut self, conn_id: u64, also: impl FnOnce(&ConnHandle)) {
        let Some(subscriber) = self.list.iter_mut().find(|s| s.conn.id() == conn_id) else {
            return;
        };
        for event in subscriber.held.take().unwrap_or_default() {
            subscriber.conn.send(event);
        }
        also(&subscriber.conn);
    }

    /// Sends one event to all subscribers; forgets those that are gone.
    pub(super) fn send(&mut self, event: &Outgoing) {
        self.send_with(|_| event.clone());
    }

    /// Sends to all subscribers what `make` yields for each.
    pub(super) fn send_with(&mut self, make: impl Fn(&ConnHandle) -> Outgoing) {
        self.list.retain_mut(|s| match &mut s.held {
            Some(held) if held.len() >= MAX_HELD => {
                s.conn.close("too many events while its response was being written");
                false
            }
            Some(held) => {
                held.push(make(&s.conn));
                true
            }
            None => s.conn.send(make(&s.conn)),
        });
    }
}

/// Whether a notification goes to every connection rather than to the thread's subscribers only.
pub(super) fn is_for_everybody(notification: &ServerNotification) -> bool {
    matches!(
        notification,
        ServerNotification::ThreadStarted { .. }
            | ServerNotification::ThreadStatusChanged { .. }
            | ServerNotification::ThreadNameUpdated { .. }
            | ServerNotification::ThreadArchived { .. }
            | ServerNotification::ThreadUnarchived { .. }
    )
}
