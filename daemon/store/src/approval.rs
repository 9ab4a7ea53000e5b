//! Table `approval`: which questions were asked and how they ended.
//!
//! The question itself is in the rollout line.

use agentd_engine::rollout::{ApprovalAnswered, ApprovalAsked};
use rusqlite::{Connection, params};

use crate::error::{During, StoreError};

/// One approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRow {
    /// Approval id.
    pub approval_id: String,
    /// The turn that waits or waited.
    pub turn_id: String,
    /// The item it is about.
    pub item_id: String,
    /// Unix milliseconds.
    pub asked_at_ms: i64,
    /// Unix milliseconds; `None` while it is open.
    pub answered_at_ms: Option<i64>,
    /// The decision word; `None` while it is open.
    pub decision: Option<String>,
}

/// Asking twice under one id leaves the later question.
pub(crate) fn asked(conn: &Connection, thread_key: i64, line: &ApprovalAsked) -> Result<(), StoreError> {
    const SQL: &str = "INSERT OR REPLACE INTO approval (thread_key, approval_id, turn_id, item_id, asked_at_ms)
         VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut statement = conn.prepare_cached(SQL).during("store an approval")?;
    let values = params![
        thread_key,
        line.approval_id,
        line.turn_id,
        line.item_id,
        line.asked_at_ms
    ];
    statement.execute(values).during("store an approval")?;
    Ok(())
}

pub(crate) fn answered(conn: &Connection, thread_key: i64, line: &ApprovalAnswered) -> Result<(), StoreError> {
    const SQL: &str =
        "UPDATE approval SET decision = ?3, answered_at_ms = ?4 WHERE thread_key = ?1 AND approval_id = ?2";
    let mut statement = conn.prepare_cached(SQL).during("answer an approval")?;
    let values = params![thread_key, line.approval_id, line.decision, line.answered_at_ms];
    statement.execute(values).during("answer an approval")?;
    Ok(())
}

/// All approvals of the thread in the order they were asked.
pub(crate) fn read_all(conn: &Connection, thread_key: i64) -> Result<Vec<ApprovalRow>, StoreError> {
    const SQL: &str = "SELECT approval_id, turn_id, item_id, asked_at_ms, answered_at_ms, decision
         FROM approval WHERE thread_key = ?1 ORDER BY asked_at_ms, approval_id";
    let mut statement = conn.prepare_cached(SQL).during("read approvals")?;
    let rows = statement
        .query_map([thread_key], |r| {
            Ok(ApprovalRow {
                approval_id: r.get(0)?,
                turn_id: r.get(1)?,
                item_id: r.get(2)?,
                asked_at_ms: r.get(3)?,
                answered_at_ms: r.get(4)?,
                decision: r.get(5)?,
            })
        })
        .during("read approvals")?;
    rows.collect::<rusqlite::Result<_>>().during("read approvals")
}

/// Forgets the projection of a thread before it is rebuilt.
pub(crate) fn clear(conn: &Connection, thread_key: i64) -> Result<(), StoreError> {
    conn.execute("DELETE FROM approval WHERE thread_key = ?1", [thread_key])
        .during("clear approvals")?;
    Ok(())
}
