//! Rollouts in SQLite: one writer thread, read-only readers.
//!
//! The only crate that names rusqlite. It stores [`RolloutLine`]s, keeps the projections that clients page through, and
//! decides nothing: what an unfinished turn means after a crash is the daemon's business. Start reading at
//! `projection.rs` (what a line means for the tables) and `writer.rs` (how it gets there).

mod approval;
mod checkpoint;
mod connection;
mod error;
mod fork;
mod history;
mod item;
mod list;
mod migrate;
mod page;
mod place;
mod projection;
mod reader;
mod rollout_line;
#[cfg(test)]
mod store_tests;
mod thread;
mod turn;
mod writer;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use agentd_engine::rollout::RolloutLine;
use agentd_protocol::turn::{ItemsView, Turn};
use rusqlite::Connection;
use tokio::sync::mpsc::{self, OwnedPermit, error::TrySendError};
use tokio::sync::oneshot;

pub use approval::ApprovalRow;
pub use connection::FILE_NAME;
pub use error::StoreError;
pub use fork::ForkPoint;
pub use list::{DEFAULT_LIMIT, ListPage, ListQuery, MAX_LIMIT, SortDirection, SortKey};
pub use migrate::SCHEMA_VERSION;
pub use page::{ItemEntry, Page, PageQuery};
pub use thread::ThreadRow;

use reader::Readers;
use writer::{Request, Write};

/// The database of one home directory. Clones share it; the last one that is dropped closes it.
///
/// Only one process may open a directory at a time; the daemon holds a lock for that.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    /// To the writer. Closed by the writer when it has seen `Shutdown`.
    queue: mpsc::Sender<Request>,
    /// Taken by the first `close`.
    ending: Mutex<Option<Ending>>,
    readers: Readers,
}

/// What it takes to end the writer.
struct Ending {
    /// A place in the queue kept for `Shutdown` from the start, so that closing never waits for room.
    permit: OwnedPermit<Request>,
    writer: JoinHandle<()>,
}

impl Store {
    /// Opens the database in `dir`, creating or migrating it as needed, and starts the writer.
    ///
    /// # Errors
    /// [`StoreError::NewerDatabase`], [`StoreError::Corrupt`], [`StoreError::DiskFull`], [`StoreError::Io`].
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        Self::open_limited(dir, None)
    }

    fn open_limited(dir: &Path, max_pages: Option<u32>) -> Result<Self, StoreError> {
        let conn = connection::open_writer(dir, max_pages)?;
        let (queue, writer) = writer::spawn(conn).map_err(StoreError::io("start the writer of", dir))?;
        let permit = queue.clone().try_reserve_owned().map_err(|_| StoreError::Closed)?;
        let ending = Mutex::new(Some(Ending { permit, writer }));
        Ok(Self {
            inner: Arc::new(Inner {
                queue,
                ending,
                readers: Readers::new(dir.to_owned()),
            }),
        })
    }

    /// Appends lines to a thread; they are durable when this returns. The first append of a thread begins with
    /// `ThreadStarted` and `Settings`. Waits for room while the queue is full. If the caller stops waiting, the lines may
    /// still be stored.
    ///
    /// # Errors
    /// Nothing was stored: [`StoreError::UnknownThread`], [`StoreError::ThreadExists`], [`StoreError::IncompleteThread`],
    /// [`StoreError::DiskFull`], [`StoreError::Closed`], or what SQLite says.
    pub async fn append(&self, thread_id: &str, lines: Vec<RolloutLine>) -> Result<(), StoreError> {
        let lines = rollout_line::encode(lines)?;
        self.write(Write::Append {
            thread_id: thread_id.to_owned(),
            lines,
        })
        .await
    }

    /// Queues lines without waiting for them; in order with every other append of the same caller. A later failure is
    /// logged.
    ///
    /// # Errors
    /// [`StoreError::Busy`] if the queue is full (keep the lines and try later), [`StoreError::Closed`].
    pub fn append_detached(&self, thread_id: &str, lines: Vec<RolloutLine>) -> Result<(), StoreError> {
        let permit = self.inner.queue.try_reserve().map_err(|e| match e {
            TrySendError::Full(()) => StoreError::Busy,
            TrySendError::Closed(()) => StoreError::Closed,
        })?;
        let lines = rollout_line::encode(lines)?;
        permit.send(Request {
            write: Write::Append {
                thread_id: thread_id.to_owned(),
                lines,
            },
            ack: None,
        });
        Ok(())
    }

    /// Adds a thread that begins as another one does, without copying anything. `lines` are its own and begin with
    /// `ThreadStarted` and `Settings`. Durable when this returns.
    ///
    /// # Errors
    /// As [`Store::append`], and [`StoreError::UnknownTurn`].
    pub async fn fork(&self, thread_id: &str, point: ForkPoint, lines: Vec<RolloutLine>) -> Result<(), StoreError> {
        let lines = rollout_line::encode(lines)?;
        self.write(Write::Fork {
            thread_id: thread_id.to_owned(),
            point,
            lines,
        })
        .await
    }

    /// Puts a thread away or brings it back. Durable when this returns.
    ///
    /// # Errors
    /// As [`Store::append`].
    pub async fn set_archived(&self, thread_id: &str, archived: bool) -> Result<(), StoreError> {
        self.write(Write::SetArchived {
            thread_id: thread_id.to_owned(),
            archived,
        })
        .await
    }

    /// Derives turns, items, approvals and the thread's row again from the rollout.
    ///
    /// # Errors
    /// As [`Store::append`], and [`StoreError::Line`] for a line this build cannot read.
    pub async fn rebuild_projections(&self, thread_id: &str) -> Result<(), StoreError> {
        self.write(Write::Rebuild {
            thread_id: thread_id.to_owned(),
        })
        .await
    }

    async fn write(&self, write: Write) -> Result<(), StoreError> {
        let (ack, done) = oneshot::channel();
        let request = Request { write, ack: Some(ack) };
        self.inner.queue.send(request).await.map_err(|_| StoreError::Closed)?;
        done.await.map_err(|_| StoreError::Closed)?
    }

    /// Writes what is queued, empties the write-ahead log and ends the writer. Blocks for that long; later calls fail with
    /// [`StoreError::Closed`].
    pub fn close(&self) {
        self.inner.close();
    }

    /// The metadata of a thread. Blocking.
    ///
    /// # Errors
    /// What SQLite says, [`StoreError::Json`], [`StoreError::Closed`].
    pub fn thread(&self, id: &str) -> Result<Option<ThreadRow>, StoreError> {
        self.inner.readers.read(|conn| thread::find(conn, id))
    }

    /// A page of threads. Blocking.
    ///
    /// # Errors
    /// As [`Store::thread`], and [`StoreError::InvalidCursor`].
    pub fn list_threads(&self, query: &ListQuery) -> Result<ListPage, StoreError> {
        self.inner.readers.read(|conn| list::list(conn, query))
    }

    /// All turns of a thread with all items, as clients see them; open items with their text so far. Blocking.
    ///
    /// # Errors
    /// As [`Store::thread`], and [`StoreError::UnknownThread`].
    pub fn turns(&self, thread_id: &str) -> Result<Vec<Turn>, StoreError> {
        self.of_thread(thread_id, history::turns)
    }

    /// All lines of a thread in order, then the text so far of its open items as `ItemText` lines. Blocking.
    ///
    /// # Errors
    /// As [`Store::thread`], [`StoreError::UnknownThread`], and [`StoreError::Line`] for a line this build cannot read.
    pub fn rollout(&self, thread_id: &str) -> Result<Vec<RolloutLine>, StoreError> {
        self.of_thread(thread_id, history::rollout)
    }

    /// What a fork would share with its source: lines that follow the fork's own record and settings, and the turns.
    /// Blocking.
    ///
    /// # Errors
    /// As [`Store::rollout`], and [`StoreError::UnknownTurn`].
    pub fn shared(&self, point: &ForkPoint) -> Result<(Vec<RolloutLine>, Vec<Turn>), StoreError> {
        let last = point.last_turn_id.as_deref();
        self.of_thread(&point.source_id, |conn, key| history::shared(conn, key, last))
    }

    /// A page of turns. A turn carries the items that `view` says, open ones with their text so far. Blocking.
    ///
    /// # Errors
    /// As [`Store::turns`], and [`StoreError::InvalidCursor`].
    pub fn turns_page(&self, thread_id: &str, query: &PageQuery, view: ItemsView) -> Result<Page<Turn>, StoreError> {
        self.of_thread(thread_id, |conn, key| page::turns(conn, key, query, view))
    }

    /// A page of items, of one turn or of all; open ones with their text so far. Blocking.
    ///
    /// # Errors
    /// As [`Store::turns_page`], and [`StoreError::UnknownTurn`].
    pub fn items_page(
        &self,
        thread_id: &str,
        turn_id: Option<&str>,
        query: &PageQuery,
    ) -> Result<Page<ItemEntry>, StoreError> {
        self.of_thread(thread_id, |conn, key| page::items(conn, key, turn_id, query))
    }

    /// The approvals of a thread in the order they were asked. Blocking.
    ///
    /// # Errors
    /// As [`Store::thread`], and [`StoreError::UnknownThread`].
    pub fn approvals(&self, thread_id: &str) -> Result<Vec<ApprovalRow>, StoreError> {
        self.of_thread(thread_id, approval::read_all)
    }

    /// Ids of threads in which a turn runs or an item is open, oldest first. Blocking, and cheap when there is none.
    ///
    /// # Errors
    /// What SQLite says, [`StoreError::Closed`].
    pub fn unfinished_threads(&self) -> Result<Vec<String>, StoreError> {
        self.inner.readers.read(thread::unfinished)
    }

    fn of_thread<T>(
        &self,
        thread_id: &str,
        read: impl FnOnce(&Connection, i64) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.inner.readers.read(|conn| {
            let key = thread::key(conn, thread_id)?.ok_or_else(|| StoreError::UnknownThread(thread_id.to_owned()))?;
            read(conn, key)
        })
    }
}

impl Inner {
    fn close(&self) {
        let ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.readers.close();
        let Some(Ending { permit, writer }) = ending else {
            return;
        };
        permit.send(Request {
            write: Write::Shutdown,
            ack: None,
        });
        if writer.join().is_err() {
            tracing::error!("the store's writer panicked");
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}
