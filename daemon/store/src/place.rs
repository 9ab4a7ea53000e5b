//! Where the next line of each thread goes: the writer's memory, so that an append reads nothing.
//!
//! Always equal to what the tables say; forgotten as a whole when a transaction is rolled back.

use std::collections::HashMap;

use rusqlite::Connection;

use crate::error::StoreError;
use crate::item::{self, ItemPlace};
use crate::turn::{self, TurnPlace};
use crate::{checkpoint, rollout_line, thread};

/// Threads remembered at a time. One place is a few hundred bytes; a forgotten one is loaded again with five short reads.
const CAPACITY: usize = 256;

/// The writing end of one thread.
#[derive(Debug)]
pub(crate) struct ThreadPlace {
    pub(crate) key: i64,
    pub(crate) next_seq: i64,
    pub(crate) next_turn: i64,
    /// Open turns in order, and perhaps the closed one that the last late line belongs to.
    pub(crate) turns: Vec<TurnPlace>,
    pub(crate) open_items: Vec<ItemPlace>,
    pub(crate) has_preview: bool,
    pub(crate) has_checkpoints: bool,
    /// As stored in the thread's row.
    pub(crate) unfinished: bool,
}

impl ThreadPlace {
    /// The place of a thread that has no lines yet.
    pub(crate) fn empty(key: i64) -> Self {
        Self {
            key,
            next_seq: 1,
            next_turn: 0,
            turns: Vec::new(),
            open_items: Vec::new(),
            has_preview: false,
            has_checkpoints: false,
            unfinished: false,
        }
    }

    /// What a fork's first own lines follow: the turns and the preview that it shares with others.
    pub(crate) fn begin(&mut self, conn: &Connection, thread_id: &str) -> Result<(), StoreError> {
        self.next_turn = turn::next_ord(conn, self.key)?;
        self.has_preview = thread::write_facts(conn, thread_id)?.is_some_and(|(_, has_preview, _)| has_preview);
        Ok(())
    }

    fn load(conn: &Connection, thread_id: &str) -> Result<Option<Self>, StoreError> {
        let Some((key, has_preview, unfinished)) = thread::write_facts(conn, thread_id)? else {
            return Ok(None);
        };
        let mut place = Self {
            next_seq: rollout_line::next_seq(conn, key)?,
            next_turn: turn::next_ord(conn, key)?,
            has_preview,
            has_checkpoints: checkpoint::any(conn, key)?,
            unfinished,
            ..Self::empty(key)
        };
        if unfinished {
            place.turns = turn::open_places(conn, key)?;
            place.open_items = item::open_places(conn, key)?;
        }
        Ok(Some(place))
    }

    /// Whether a turn runs or an item is open.
    pub(crate) fn is_unfinished(&self) -> bool {
        !self.open_items.is_empty() || self.turns.iter().any(|t| t.open)
    }

    /// The latest open turn with this id, else the latest one at all.
    pub(crate) fn turn(&mut self, conn: &Connection, turn_id: &str) -> Result<Option<&mut TurnPlace>, StoreError> {
        let open = self.turns.iter().rposition(|t| t.open && t.turn_id == turn_id);
        let index = match open {
            Some(index) => index,
            None => {
                let Some(found) = turn::find_place(conn, self.key, turn_id)? else {
                    return Ok(None);
                };
                self.turns.retain(|t| t.open);
                self.turns.push(found);
                self.turns.len() - 1
            }
        };
        Ok(self.turns.get_mut(index))
    }
}

/// The places of the threads that were written to last.
#[derive(Default)]
pub(crate) struct Places {
    by_thread: HashMap<String, (u64, ThreadPlace)>,
    clock: u64,
}

impl Places {
    /// The place of a thread; `None` if there is no such thread.
    pub(crate) fn get(&mut self, conn: &Connection, thread_id: &str) -> Result<Option<&mut ThreadPlace>, StoreError> {
        if !self.by_thread.contains_key(thread_id) {
            let Some(place) = ThreadPlace::load(conn, thread_id)? else {
                return Ok(None);
            };
            self.insert(thread_id, place);
        }
        self.clock += 1;
        let now = self.clock;
        Ok(self.by_thread.get_mut(thread_id).map(|(used, place)| {
            *used = now;
            place
        }))
    }

    /// Remembers a place, forgetting the one that was not used for longest if there are too many.
    pub(crate) fn insert(&mut self, thread_id: &str, place: ThreadPlace) {
        if self.by_thread.len() >= CAPACITY {
            let oldest = self
                .by_thread
                .iter()
                .min_by_key(|(_, (used, _))| *used)
                .map(|(id, _)| id.clone());
            oldest.and_then(|id| self.by_thread.remove(&id));
        }
        self.by_thread.insert(thread_id.to_owned(), (self.clock, place));
    }

    /// Forgets everything: what was remembered may have been rolled back.
    pub(crate) fn clear(&mut self) {
        self.by_thread.clear();
    }
}
