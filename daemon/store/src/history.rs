//! What a thread is made of, put together from several tables: its turns as clients see them, and its rollout.
//!
//! Reads only; runs inside one read transaction.

use agentd_engine::rollout::RolloutLine;
use agentd_protocol::turn::Turn;
use rusqlite::Connection;

use crate::error::StoreError;
use crate::fork::{self, Segment};
use crate::item::{self, ItemRange, StoredItem};
use crate::list::SortDirection;
use crate::{checkpoint, rollout_line, turn};

/// The lines that every thread has of its own: its record and its first settings.
const BEGINNING: i64 = 2;

/// All turns in order with all items; the text of open items so far is in them.
pub(crate) fn turns(conn: &Connection, key: i64) -> Result<Vec<Turn>, StoreError> {
    let mut items = Vec::new();
    let segments = fork::segments(conn, key)?;
    for segment in &segments {
        items.extend(item::read(
            conn,
            segment.key,
            &ItemRange::of_turns(&segment.turns),
            SortDirection::Ascending,
            i64::MAX,
        )?);
    }
    add_text_so_far(conn, key, &mut items)?;
    let mut turns = bare_turns(conn, &segments)?;
    put_items(&mut turns, items);
    Ok(turns)
}

/// All lines in order, then the checkpoints of open items. A fork begins with its own record and settings; what it shares
/// with others follows.
pub(crate) fn rollout(conn: &Connection, key: i64) -> Result<Vec<RolloutLine>, StoreError> {
    let mut lines = Vec::new();
    let mut segments = fork::segments(conn, key)?;
    segments.pop();
    let add = |range| {
        let mut own = Vec::new();
        rollout_line::for_each(conn, key, range, |_, line| {
            own.push(line);
            Ok(())
        })?;
        Ok::<_, StoreError>(own)
    };
    lines.extend(add(1..=BEGINNING)?);
    lines.extend(fork::shared_lines(conn, &segments)?);
    lines.extend(add(BEGINNING + 1..=i64::MAX)?);
    lines.extend(checkpoint::read_all(conn, key)?.into_iter().map(RolloutLine::ItemText));
    Ok(lines)
}

/// What a fork cut here would share: the lines for its rollout, and the turns.
pub(crate) fn shared(
    conn: &Connection,
    source_key: i64,
    last_turn_id: Option<&str>,
) -> Result<(Vec<RolloutLine>, Vec<Turn>), StoreError> {
    let Some(cut) = fork::cut(conn, source_key, last_turn_id)? else {
        return Ok((Vec::new(), Vec::new()));
    };
    let lines = fork::shared_lines(conn, &fork::segments_until(conn, cut)?)?;
    let mut turns = turns(conn, source_key)?;
    turns.truncate(usize::try_from(cut.turns).unwrap_or(usize::MAX));
    Ok((lines, turns))
}

/// Adds what was saved of open items since they began. `key`: the thread itself; what is shared with others has ended.
pub(crate) fn add_text_so_far(conn: &Connection, key: i64, items: &mut [StoredItem]) -> Result<(), StoreError> {
    if !items.iter().any(|stored| stored.open) {
        return Ok(());
    }
    for text in checkpoint::read_all(conn, key)? {
        let fits = |stored: &&mut StoredItem| {
            stored.open && stored.turn_id == text.turn_id && stored.item.id() == text.item_id
        };
        if let Some(latest) = items.iter_mut().filter(fits).max_by_key(|stored| stored.place) {
            checkpoint::fold(&mut latest.item, &text);
        }
    }
    Ok(())
}

fn bare_turns(conn: &Connection, segments: &[Segment]) -> Result<Vec<Turn>, StoreError> {
    let mut turns = Vec::new();
    for segment in segments {
        let found = turn::read(conn, segment.key, &segment.turns, SortDirection::Ascending, i64::MAX)?;
        turns.extend(found.into_iter().map(|(_, turn)| turn));
    }
    Ok(turns)
}

/// Puts items into their turns, which lie at the position of their number.
fn put_items(turns: &mut [Turn], items: Vec<StoredItem>) {
    for stored in items {
        let at = usize::try_from(stored.place.0).unwrap_or(usize::MAX);
        if let Some(turn) = turns.get_mut(at) {
            turn.items.push(stored.item);
        }
    }
}
