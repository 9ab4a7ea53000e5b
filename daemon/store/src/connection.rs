//! Opens the database file: names, permissions, pragmas.
//!
//! Knows no table. The writer and the readers differ only in what is said here.

use std::fs::{DirBuilder, OpenOptions, Permissions, set_permissions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::error::{During, StoreError};
use crate::migrate::migrate;

/// Name of the database file in the directory.
pub const FILE_NAME: &str = "agentd.sqlite";

/// Only another process (a backup, a curious person with a shell) can hold a lock this long.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// A quarter of SQLite's default. A commit writes whole pages, and a turn touches about ten places in different tables for a
/// few dozen bytes each: measured 26 KB a turn, against 43 KB with 2 KiB pages and 67 KB with 4 KiB pages (`tests/cost.rs`).
const PAGE_SIZE: u32 = 1024;

/// More than the statements of one side of the store.
const CACHED_STATEMENTS: usize = 40;

/// Where the database lies.
pub(crate) fn path_in(dir: &Path) -> PathBuf {
    dir.join(FILE_NAME)
}

/// Opens (and creates) the database for the one writer. `max_pages` makes it run out of space earlier than the disk.
pub(crate) fn open_writer(dir: &Path, max_pages: Option<u32>) -> Result<Connection, StoreError> {
    let path = path_in(dir);
    make_private(dir, &path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(&path, flags).during("open the database")?;
    conn.busy_timeout(BUSY_TIMEOUT).during("open the database")?;
    // The page size only takes effect on a database that is still empty, so it precedes everything that writes.
    let pragmas = format!(
        "PRAGMA page_size = {PAGE_SIZE};
         PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = ON;
         PRAGMA cache_size = -1000;
         PRAGMA temp_store = MEMORY;
         PRAGMA wal_autocheckpoint = 2000;
         PRAGMA journal_size_limit = 4194304;"
    );
    conn.execute_batch(&pragmas).during("set up the database")?;
    if let Some(pages) = max_pages {
        conn.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
            .during("limit the database")?;
    }
    conn.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    migrate(&mut conn)?;
    Ok(conn)
}

/// Opens one read-only connection to a database the writer has opened before.
pub(crate) fn open_reader(dir: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path_in(dir), flags).during("open the database to read")?;
    conn.busy_timeout(BUSY_TIMEOUT).during("open the database to read")?;
    conn.execute_batch("PRAGMA cache_size = -500; PRAGMA query_only = ON;")
        .during("open the database to read")?;
    conn.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    Ok(conn)
}

/// Creates what is missing for the owner alone. SQLite gives `-wal` and `-shm` the mode of the main file; left-overs of a
/// crash are corrected too.
fn make_private(dir: &Path, path: &Path) -> Result<(), StoreError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(StoreError::io("create", dir))?;
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
        .map_err(StoreError::io("create the database", path))?;
    for suffix in ["", "-wal", "-shm"] {
        let file = dir.join(format!("{FILE_NAME}{suffix}"));
        match set_permissions(&file, Permissions::from_mode(0o600)) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            other => other.map_err(StoreError::io("make private", &file))?,
        }
    }
    Ok(())
}
