//! All open connections: for what everybody is told, and for knowing when the last one left. Owns no connection's task.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::conn::{ConnHandle, Outgoing};
use super::opening;

/// The open connections.
#[derive(Default)]
pub struct Connections {
    next_id: AtomicU64,
    open: Mutex<BTreeMap<u64, ConnHandle>>,
    /// Wakes who waits for the last one to leave.
    left: Notify,
}

impl Connections {
    /// A new connection; it counts until [`Self::remove`].
    pub fn add(&self) -> ConnHandle {
        let conn = ConnHandle::new(self.next_id.fetch_add(1, Ordering::Relaxed));
        self.lock().insert(conn.id(), conn.clone());
        conn
    }

    /// The connection has ended.
    pub fn remove(&self, id: u64) {
        self.lock().remove(&id);
        self.left.notify_waiters();
    }

    /// Tells every connection that has finished its handshake, without the ones that `told_otherwise` names by number.
    pub fn broadcast_except(&self, message: &Outgoing, told_otherwise: impl Fn(u64) -> bool) {
        for conn in self.all() {
            if conn.is_initialized() && !told_otherwise(conn.id()) {
                conn.send(message.clone());
            }
        }
    }

    /// Tells every connection something of a thread that is not in memory; one that waits for the response to a
    /// `thread/resume` of it is told after that.
    pub fn broadcast_of_thread(&self, thread_id: &str, message: &Outgoing) {
        for conn in self.all() {
            if conn.is_initialized() {
                opening::tell(&conn, thread_id, message.clone());
            }
        }
    }

    /// How many are open.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// Completes when none is open.
    pub async fn none_left(&self) {
        loop {
            let left = self.left.notified();
            if self.count() == 0 {
                return;
            }
            left.await;
        }
    }

    /// Lets every connection write what it has queued, then end.
    pub fn finish_all(&self) {
        for conn in self.all() {
            conn.outbox().finish();
        }
    }

    /// Ends every connection at once; what is queued is dropped.
    pub fn close_all(&self, reason: &str) {
        for conn in self.all() {
            conn.close(reason);
        }
    }

    fn all(&self) -> Vec<ConnHandle> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, ConnHandle>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
