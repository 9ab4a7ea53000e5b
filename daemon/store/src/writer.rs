//! The one writer: a thread that owns the only writing connection.
//!
//! Takes everything that is queued, writes it in one transaction, commits, and only then answers. Knows nothing of what a
//! line means; that is `projection.rs`.

use std::thread::JoinHandle;

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use crate::error::{During, StoreError};
use crate::fork::ForkPoint;
use crate::place::Places;
use crate::projection;
use crate::rollout_line::Line;
use crate::thread;

/// Requests that may wait. Full: `append` waits, `append_detached` says [`StoreError::Busy`].
pub(crate) const QUEUE: usize = 512;

/// Requests that are written in one transaction at most, so that the first one does not wait for ever.
const BATCH: usize = 256;

/// Everything that can be written.
pub(crate) enum Write {
    /// Adds lines to a thread.
    Append { thread_id: String, lines: Vec<Line> },
    /// Adds a thread that begins as another one does.
    Fork {
        thread_id: String,
        point: ForkPoint,
        lines: Vec<Line>,
    },
    /// Puts a thread away or brings it back.
    SetArchived { thread_id: String, archived: bool },
    /// Derives the projections of a thread again.
    Rebuild { thread_id: String },
    /// Writes what is queued, then ends.
    Shutdown,
}

/// A write and the one who waits for it, if anybody does.
pub(crate) struct Request {
    pub(crate) write: Write,
    pub(crate) ack: Option<oneshot::Sender<Result<(), StoreError>>>,
}

impl Request {
    fn answer(self, result: Result<(), StoreError>) {
        match (self.ack, result) {
            // Nobody listens any more when the caller was cancelled; the write is done all the same.
            (Some(ack), result) => drop(ack.send(result)),
            (None, Err(error)) => tracing::warn!(%error, "a write that nobody waits for failed"),
            (None, Ok(())) => {}
        }
    }
}

/// Starts the writer thread. It ends after [`Write::Shutdown`] or when all senders are gone.
pub(crate) fn spawn(conn: Connection) -> std::io::Result<(mpsc::Sender<Request>, JoinHandle<()>)> {
    let (sender, queue) = mpsc::channel(QUEUE);
    let writer = Writer {
        conn,
        places: Places::default(),
    };
    let handle = std::thread::Builder::new()
        .name("store-writer".to_owned())
        .spawn(move || writer.run(queue))?;
    Ok((sender, handle))
}

struct Writer {
    conn: Connection,
    places: Places,
}

impl Writer {
    fn run(mut self, mut queue: mpsc::Receiver<Request>) {
        let mut batch = Vec::new();
        while queue.blocking_recv_many(&mut batch, BATCH) > 0 {
            if batch.iter().any(|r| matches!(r.write, Write::Shutdown)) {
                queue.close();
                batch.retain(|r| !matches!(r.write, Write::Shutdown));
            }
            self.write(&mut batch);
        }
        let truncated = self.conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        if let Err(error) = truncated.during("checkpoint the database") {
            tracing::warn!(%error, "the write-ahead log stays for the next start");
        }
    }

    /// One transaction for all; if that fails, one for each, so that a bad request fails alone.
    fn write(&mut self, batch: &mut Vec<Request>) {
        let together = batch.len() > 1 && self.transaction(batch).is_ok();
        for request in batch.drain(..) {
            let result = if together {
                Ok(())
            } else {
                self.transaction(std::slice::from_ref(&request))
            };
            request.answer(result);
        }
    }

    fn transaction(&mut self, requests: &[Request]) -> Result<(), StoreError> {
        let result = self.try_transaction(requests);
        if result.is_err() {
            self.places.clear();
        }
        result
    }

    fn try_transaction(&mut self, requests: &[Request]) -> Result<(), StoreError> {
        let tx = self
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .during("begin a transaction")?;
        for request in requests {
            apply(&tx, &mut self.places, &request.write)?;
        }
        tx.commit().during("commit")
    }
}

fn apply(conn: &Connection, places: &mut Places, write: &Write) -> Result<(), StoreError> {
    match write {
        Write::Append { thread_id, lines } => projection::append(conn, places, thread_id, lines),
        Write::Fork {
            thread_id,
            point,
            lines,
        } => projection::fork(conn, places, thread_id, point, lines),
        Write::SetArchived { thread_id, archived } => set_archived(conn, thread_id, *archived),
        Write::Rebuild { thread_id } => projection::rebuild(conn, places, thread_id),
        Write::Shutdown => Ok(()),
    }
}

fn set_archived(conn: &Connection, thread_id: &str, archived: bool) -> Result<(), StoreError> {
    let key = thread::key(conn, thread_id)?.ok_or_else(|| StoreError::UnknownThread(thread_id.to_owned()))?;
    thread::set_archived(conn, key, archived)
}

/// Writes the requests as one batch, without a thread.
#[cfg(test)]
pub(crate) fn write_batch(conn: Connection, mut requests: Vec<Request>) {
    Writer {
        conn,
        places: Places::default(),
    }
    .write(&mut requests);
}
