//! Table `rollout_line`: the truth, append-only.
//!
//! Nothing here updates or deletes.

use std::ops::RangeInclusive;

use agentd_engine::rollout::RolloutLine;
use rusqlite::{Connection, params};

use crate::error::{During, StoreError};

/// A line with its stored form, made by the caller so that the writer thread does not spend time on it.
pub(crate) struct Line {
    pub(crate) line: RolloutLine,
    pub(crate) payload: String,
}

/// Adds the stored form to each line.
pub(crate) fn encode(lines: Vec<RolloutLine>) -> Result<Vec<Line>, StoreError> {
    lines
        .into_iter()
        .map(|line| {
            Ok(Line {
                payload: line.payload()?,
                line,
            })
        })
        .collect()
}

pub(crate) fn insert(conn: &Connection, thread_key: i64, seq: i64, line: &Line) -> Result<(), StoreError> {
    const SQL: &str = "INSERT INTO rollout_line (thread_key, seq, kind, payload) VALUES (?1, ?2, ?3, ?4)";
    let mut statement = conn.prepare_cached(SQL).during("append a rollout line")?;
    statement
        .execute(params![thread_key, seq, line.line.kind(), line.payload])
        .during("append a rollout line")?;
    Ok(())
}

/// The number the next line of the thread gets.
pub(crate) fn next_seq(conn: &Connection, thread_key: i64) -> Result<i64, StoreError> {
    const SQL: &str = "SELECT coalesce(max(seq), 0) + 1 FROM rollout_line WHERE thread_key = ?1";
    let mut statement = conn.prepare_cached(SQL).during("find the end of a rollout")?;
    statement
        .query_row([thread_key], |row| row.get(0))
        .during("find the end of a rollout")
}

/// Calls `each` with `(seq, line)` for these lines of the thread in order.
pub(crate) fn for_each(
    conn: &Connection,
    thread_key: i64,
    range: RangeInclusive<i64>,
    mut each: impl FnMut(i64, RolloutLine) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    const SQL: &str = "SELECT seq, kind, payload FROM rollout_line
         WHERE thread_key = ?1 AND seq BETWEEN ?2 AND ?3 ORDER BY seq";
    let mut statement = conn.prepare_cached(SQL).during("read a rollout")?;
    let mut rows = statement
        .query(params![thread_key, range.start(), range.end()])
        .during("read a rollout")?;
    while let Some(row) = rows.next().during("read a rollout")? {
        let kind = row.get_ref(1).and_then(|v| Ok(v.as_str()?)).during("read a rollout")?;
        let payload = row.get_ref(2).and_then(|v| Ok(v.as_str()?)).during("read a rollout")?;
        each(
            row.get(0).during("read a rollout")?,
            RolloutLine::decode(kind, payload)?,
        )?;
    }
    Ok(())
}
