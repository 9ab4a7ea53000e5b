//! Results that may be large: few are built at once, and a connection gets its next one only when it has read the last.
//!
//! Bounds what clients can make the daemon hold: whoever asks for much and reads nothing costs one result, and keeps nobody
//! from getting theirs.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::conn::ConnHandle;

/// Large results that are built at once in the whole daemon.
const AT_ONCE: usize = 4;

/// Places for building large results.
pub struct LargeResults(Arc<Semaphore>);

/// A result that is being built, or built and not in its outbox yet.
pub struct Building {
    /// Until it is in the outbox.
    _of_connection: Option<OwnedSemaphorePermit>,
    /// Until it is text: after that its client decides how long it takes, and others must not wait for a client.
    of_daemon: Option<OwnedSemaphorePermit>,
}

impl Default for LargeResults {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl LargeResults {
    /// Waits for the turn of this connection, until it has read its last large result, then for a place.
    pub async fn begin(&self, conn: &ConnHandle) -> Building {
        // An error would mean a closed semaphore; these are never closed.
        let of_connection = conn.large_turn().acquire_owned().await.ok();
        conn.outbox().large_are_written().await;
        Building {
            _of_connection: of_connection,
            of_daemon: self.0.clone().acquire_owned().await.ok(),
        }
    }
}

impl Building {
    /// The result is built.
    pub fn done(&mut self) {
        self.of_daemon = None;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::super::outgoing::{LARGE, Outgoing};
    use super::*;

    #[tokio::test]
    async fn a_connection_gets_its_next_one_when_it_has_read_the_last() {
        let (all, conn, other) = (LargeResults::default(), ConnHandle::new(0), ConnHandle::new(1));
        let mut first = all.begin(&conn).await;
        let mut second = Box::pin(all.begin(&conn));
        assert!((&mut second).now_or_never().is_none(), "one at a time");
        first.done();
        conn.send(Outgoing::plain("x".repeat(LARGE + 1)));
        drop(first);
        assert!((&mut second).now_or_never().is_none(), "it waits in the outbox");
        conn.outbox().next_batch().await.expect("a batch");
        assert!((&mut second).now_or_never().is_none(), "it is being written");
        assert!(all.begin(&other).now_or_never().is_some(), "others go on");
        assert!(conn.outbox().next_batch().now_or_never().is_none());
        assert!((&mut second).now_or_never().is_some());
    }

    #[tokio::test]
    async fn few_are_built_at_once_and_unread_ones_do_not_count() {
        let all = LargeResults::default();
        let mut building = Vec::new();
        for id in 0..AT_ONCE as u64 {
            building.push(all.begin(&ConnHandle::new(id)).await);
        }
        let late = ConnHandle::new(99);
        assert!(all.begin(&late).now_or_never().is_none());
        building[0].done();
        assert!(all.begin(&late).now_or_never().is_some());
    }
}
