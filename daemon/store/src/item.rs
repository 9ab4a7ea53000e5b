//! Table `item`: where the latest state of each shown item is in the rollout.
//!
//! Holds no copy of the item; reads join the rollout line.

use std::ops::Range;

use agentd_engine::rollout::ItemLine;
use agentd_protocol::item::ThreadItem;
use rusqlite::{Connection, Params, params};

use crate::error::{During, StoreError};
use crate::list::SortDirection;

/// Place of an open item, for the writer.
#[derive(Clone, Debug)]
pub(crate) struct ItemPlace {
    pub(crate) turn_ord: i64,
    pub(crate) ord: i64,
    pub(crate) item_id: String,
}

/// An item as it was last written.
pub(crate) struct StoredItem {
    /// Number of its turn, and its number in it.
    pub(crate) place: (i64, i64),
    pub(crate) open: bool,
    pub(crate) turn_id: String,
    pub(crate) item: ThreadItem,
}

/// Places from one (included) to another (not included).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ItemRange {
    pub(crate) from: (i64, i64),
    pub(crate) to: (i64, i64),
}

impl ItemRange {
    /// All items of these turns.
    pub(crate) fn of_turns(turns: &Range<i64>) -> Self {
        Self {
            from: (turns.start, 0),
            to: (turns.end, 0),
        }
    }

    /// What both have.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self {
            from: self.from.max(other.from),
            to: self.to.min(other.to),
        }
    }
}

pub(crate) fn insert(
    conn: &Connection,
    thread_key: i64,
    place: &ItemPlace,
    open: bool,
    seq: i64,
) -> Result<(), StoreError> {
    const SQL: &str =
        "INSERT INTO item (thread_key, turn_ord, ord, item_id, open, seq) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut statement = conn.prepare_cached(SQL).during("store an item")?;
    let values = params![thread_key, place.turn_ord, place.ord, place.item_id, open, seq];
    statement.execute(values).during("store an item")?;
    Ok(())
}

pub(crate) fn complete(conn: &Connection, thread_key: i64, place: &ItemPlace, seq: i64) -> Result<(), StoreError> {
    const SQL: &str = "UPDATE item SET open = 0, seq = ?4 WHERE thread_key = ?1 AND turn_ord = ?2 AND ord = ?3";
    let mut statement = conn.prepare_cached(SQL).during("complete an item")?;
    statement
        .execute(params![thread_key, place.turn_ord, place.ord, seq])
        .during("complete an item")?;
    Ok(())
}

/// Items that were started and not completed, in order. Reads all items of the thread; only unfinished threads need it.
pub(crate) fn open_places(conn: &Connection, thread_key: i64) -> Result<Vec<ItemPlace>, StoreError> {
    const SQL: &str =
        "SELECT turn_ord, ord, item_id FROM item WHERE thread_key = ?1 AND open = 1 ORDER BY turn_ord, ord";
    let mut statement = conn.prepare_cached(SQL).during("find open items")?;
    let rows = statement
        .query_map([thread_key], |r| {
            Ok(ItemPlace {
                turn_ord: r.get(0)?,
                ord: r.get(1)?,
                item_id: r.get(2)?,
            })
        })
        .during("find open items")?;
    rows.collect::<rusqlite::Result<_>>().during("find open items")
}

/// At most `limit` items of a range.
pub(crate) fn read(
    conn: &Connection,
    thread_key: i64,
    range: &ItemRange,
    direction: SortDirection,
    limit: i64,
) -> Result<Vec<StoredItem>, StoreError> {
    let sql = format!(
        "{SELECT} AND (i.turn_ord, i.ord) >= (?2, ?3) AND (i.turn_ord, i.ord) < (?4, ?5)
         ORDER BY i.turn_ord {0}, i.ord {0} LIMIT ?6",
        direction.word()
    );
    let values = params![thread_key, range.from.0, range.from.1, range.to.0, range.to.1, limit];
    query(conn, &sql, values)
}

/// The first item of a turn of this type from one end; `kind` is the item's `type`.
pub(crate) fn first_of_kind(
    conn: &Connection,
    thread_key: i64,
    turn_ord: i64,
    kind: &str,
    direction: SortDirection,
) -> Result<Option<StoredItem>, StoreError> {
    let sql = format!(
        "{SELECT} AND i.turn_ord = ?2 AND l.payload ->> '$.item.type' = ?3 ORDER BY i.ord {} LIMIT 1",
        direction.word()
    );
    Ok(query(conn, &sql, params![thread_key, turn_ord, kind])?.pop())
}

/// CROSS JOIN keeps SQLite from starting with the lines.
const SELECT: &str = "SELECT i.turn_ord, i.ord, i.open, t.turn_id, l.payload FROM item i
     CROSS JOIN turn t ON t.thread_key = i.thread_key AND t.ord = i.turn_ord
     CROSS JOIN rollout_line l ON l.thread_key = i.thread_key AND l.seq = i.seq
     WHERE i.thread_key = ?1";

fn query(conn: &Connection, sql: &str, values: impl Params) -> Result<Vec<StoredItem>, StoreError> {
    let mut statement = conn.prepare_cached(sql).during("read items")?;
    let mut rows = statement.query(values).during("read items")?;
    let mut items = Vec::new();
    while let Some(row) = rows.next().during("read items")? {
        let payload = row.get_ref(4).and_then(|v| Ok(v.as_str()?)).during("read items")?;
        let line: ItemLine = serde_json::from_str(payload).map_err(StoreError::json("item line"))?;
        items.push(StoredItem {
            place: (row.get(0).during("read items")?, row.get(1).during("read items")?),
            open: row.get(2).during("read items")?,
            turn_id: row.get(3).during("read items")?,
            item: line.item,
        });
    }
    Ok(items)
}

/// Forgets the projection of a thread before it is rebuilt.
pub(crate) fn clear(conn: &Connection, thread_key: i64) -> Result<(), StoreError> {
    conn.execute("DELETE FROM item WHERE thread_key = ?1", [thread_key])
        .during("clear items")?;
    Ok(())
}
