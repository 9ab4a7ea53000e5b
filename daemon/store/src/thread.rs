//! Table `thread`: the metadata row of each thread, and the integer key the other tables use.
//!
//! Listing is in `list.rs`. Which line changes which column is decided in `projection.rs`.

use agentd_engine::rollout::ThreadRecord;
use agentd_protocol::settings::ThreadSettings;
use agentd_protocol::turn::TurnStatus;
use agentd_protocol::usage::ThreadTokenUsage;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::de::DeserializeOwned;

use crate::error::{During, StoreError};
use crate::turn::{status_of, status_word};

/// What is known of a thread without reading its rollout.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadRow {
    /// What was fixed at its start.
    pub record: ThreadRecord,
    /// The latest settings.
    pub settings: ThreadSettings,
    /// The name the user gave.
    pub name: Option<String>,
    /// Text of the first user message, at most 500 characters.
    pub preview: String,
    /// Unix milliseconds of the last start or end of a turn (or of the thread's start).
    pub updated_at_ms: i64,
    /// Unix milliseconds of the last start of a turn (or of the thread's start).
    pub recency_at_ms: i64,
    /// Whether the user put it away.
    pub archived: bool,
    /// How the last turn stands; `None` before the first one.
    pub last_turn_status: Option<TurnStatus>,
    /// Usage after the last model response.
    pub usage: Option<ThreadTokenUsage>,
}

/// Columns in the order `read` expects them, of [`SOURCE`].
pub(crate) const COLUMNS: &str =
    "r.payload, s.payload, t.name, t.preview, t.updated_at_ms, t.recency_at_ms, t.archived,
     t.last_turn_status, t.usage";

/// The row with the two rollout lines it refers to. CROSS JOIN keeps SQLite from starting with the lines.
pub(crate) const SOURCE: &str = "thread t
     CROSS JOIN rollout_line r ON r.thread_key = t.thread_key AND r.seq = 1
     CROSS JOIN rollout_line s ON s.thread_key = t.thread_key AND s.seq = t.settings_seq";

/// Reads [`COLUMNS`].
pub(crate) fn read(row: &Row<'_>) -> Result<ThreadRow, StoreError> {
    const OP: &str = "read a thread";
    let status: Option<String> = row.get(7).during(OP)?;
    let usage: Option<String> = row.get(8).during(OP)?;
    Ok(ThreadRow {
        record: json(row, 0, "thread record")?,
        settings: json(row, 1, "thread settings")?,
        name: row.get(2).during(OP)?,
        preview: row.get(3).during(OP)?,
        updated_at_ms: row.get(4).during(OP)?,
        recency_at_ms: row.get(5).during(OP)?,
        archived: row.get(6).during(OP)?,
        last_turn_status: status.as_deref().map(status_of),
        usage: usage
            .map(|u| serde_json::from_str(&u))
            .transpose()
            .map_err(StoreError::json("thread.usage"))?,
    })
}

fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize, what: &'static str) -> Result<T, StoreError> {
    let text = row
        .get_ref(column)
        .and_then(|v| Ok(v.as_str()?))
        .during("read a thread")?;
    serde_json::from_str(text).map_err(StoreError::json(what))
}

/// The row of one thread.
pub(crate) fn find(conn: &Connection, thread_id: &str) -> Result<Option<ThreadRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM {SOURCE} WHERE t.thread_id = ?1");
    let mut statement = conn.prepare_cached(&sql).during("read a thread")?;
    let mut rows = statement.query([thread_id]).during("read a thread")?;
    rows.next().during("read a thread")?.map(read).transpose()
}

/// The key of a thread.
pub(crate) fn key(conn: &Connection, thread_id: &str) -> Result<Option<i64>, StoreError> {
    let mut statement = conn
        .prepare_cached("SELECT thread_key FROM thread WHERE thread_id = ?1")
        .during("find a thread")?;
    statement
        .query_row([thread_id], |row| row.get(0))
        .optional()
        .during("find a thread")
}

/// What the writer has to know of a stored thread: key, whether it has a preview, whether it is unfinished.
pub(crate) fn write_facts(conn: &Connection, thread_id: &str) -> Result<Option<(i64, bool, bool)>, StoreError> {
    const SQL: &str = "SELECT thread_key, preview <> '', unfinished FROM thread WHERE thread_id = ?1";
    let mut statement = conn.prepare_cached(SQL).during("find a thread")?;
    let facts = statement.query_row([thread_id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    facts.optional().during("find a thread")
}

/// Ids of threads in which a turn runs or an item is open, oldest first.
pub(crate) fn unfinished(conn: &Connection) -> Result<Vec<String>, StoreError> {
    const SQL: &str = "SELECT thread_id FROM thread WHERE unfinished = 1 ORDER BY thread_key";
    let mut statement = conn.prepare_cached(SQL).during("find unfinished threads")?;
    let rows = statement
        .query_map([], |row| row.get(0))
        .during("find unfinished threads")?;
    rows.collect::<rusqlite::Result<_>>().during("find unfinished threads")
}

/// Adds a thread and returns its key. Its first two lines will be the record and the settings.
pub(crate) fn insert(conn: &Connection, record: &ThreadRecord, settings: &ThreadSettings) -> Result<i64, StoreError> {
    const SQL: &str = "INSERT INTO thread (thread_id, created_at_ms, updated_at_ms, recency_at_ms, source,
            model_provider, model, cwd, settings_seq)
         VALUES (?1, ?2, ?2, ?2, ?3, ?4, ?5, ?6, 2)";
    let ThreadSettings {
        model_provider,
        model,
        cwd,
        ..
    } = settings;
    let mut statement = conn.prepare_cached(SQL).during("store a thread")?;
    let values = params![
        record.id,
        record.created_at_ms,
        record.source,
        model_provider,
        model,
        cwd
    ];
    statement.insert(values).during("store a thread")
}

/// What the lines of one append change in the row; `None` leaves a column as it is.
#[derive(Default)]
pub(crate) struct ThreadChange {
    pub(crate) updated_at_ms: Option<i64>,
    pub(crate) recency_at_ms: Option<i64>,
    pub(crate) last_turn_status: Option<TurnStatus>,
    /// The latest settings and their line.
    pub(crate) settings: Option<(i64, ThreadSettings)>,
    pub(crate) usage: Option<ThreadTokenUsage>,
    pub(crate) preview: Option<String>,
    pub(crate) name: Option<Option<String>>,
    pub(crate) unfinished: Option<bool>,
}

/// Writes the change. SQLite rewrites the entries of every index one of whose columns a statement names, changed or not;
/// therefore the indexed columns have statements of their own.
pub(crate) fn update(conn: &Connection, thread_key: i64, change: &ThreadChange) -> Result<(), StoreError> {
    update_columns(conn, thread_key, change)?;
    if let Some((seq, settings)) = &change.settings {
        update_settings(conn, thread_key, *seq, settings)?;
    }
    if let Some(ms) = change.recency_at_ms {
        set(
            conn,
            "UPDATE thread SET recency_at_ms = max(recency_at_ms, ?2) WHERE thread_key = ?1",
            thread_key,
            ms,
        )?;
    }
    if let Some(unfinished) = change.unfinished {
        set(
            conn,
            "UPDATE thread SET unfinished = ?2 WHERE thread_key = ?1",
            thread_key,
            unfinished,
        )?;
    }
    if let Some(name) = &change.name {
        set(
            conn,
            "UPDATE thread SET name = ?2 WHERE thread_key = ?1",
            thread_key,
            name,
        )?;
    }
    Ok(())
}

fn update_columns(conn: &Connection, thread_key: i64, change: &ThreadChange) -> Result<(), StoreError> {
    const SQL: &str = "UPDATE thread SET updated_at_ms = max(updated_at_ms, coalesce(?2, updated_at_ms)),
            last_turn_status = coalesce(?3, last_turn_status), usage = coalesce(?4, usage),
            preview = coalesce(?5, preview)
         WHERE thread_key = ?1";
    let ThreadChange {
        updated_at_ms,
        last_turn_status,
        usage,
        preview,
        ..
    } = change;
    if updated_at_ms.is_none() && last_turn_status.is_none() && usage.is_none() && preview.is_none() {
        return Ok(());
    }
    let usage = usage
        .as_ref()
        .map(serde_json::to_string)
        .transpose()
        .map_err(StoreError::json("thread.usage"))?;
    let mut statement = conn.prepare_cached(SQL).during("update a thread")?;
    let values = params![
        thread_key,
        updated_at_ms,
        last_turn_status.map(status_word),
        usage,
        preview
    ];
    statement.execute(values).during("update a thread")?;
    Ok(())
}

fn update_settings(conn: &Connection, thread_key: i64, seq: i64, settings: &ThreadSettings) -> Result<(), StoreError> {
    const SQL: &str =
        "UPDATE thread SET settings_seq = ?2, model_provider = ?3, model = ?4, cwd = ?5 WHERE thread_key = ?1";
    let mut statement = conn.prepare_cached(SQL).during("update a thread")?;
    let values = params![thread_key, seq, settings.model_provider, settings.model, settings.cwd];
    statement.execute(values).during("update a thread")?;
    Ok(())
}

/// Marks a thread as put away or brings it back.
pub(crate) fn set_archived(conn: &Connection, thread_key: i64, archived: bool) -> Result<(), StoreError> {
    set(
        conn,
        "UPDATE thread SET archived = ?2 WHERE thread_key = ?1",
        thread_key,
        archived,
    )
}

fn set(conn: &Connection, sql: &str, thread_key: i64, value: impl rusqlite::ToSql) -> Result<(), StoreError> {
    let mut statement = conn.prepare_cached(sql).during("update a thread")?;
    statement
        .execute(params![thread_key, value])
        .during("update a thread")?;
    Ok(())
}

/// Puts the projected columns back to what they were before the first line. `archived` stays: it is in no line.
pub(crate) fn clear(conn: &Connection, thread_key: i64) -> Result<(), StoreError> {
    const SQL: &str = "UPDATE thread SET updated_at_ms = created_at_ms, recency_at_ms = created_at_ms, unfinished = 0,
            last_turn_status = NULL, name = NULL, preview = '', usage = NULL
         WHERE thread_key = ?1";
    conn.execute(SQL, [thread_key]).during("clear a thread")?;
    Ok(())
}
