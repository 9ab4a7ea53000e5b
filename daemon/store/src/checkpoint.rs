//! Table `checkpoint`: text of open items, kept only until the item or its turn is completed.
//!
//! Never part of the rollout. Also knows how such text is put into an item that is shown before it ends.

use agentd_engine::rollout::{ItemText, TextChannel};
use agentd_protocol::item::ThreadItem;
use rusqlite::{Connection, params};

use crate::error::{During, StoreError};

pub(crate) fn insert(conn: &Connection, thread_key: i64, text: &ItemText, payload: &str) -> Result<(), StoreError> {
    const SQL: &str = "INSERT INTO checkpoint (thread_key, turn_id, item_id, payload) VALUES (?1, ?2, ?3, ?4)";
    let mut statement = conn.prepare_cached(SQL).during("checkpoint an item")?;
    statement
        .execute(params![thread_key, text.turn_id, text.item_id, payload])
        .during("checkpoint an item")?;
    Ok(())
}

/// The table only holds what is open right now in the whole daemon, so it needs no index.
pub(crate) fn delete_item(conn: &Connection, thread_key: i64, turn_id: &str, item_id: &str) -> Result<(), StoreError> {
    const SQL: &str = "DELETE FROM checkpoint WHERE thread_key = ?1 AND turn_id = ?2 AND item_id = ?3";
    let mut statement = conn.prepare_cached(SQL).during("delete checkpoints")?;
    statement
        .execute(params![thread_key, turn_id, item_id])
        .during("delete checkpoints")?;
    Ok(())
}

pub(crate) fn delete_turn(conn: &Connection, thread_key: i64, turn_id: &str) -> Result<(), StoreError> {
    const SQL: &str = "DELETE FROM checkpoint WHERE thread_key = ?1 AND turn_id = ?2";
    let mut statement = conn.prepare_cached(SQL).during("delete checkpoints")?;
    statement
        .execute(params![thread_key, turn_id])
        .during("delete checkpoints")?;
    Ok(())
}

pub(crate) fn any(conn: &Connection, thread_key: i64) -> Result<bool, StoreError> {
    const SQL: &str = "SELECT EXISTS (SELECT 1 FROM checkpoint WHERE thread_key = ?1)";
    let mut statement = conn.prepare_cached(SQL).during("find checkpoints")?;
    statement
        .query_row([thread_key], |row| row.get(0))
        .during("find checkpoints")
}

/// The texts of all open items of the thread, in the order they were written.
pub(crate) fn read_all(conn: &Connection, thread_key: i64) -> Result<Vec<ItemText>, StoreError> {
    const SQL: &str = "SELECT payload FROM checkpoint WHERE thread_key = ?1 ORDER BY checkpoint_key";
    let mut statement = conn.prepare_cached(SQL).during("read checkpoints")?;
    let mut rows = statement.query([thread_key]).during("read checkpoints")?;
    let mut texts = Vec::new();
    while let Some(row) = rows.next().during("read checkpoints")? {
        let payload = row
            .get_ref(0)
            .and_then(|v| Ok(v.as_str()?))
            .during("read checkpoints")?;
        texts.push(serde_json::from_str(payload).map_err(StoreError::json("checkpoint"))?);
    }
    Ok(texts)
}

/// Adds the text to the item. Text for a channel the item does not have is ignored.
pub(crate) fn fold(item: &mut ThreadItem, text: &ItemText) {
    match (item, text.channel) {
        (ThreadItem::AgentMessage(message), TextChannel::Message) => message.text.push_str(&text.text),
        (ThreadItem::Reasoning(r), TextChannel::ReasoningSummary) => push_part(&mut r.summary, text),
        (ThreadItem::Reasoning(r), TextChannel::ReasoningContent) => push_part(&mut r.content, text),
        (ThreadItem::CommandExecution(command), TextChannel::CommandOutput) => {
            command.aggregated_output.get_or_insert_default().push_str(&text.text);
        }
        _ => {}
    }
}

/// A part index this far from the last part is damage, not text; it must not make us allocate.
const MAX_PARTS: usize = 4096;

fn push_part(parts: &mut Vec<String>, text: &ItemText) {
    let index = text.index as usize;
    if index >= MAX_PARTS {
        return;
    }
    if parts.len() <= index {
        parts.resize(index + 1, String::new());
    }
    parts[index].push_str(&text.text);
}
