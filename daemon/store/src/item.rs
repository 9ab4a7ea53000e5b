//! Table `item`: where the latest state of each shown item is in the rollout.
//!
//! Holds no copy of the item; reads join the rollout line.

use agentd_engine::rollout::ItemLine;
use agentd_protocol::item::ThreadItem;
use rusqlite::{Connection, params};

use crate::error::{During, StoreError};

/// Place of an open item, for the writer.
#[derive(Clone, Debug)]
pub(crate) struct ItemPlace {
    pub(crate) turn_ord: i64,
    pub(crate) ord: i64,
    pub(crate) item_id: String,
}

/// An item as it was last written.
pub(crate) struct StoredItem {
    pub(crate) turn_ord: i64,
    pub(crate) open: bool,
    pub(crate) item: ThreadItem,
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

/// All items of the thread in order.
pub(crate) fn read_all(conn: &Connection, thread_key: i64) -> Result<Vec<StoredItem>, StoreError> {
    const SQL: &str = "SELECT i.turn_ord, i.open, l.payload
         FROM item i JOIN rollout_line l ON l.thread_key = i.thread_key AND l.seq = i.seq
         WHERE i.thread_key = ?1 ORDER BY i.turn_ord, i.ord";
    let mut statement = conn.prepare_cached(SQL).during("read items")?;
    let mut rows = statement.query([thread_key]).during("read items")?;
    let mut items = Vec::new();
    while let Some(row) = rows.next().during("read items")? {
        let payload = row.get_ref(2).and_then(|v| Ok(v.as_str()?)).during("read items")?;
        let line: ItemLine = serde_json::from_str(payload).map_err(StoreError::json("item line"))?;
        items.push(StoredItem {
            turn_ord: row.get(0).during("read items")?,
            open: row.get(1).during("read items")?,
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
