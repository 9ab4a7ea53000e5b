//! What is told of a thread to a connection that waits for the response to its `thread/resume`: it is held back until that
//! is in the outbox, so that the client hears of a thread first and then what happened to it.
//!
//! For what is told about threads that are not in memory; a thread in memory holds back its own events.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::conn::ConnHandle;
use super::outgoing::Outgoing;

/// Messages that are held back for one thread; beyond that the connection is closed and its client resumes.
const MAX_HELD: usize = 1024;

/// The threads whose response is on its way to one connection.
#[derive(Default)]
pub struct Openings(Mutex<HashMap<String, Held>>);

#[derive(Default)]
struct Held {
    /// Responses that are on their way.
    responses: usize,
    messages: Vec<Outgoing>,
}

/// A response is on its way. When this is dropped, it is in the outbox or will never be.
pub struct Opening {
    conn: ConnHandle,
    thread_id: String,
}

impl Openings {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Opening {
    /// From now on what is told of this thread is held back.
    pub fn begin(conn: &ConnHandle, thread_id: &str) -> Self {
        conn.openings()
            .lock()
            .entry(thread_id.to_owned())
            .or_default()
            .responses += 1;
        Self {
            conn: conn.clone(),
            thread_id: thread_id.to_owned(),
        }
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        // Sent under the lock, so that nothing told from now on overtakes what was held back.
        let mut openings = self.conn.openings().lock();
        if let Some(held) = openings.get_mut(&self.thread_id) {
            held.responses -= 1;
            if held.responses == 0 {
                for message in openings.remove(&self.thread_id).unwrap_or_default().messages {
                    self.conn.send(message);
                }
            }
        }
    }
}

/// Tells a connection something of a thread: now, or after the response that it waits for.
pub fn tell(conn: &ConnHandle, thread_id: &str, message: Outgoing) {
    let mut openings = conn.openings().lock();
    match openings.get_mut(thread_id) {
        Some(held) if held.messages.len() >= MAX_HELD => {
            conn.close("too much happened to a thread while its response was being written");
        }
        Some(held) => held.messages.push(message),
        None => {
            conn.send(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn sent(conn: &ConnHandle) -> Vec<String> {
        let batch = conn.outbox().next_batch().now_or_never().flatten().unwrap_or_default();
        batch
            .iter()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .collect()
    }

    #[test]
    fn what_is_told_of_a_thread_waits_for_its_last_response() {
        let conn = ConnHandle::new(0);
        let first = Opening::begin(&conn, "a");
        let second = Opening::begin(&conn, "a");
        tell(&conn, "a", Outgoing::plain("a1"));
        tell(&conn, "b", Outgoing::plain("b1"));
        conn.send(Outgoing::plain("response 1"));
        drop(first);
        tell(&conn, "a", Outgoing::plain("a2"));
        conn.send(Outgoing::plain("response 2"));
        drop(second);
        tell(&conn, "a", Outgoing::plain("a3"));
        assert_eq!(sent(&conn), ["b1", "response 1", "response 2", "a1", "a2", "a3"]);
    }

    #[test]
    fn too_much_closes_the_connection() {
        let conn = ConnHandle::new(0);
        let _opening = Opening::begin(&conn, "a");
        for _ in 0..=MAX_HELD {
            assert!(!conn.is_closed());
            tell(&conn, "a", Outgoing::plain("x"));
        }
        assert!(conn.is_closed());
    }
}
