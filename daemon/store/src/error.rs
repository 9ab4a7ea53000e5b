//! What can go wrong in the store, and the one place where SQLite's result codes get a meaning.
//!
//! Must not decide what to do about an error; callers and the RPC edge do.

use std::path::{Path, PathBuf};

use agentd_engine::rollout::RolloutError;

/// A failed operation of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database was written by a newer agentd.
    #[error("the database has schema version {found}, this agentd knows up to {supported}; please update agentd")]
    NewerDatabase {
        /// Version in the file.
        found: i64,
        /// Highest version this build knows.
        supported: i64,
    },
    /// The file is damaged or is no SQLite database.
    #[error("{operation}: the database is damaged: {source}")]
    Corrupt {
        /// What was being done.
        operation: &'static str,
        /// SQLite's own words.
        source: rusqlite::Error,
    },
    /// No space left; nothing of the request was stored.
    #[error("{operation}: no space left on the disk")]
    DiskFull {
        /// What was being done.
        operation: &'static str,
    },
    /// The writer's queue is full; try again later.
    #[error("the store is busy; retry later")]
    Busy,
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// No such thread.
    #[error("thread not found: {0}")]
    UnknownThread(String),
    /// The thread has no such turn, or it still runs.
    #[error("turn not found: {0}")]
    UnknownTurn(String),
    /// A second `ThreadStarted` for the same thread.
    #[error("thread {0} exists already")]
    ThreadExists(String),
    /// A thread has to begin with `ThreadStarted` and `Settings` in one append.
    #[error("thread {0} does not begin with its record and settings")]
    IncompleteThread(String),
    /// The cursor was not made by this list (for threads: with this sort key).
    #[error("invalid cursor: {0}")]
    InvalidCursor(String),
    /// A rollout line cannot be written or read.
    #[error(transparent)]
    Line(#[from] RolloutError),
    /// JSON in a column does not fit its type.
    #[error("{what}: {source}")]
    Json {
        /// Which column.
        what: &'static str,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The file system refused.
    #[error("{operation} {}: {source}", path.display())]
    Io {
        /// What was being done.
        operation: &'static str,
        /// To what.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Anything else SQLite reports.
    #[error("{operation}: {source}")]
    Sqlite {
        /// What was being done.
        operation: &'static str,
        /// SQLite's own words.
        source: rusqlite::Error,
    },
}

impl StoreError {
    /// For `map_err` after file system calls.
    pub(crate) fn io(operation: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            operation,
            path,
            source,
        }
    }

    /// For `map_err` around JSON columns.
    pub(crate) fn json(what: &'static str) -> impl FnOnce(serde_json::Error) -> Self {
        move |source| Self::Json { what, source }
    }
}

/// Gives an SQLite result the name of the operation and a type callers can act on.
pub(crate) trait During<T> {
    /// `operation` names what was being done, for people.
    fn during(self, operation: &'static str) -> Result<T, StoreError>;
}

impl<T> During<T> for rusqlite::Result<T> {
    fn during(self, operation: &'static str) -> Result<T, StoreError> {
        self.map_err(|source| match source.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => StoreError::DiskFull { operation },
            Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
                StoreError::Corrupt { operation, source }
            }
            _ => StoreError::Sqlite { operation, source },
        })
    }
}
