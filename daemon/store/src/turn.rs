//! Table `turn`: one row per turn, a projection of `turn_started` and `turn_completed` lines.
//!
//! Also owns the words turn statuses are stored under.

use std::ops::Range;

use agentd_engine::rollout::{TurnCompleted, TurnStarted};
use agentd_protocol::turn::{ItemsView, Turn, TurnStatus};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::{During, StoreError};
use crate::list::SortDirection;

/// Place of a turn in its thread, for the writer.
#[derive(Clone, Debug)]
pub(crate) struct TurnPlace {
    pub(crate) turn_id: String,
    pub(crate) ord: i64,
    pub(crate) open: bool,
    pub(crate) next_item: i64,
}

/// The stored word of a status.
pub(crate) fn status_word(status: TurnStatus) -> &'static str {
    match status {
        TurnStatus::InProgress => "inProgress",
        TurnStatus::Completed => "completed",
        TurnStatus::Interrupted => "interrupted",
        TurnStatus::Failed => "failed",
    }
}

/// The status of a stored word. A word nobody wrote counts as failed: that asks for attention and blocks nothing.
pub(crate) fn status_of(word: &str) -> TurnStatus {
    match word {
        "inProgress" => TurnStatus::InProgress,
        "completed" => TurnStatus::Completed,
        "interrupted" => TurnStatus::Interrupted,
        _ => TurnStatus::Failed,
    }
}

pub(crate) fn insert(conn: &Connection, thread_key: i64, ord: i64, turn: &TurnStarted) -> Result<(), StoreError> {
    const SQL: &str =
        "INSERT INTO turn (thread_key, ord, turn_id, status, started_at_ms) VALUES (?1, ?2, ?3, 'inProgress', ?4)";
    let mut statement = conn.prepare_cached(SQL).during("store a turn")?;
    statement
        .execute(params![thread_key, ord, turn.turn_id, turn.started_at_ms])
        .during("store a turn")?;
    Ok(())
}

/// `seq`: the rollout line that ends the turn.
pub(crate) fn complete(
    conn: &Connection,
    thread_key: i64,
    ord: i64,
    seq: i64,
    turn: &TurnCompleted,
) -> Result<(), StoreError> {
    const SQL: &str = "UPDATE turn SET status = ?3, completed_at_ms = ?4, duration_ms = ?5, error = ?6, end_seq = ?7
         WHERE thread_key = ?1 AND ord = ?2";
    let error = turn
        .error
        .as_ref()
        .map(serde_json::to_string)
        .transpose()
        .map_err(StoreError::json("turn.error"))?;
    let status = status_word(turn.status);
    let mut statement = conn.prepare_cached(SQL).during("complete a turn")?;
    let values = params![
        thread_key,
        ord,
        status,
        turn.completed_at_ms,
        turn.duration_ms,
        error,
        seq
    ];
    statement.execute(values).during("complete a turn")?;
    Ok(())
}

/// The number the next turn of the thread gets.
pub(crate) fn next_ord(conn: &Connection, thread_key: i64) -> Result<i64, StoreError> {
    const SQL: &str = "SELECT max(fork_turns, coalesce((SELECT max(ord) + 1 FROM turn WHERE thread_key = ?1), 0))
         FROM thread WHERE thread_key = ?1";
    let mut statement = conn.prepare_cached(SQL).during("find the last turn")?;
    statement
        .query_row([thread_key], |row| row.get(0))
        .during("find the last turn")
}

const PLACE: &str = "SELECT t.turn_id, t.ord, t.status = 'inProgress',
        (SELECT coalesce(max(i.ord), -1) + 1 FROM item i WHERE i.thread_key = t.thread_key AND i.turn_ord = t.ord)
     FROM turn t WHERE t.thread_key = ?1";

fn place(row: &Row<'_>) -> rusqlite::Result<TurnPlace> {
    Ok(TurnPlace {
        turn_id: row.get(0)?,
        ord: row.get(1)?,
        open: row.get(2)?,
        next_item: row.get(3)?,
    })
}

/// Turns that are still running, in order.
pub(crate) fn open_places(conn: &Connection, thread_key: i64) -> Result<Vec<TurnPlace>, StoreError> {
    let sql = format!("{PLACE} AND t.status = 'inProgress' ORDER BY t.ord");
    let mut statement = conn.prepare_cached(&sql).during("find open turns")?;
    let rows = statement.query_map([thread_key], place).during("find open turns")?;
    rows.collect::<rusqlite::Result<_>>().during("find open turns")
}

/// The latest turn with this id. Reads the thread's turns one after the other: only lines that come after the end of their
/// turn need it, and an index would cost a page in every turn.
pub(crate) fn find_place(conn: &Connection, thread_key: i64, turn_id: &str) -> Result<Option<TurnPlace>, StoreError> {
    let sql = format!("{PLACE} AND t.turn_id = ?2 ORDER BY t.ord DESC LIMIT 1");
    let mut statement = conn.prepare_cached(&sql).during("find a turn")?;
    statement
        .query_row(params![thread_key, turn_id], place)
        .optional()
        .during("find a turn")
}

/// The last turn of these that has ended (with this id, if one is given): its number and the line that ended it.
pub(crate) fn last_ended(
    conn: &Connection,
    thread_key: i64,
    turns: &Range<i64>,
    turn_id: Option<&str>,
) -> Result<Option<(i64, i64)>, StoreError> {
    const SQL: &str = "SELECT ord, end_seq FROM turn
         WHERE thread_key = ?1 AND ord >= ?2 AND ord < ?3 AND end_seq IS NOT NULL AND turn_id = coalesce(?4, turn_id)
         ORDER BY ord DESC LIMIT 1";
    let mut statement = conn.prepare_cached(SQL).during("find the end of a turn")?;
    statement
        .query_row(params![thread_key, turns.start, turns.end, turn_id], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()
        .during("find the end of a turn")
}

/// At most `limit` of these turns with their numbers, still without items.
pub(crate) fn read(
    conn: &Connection,
    thread_key: i64,
    turns: &Range<i64>,
    direction: SortDirection,
    limit: i64,
) -> Result<Vec<(i64, Turn)>, StoreError> {
    let sql = format!(
        "SELECT turn_id, status, started_at_ms, completed_at_ms, duration_ms, error, ord
         FROM turn WHERE thread_key = ?1 AND ord >= ?2 AND ord < ?3 ORDER BY ord {} LIMIT ?4",
        direction.word()
    );
    let mut statement = conn.prepare_cached(&sql).during("read turns")?;
    let mut rows = statement
        .query(params![thread_key, turns.start, turns.end, limit])
        .during("read turns")?;
    let mut turns = Vec::new();
    while let Some(row) = rows.next().during("read turns")? {
        let error: Option<String> = row.get(5).during("read turns")?;
        let error = error
            .map(|e| serde_json::from_str(&e))
            .transpose()
            .map_err(StoreError::json("turn.error"))?;
        let turn = Turn {
            error,
            ..without_error(row).during("read turns")?
        };
        turns.push((row.get(6).during("read turns")?, turn));
    }
    Ok(turns)
}

fn without_error(row: &Row<'_>) -> rusqlite::Result<Turn> {
    let id: String = row.get(0)?;
    let completed_at_ms: Option<i64> = row.get(3)?;
    Ok(Turn {
        root_turn_id: id.clone(),
        id,
        items: Vec::new(),
        items_view: ItemsView::Full,
        status: status_of(row.get_ref(1)?.as_str()?),
        error: None,
        started_at: Some(row.get::<_, i64>(2)? / 1000),
        completed_at: completed_at_ms.map(|ms| ms / 1000),
        duration_ms: row.get(4)?,
    })
}

/// Forgets the projection of a thread before it is rebuilt.
pub(crate) fn clear(conn: &Connection, thread_key: i64) -> Result<(), StoreError> {
    conn.execute("DELETE FROM turn WHERE thread_key = ?1", [thread_key])
        .during("clear turns")?;
    Ok(())
}
