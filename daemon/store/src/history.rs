//! What a thread is made of, put together from several tables: its turns as clients see them, and its rollout.
//!
//! Reads only; runs inside one read transaction.

use agentd_engine::rollout::RolloutLine;
use agentd_protocol::turn::Turn;
use rusqlite::Connection;

use crate::error::StoreError;
use crate::{checkpoint, item, rollout_line, turn};

/// All turns in order with all items; the text of open items so far is in them.
pub(crate) fn turns(conn: &Connection, key: i64) -> Result<Vec<Turn>, StoreError> {
    let mut turns = turn::read_all(conn, key)?;
    let mut open = Vec::new();
    for stored in item::read_all(conn, key)? {
        let ord = usize::try_from(stored.turn_ord).unwrap_or(usize::MAX);
        let Some(turn) = turns.get_mut(ord) else { continue };
        if stored.open {
            open.push((ord, turn.items.len()));
        }
        turn.items.push(stored.item);
    }
    for text in checkpoint::read_all(conn, key)? {
        let latest = open
            .iter()
            .rev()
            .find(|(ord, index)| turns[*ord].id == text.turn_id && turns[*ord].items[*index].id() == text.item_id);
        if let Some((ord, index)) = latest {
            checkpoint::fold(&mut turns[*ord].items[*index], &text);
        }
    }
    Ok(turns)
}

/// All lines in order, then the checkpoints of open items.
pub(crate) fn rollout(conn: &Connection, key: i64) -> Result<Vec<RolloutLine>, StoreError> {
    let mut lines = Vec::new();
    rollout_line::for_each(conn, key, |_, line| {
        lines.push(line);
        Ok(())
    })?;
    lines.extend(checkpoint::read_all(conn, key)?.into_iter().map(RolloutLine::ItemText));
    Ok(lines)
}
