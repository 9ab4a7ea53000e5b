//! Forks: threads whose beginning is another thread's. Nothing is copied; a fork's row says where its own lines begin.
//!
//! Owns how a history that lies in several threads is put together, and what a fork does not take over: the settings, the
//! name and the approvals of its source. A permission is given to one thread, not to those that come out of it.

use std::ops::Range;

use agentd_engine::rollout::RolloutLine;
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::{During, StoreError};
use crate::{rollout_line, turn};

/// Where a fork leaves its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkPoint {
    /// The source.
    pub source_id: String,
    /// The last turn that the fork has; `None`: the last one that has ended.
    pub last_turn_id: Option<String>,
}

/// A stretch of a thread's history, as one thread's rows hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Whose rows.
    pub(crate) key: i64,
    /// Its last rollout line that belongs to the history.
    pub(crate) until_seq: i64,
    /// Its turns that belong to the history.
    pub(crate) turns: Range<i64>,
}

/// The end of what a fork shares with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    key: i64,
    seq: i64,
    /// How many turns lie before it.
    pub(crate) turns: i64,
}

/// The whole history of a thread, oldest first. The last segment is its own.
pub(crate) fn segments(conn: &Connection, key: i64) -> Result<Vec<Segment>, StoreError> {
    segments_until(
        conn,
        Cut {
            key,
            seq: i64::MAX,
            turns: i64::MAX,
        },
    )
}

/// The history before a cut, oldest first.
pub(crate) fn segments_until(conn: &Connection, cut: Cut) -> Result<Vec<Segment>, StoreError> {
    let mut segments = Vec::new();
    let mut end = Some(cut);
    while let Some(Cut { key, seq, turns }) = end {
        end = parent(conn, key)?;
        segments.push(Segment {
            key,
            until_seq: seq,
            turns: end.map_or(0, |cut| cut.turns)..turns,
        });
    }
    segments.reverse();
    Ok(segments)
}

fn parent(conn: &Connection, key: i64) -> Result<Option<Cut>, StoreError> {
    const SQL: &str =
        "SELECT fork_of_key, fork_seq, fork_turns FROM thread WHERE thread_key = ?1 AND fork_of_key IS NOT NULL";
    let mut statement = conn.prepare_cached(SQL).during("read where a fork begins")?;
    let cut = statement.query_row([key], |row| {
        Ok(Cut {
            key: row.get(0)?,
            seq: row.get(1)?,
            turns: row.get(2)?,
        })
    });
    cut.optional().during("read where a fork begins")
}

/// Where a fork of this thread would be cut; `None`: no turn has ended yet, so that there is nothing to share.
pub(crate) fn cut(conn: &Connection, source_key: i64, last_turn_id: Option<&str>) -> Result<Option<Cut>, StoreError> {
    for Segment { key, turns, .. } in segments(conn, source_key)?.into_iter().rev() {
        if let Some((ord, seq)) = turn::last_ended(conn, key, &turns, last_turn_id)? {
            return Ok(Some(Cut {
                key,
                seq,
                turns: ord + 1,
            }));
        }
    }
    match last_turn_id {
        Some(id) => Err(StoreError::UnknownTurn(id.to_owned())),
        None => Ok(None),
    }
}

/// Makes a thread that was just added a fork.
pub(crate) fn attach(conn: &Connection, key: i64, cut: Cut) -> Result<(), StoreError> {
    const SQL: &str = "UPDATE thread SET fork_of_key = ?2, fork_seq = ?3, fork_turns = ?4 WHERE thread_key = ?1";
    conn.execute(SQL, params![key, cut.key, cut.seq, cut.turns])
        .during("store where a fork begins")?;
    inherit(conn, key)
}

/// Gives a fork what its row takes from the shared turns: the preview.
pub(crate) fn inherit(conn: &Connection, key: i64) -> Result<(), StoreError> {
    const SQL: &str =
        "UPDATE thread SET preview = (SELECT source.preview FROM thread source WHERE source.thread_key = thread.fork_of_key)
         WHERE thread_key = ?1 AND fork_of_key IS NOT NULL";
    conn.execute(SQL, [key]).during("store where a fork begins")?;
    Ok(())
}

/// The lines that a fork shares with others.
pub(crate) fn shared_lines(conn: &Connection, segments: &[Segment]) -> Result<Vec<RolloutLine>, StoreError> {
    let mut lines = Vec::new();
    for segment in segments {
        rollout_line::for_each(conn, segment.key, 1..=segment.until_seq, |_, line| {
            if is_shared(&line) {
                lines.push(line);
            }
            Ok(())
        })?;
    }
    Ok(lines)
}

fn is_shared(line: &RolloutLine) -> bool {
    !matches!(
        line,
        RolloutLine::ThreadStarted(_)
            | RolloutLine::Settings(_)
            | RolloutLine::ThreadNamed(_)
            | RolloutLine::ApprovalAsked(_)
            | RolloutLine::ApprovalAnswered(_)
    )
}
