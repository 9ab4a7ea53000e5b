//! Readers: a few read-only connections that are handed out one at a time.
//!
//! Blocking; the daemon calls it on its blocking pool. The lock is held to take or return a connection, never while reading.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use crate::connection::open_reader;
use crate::error::{During, StoreError};

/// Connections at a time. A fifth reader waits until one of the four has finished its read.
const MAX_READERS: usize = 4;

/// Connections kept while nobody reads; each costs some hundred kilobytes.
const MAX_IDLE: usize = 1;

pub(crate) struct Readers {
    dir: PathBuf,
    pool: Mutex<Pool>,
    /// Signalled when a connection comes back and when the pool closes.
    returned: Condvar,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Connection>,
    in_use: usize,
    closed: bool,
}

impl Readers {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self {
            dir,
            pool: Mutex::default(),
            returned: Condvar::new(),
        }
    }

    /// Runs `read` in a read transaction: everything it reads is of one moment.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut lease = self.take()?;
        let conn = match lease.conn.take() {
            Some(conn) => conn,
            None => open_reader(&self.dir)?,
        };
        let result = in_transaction(&conn, read);
        // A connection that failed is not used again.
        lease.conn = result.is_ok().then_some(conn);
        result
    }

    /// Closes the idle connections; those in use close when they come back.
    pub(crate) fn close(&self) {
        let mut pool = self.lock();
        pool.closed = true;
        pool.idle.clear();
        self.returned.notify_all();
    }

    fn take(&self) -> Result<Lease<'_>, StoreError> {
        let pool = self.lock();
        let mut pool = self
            .returned
            .wait_while(pool, |p| !p.closed && p.in_use >= MAX_READERS)
            .unwrap_or_else(PoisonError::into_inner);
        if pool.closed {
            return Err(StoreError::Closed);
        }
        pool.in_use += 1;
        Ok(Lease {
            readers: self,
            conn: pool.idle.pop(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        // Nothing under this lock can panic half-way, so a poisoned pool is still a sound one.
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the readers, given back when it is dropped (also by a panic).
struct Lease<'a> {
    readers: &'a Readers,
    conn: Option<Connection>,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let mut pool = self.readers.lock();
        pool.in_use -= 1;
        if !pool.closed && pool.idle.len() < MAX_IDLE {
            pool.idle.extend(self.conn.take());
        }
        self.readers.returned.notify_one();
    }
}

fn in_transaction<T>(
    conn: &Connection,
    read: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let tx = conn.unchecked_transaction().during("begin to read")?;
    let value = read(&tx)?;
    tx.finish().during("end a read")?;
    Ok(value)
}
