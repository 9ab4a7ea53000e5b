//! What each rollout line means for the tables: the way in (append) and the way back (rebuild).
//!
//! Both go through the same [`Projection`], so that a rebuild gives what the appends gave. Runs inside the writer's
//! transaction; never begins or ends one.

use agentd_engine::rollout::{ItemLine, ItemText, RolloutLine, TurnCompleted, TurnStarted};
use agentd_protocol::item::ThreadItem;
use agentd_protocol::turn::TurnStatus;
use rusqlite::Connection;

use crate::error::StoreError;
use crate::fork::{self, ForkPoint};
use crate::item::ItemPlace;
use crate::place::{Places, ThreadPlace};
use crate::rollout_line::Line;
use crate::thread::ThreadChange;
use crate::turn::TurnPlace;
use crate::{approval, checkpoint, item, rollout_line, thread, turn};

/// Appends lines to a thread. The first append of a thread begins with its record and settings.
pub(crate) fn append(
    conn: &Connection,
    places: &mut Places,
    thread_id: &str,
    lines: &[Line],
) -> Result<(), StoreError> {
    if places.get(conn, thread_id)?.is_none() {
        places.insert(thread_id, create(conn, thread_id, lines)?);
    }
    let place = places
        .get(conn, thread_id)?
        .ok_or_else(|| StoreError::UnknownThread(thread_id.to_owned()))?;
    if place.next_seq > 1 && lines.iter().any(|l| matches!(l.line, RolloutLine::ThreadStarted(_))) {
        return Err(StoreError::ThreadExists(thread_id.to_owned()));
    }
    let key = place.key;
    let mut projection = Projection::new(conn, place);
    for line in lines {
        if let RolloutLine::ItemText(text) = &line.line {
            projection.item_text(text, &line.payload)?;
            continue;
        }
        let seq = projection.place.next_seq;
        rollout_line::insert(conn, key, seq, line)?;
        projection.line(seq, &line.line)?;
        projection.place.next_seq = seq + 1;
    }
    projection.finish()
}

/// Adds a thread that begins as another one does up to `point`; `lines` are its own first ones.
pub(crate) fn fork(
    conn: &Connection,
    places: &mut Places,
    thread_id: &str,
    point: &ForkPoint,
    lines: &[Line],
) -> Result<(), StoreError> {
    let source = thread::key(conn, &point.source_id)?;
    let source = source.ok_or_else(|| StoreError::UnknownThread(point.source_id.clone()))?;
    if places.get(conn, thread_id)?.is_some() {
        return Err(StoreError::ThreadExists(thread_id.to_owned()));
    }
    let mut place = create(conn, thread_id, lines)?;
    if let Some(cut) = fork::cut(conn, source, point.last_turn_id.as_deref())? {
        fork::attach(conn, place.key, cut)?;
        place.begin(conn, thread_id)?;
    }
    places.insert(thread_id, place);
    append(conn, places, thread_id, lines)
}

fn create(conn: &Connection, thread_id: &str, lines: &[Line]) -> Result<ThreadPlace, StoreError> {
    let mut first = lines.iter().map(|l| &l.line);
    match (first.next(), first.next()) {
        (Some(RolloutLine::ThreadStarted(record)), Some(RolloutLine::Settings(settings))) if record.id == thread_id => {
            Ok(ThreadPlace::empty(thread::insert(conn, record, settings)?))
        }
        (Some(RolloutLine::ThreadStarted(_)), _) => Err(StoreError::IncompleteThread(thread_id.to_owned())),
        _ => Err(StoreError::UnknownThread(thread_id.to_owned())),
    }
}

/// Derives the projections of a thread again from its rollout. Checkpoints are left alone.
pub(crate) fn rebuild(conn: &Connection, places: &mut Places, thread_id: &str) -> Result<(), StoreError> {
    let place = places
        .get(conn, thread_id)?
        .ok_or_else(|| StoreError::UnknownThread(thread_id.to_owned()))?;
    let key = place.key;
    approval::clear(conn, key)?;
    item::clear(conn, key)?;
    turn::clear(conn, key)?;
    thread::clear(conn, key)?;
    let has_checkpoints = place.has_checkpoints;
    // An empty place says that there are no checkpoints, so the lines of the past do not delete those of today.
    fork::inherit(conn, key)?;
    *place = ThreadPlace::empty(key);
    place.begin(conn, thread_id)?;
    let mut projection = Projection::new(conn, place);
    rollout_line::for_each(conn, key, 1..=i64::MAX, |seq, line| {
        projection.place.next_seq = seq + 1;
        projection.line(seq, &line)
    })?;
    projection.finish()?;
    place.has_checkpoints = has_checkpoints;
    Ok(())
}

struct Projection<'a> {
    conn: &'a Connection,
    place: &'a mut ThreadPlace,
    change: ThreadChange,
}

impl<'a> Projection<'a> {
    fn new(conn: &'a Connection, place: &'a mut ThreadPlace) -> Self {
        Self {
            conn,
            place,
            change: ThreadChange::default(),
        }
    }

    fn line(&mut self, seq: i64, line: &RolloutLine) -> Result<(), StoreError> {
        match line {
            RolloutLine::ThreadStarted(_)
            | RolloutLine::Context(_)
            // Not shown before it has its place in the turn.
            | RolloutLine::InputQueued(_)
            | RolloutLine::ResponseItem(_)
            | RolloutLine::ItemText(_) => Ok(()),
            RolloutLine::Settings(settings) => {
                self.change.settings = Some((seq, settings.clone()));
                Ok(())
            }
            RolloutLine::TurnStarted(started) => self.turn_started(started),
            RolloutLine::ItemStarted(line) => self.item_started(seq, line),
            RolloutLine::ItemCompleted(line) => self.item_completed(seq, line),
            RolloutLine::ApprovalAsked(asked) => approval::asked(self.conn, self.place.key, asked),
            RolloutLine::ApprovalAnswered(answered) => approval::answered(self.conn, self.place.key, answered),
            RolloutLine::Usage(line) => {
                self.change.usage = Some(line.usage);
                Ok(())
            }
            RolloutLine::TurnCompleted(completed) => self.turn_completed(seq, completed),
            RolloutLine::ThreadNamed(named) => {
                self.change.name = Some(named.name.clone());
                Ok(())
            }
        }
    }

    fn turn_started(&mut self, line: &TurnStarted) -> Result<(), StoreError> {
        let ord = self.place.next_turn;
        turn::insert(self.conn, self.place.key, ord, line)?;
        self.place.next_turn = ord + 1;
        self.place.turns.push(TurnPlace {
            turn_id: line.turn_id.clone(),
            ord,
            open: true,
            next_item: 0,
        });
        self.change.last_turn_status = Some(TurnStatus::InProgress);
        self.change.recency_at_ms = self.change.recency_at_ms.max(Some(line.started_at_ms));
        self.change.updated_at_ms = self.change.updated_at_ms.max(Some(line.started_at_ms));
        Ok(())
    }

    fn turn_completed(&mut self, seq: i64, line: &TurnCompleted) -> Result<(), StoreError> {
        let last = self.place.next_turn - 1;
        let key = self.place.key;
        let Some(place) = self.place.turn(self.conn, &line.turn_id)? else {
            return unknown_turn(&line.turn_id);
        };
        turn::complete(self.conn, key, place.ord, seq, line)?;
        place.open = false;
        if place.ord == last {
            self.change.last_turn_status = Some(line.status);
        }
        self.change.updated_at_ms = self.change.updated_at_ms.max(Some(line.completed_at_ms));
        if self.place.has_checkpoints {
            checkpoint::delete_turn(self.conn, key, &line.turn_id)?;
        }
        Ok(())
    }

    fn item_started(&mut self, seq: i64, line: &ItemLine) -> Result<(), StoreError> {
        self.preview(&line.item);
        let Some(place) = self.next_item(line)? else {
            return unknown_turn(&line.turn_id);
        };
        item::insert(self.conn, self.place.key, &place, true, seq)?;
        self.place.open_items.push(place);
        Ok(())
    }

    /// Completes the latest open item with this id, or adds one that was never shown as open.
    fn item_completed(&mut self, seq: i64, line: &ItemLine) -> Result<(), StoreError> {
        self.preview(&line.item);
        let key = self.place.key;
        let Some(turn_ord) = self.place.turn(self.conn, &line.turn_id)?.map(|t| t.ord) else {
            return unknown_turn(&line.turn_id);
        };
        let same = |i: &ItemPlace| i.turn_ord == turn_ord && i.item_id == line.item.id();
        match self.place.open_items.iter().rposition(same) {
            Some(index) => item::complete(self.conn, key, &self.place.open_items.remove(index), seq)?,
            None => {
                let Some(place) = self.next_item(line)? else {
                    return unknown_turn(&line.turn_id);
                };
                item::insert(self.conn, key, &place, false, seq)?;
            }
        }
        if self.place.has_checkpoints {
            checkpoint::delete_item(self.conn, key, &line.turn_id, line.item.id())?;
        }
        Ok(())
    }

    fn next_item(&mut self, line: &ItemLine) -> Result<Option<ItemPlace>, StoreError> {
        let Some(turn) = self.place.turn(self.conn, &line.turn_id)? else {
            return Ok(None);
        };
        let ord = turn.next_item;
        turn.next_item += 1;
        Ok(Some(ItemPlace {
            turn_ord: turn.ord,
            ord,
            item_id: line.item.id().to_owned(),
        }))
    }

    fn item_text(&mut self, text: &ItemText, payload: &str) -> Result<(), StoreError> {
        self.place.has_checkpoints = true;
        checkpoint::insert(self.conn, self.place.key, text, payload)
    }

    fn preview(&mut self, item: &ThreadItem) {
        if self.place.has_preview {
            return;
        }
        if let ThreadItem::UserMessage(message) = item {
            let preview = message.preview();
            self.place.has_preview = !preview.is_empty();
            self.change.preview = Some(preview);
        }
    }

    /// Writes what the lines changed in the thread's row.
    fn finish(mut self) -> Result<(), StoreError> {
        let unfinished = self.place.is_unfinished();
        if unfinished != self.place.unfinished {
            self.change.unfinished = Some(unfinished);
            self.place.unfinished = unfinished;
        }
        if !unfinished && self.place.has_checkpoints {
            self.place.has_checkpoints = checkpoint::any(self.conn, self.place.key)?;
        }
        thread::update(self.conn, self.place.key, &self.change)
    }
}

/// The line stays in the rollout, which is the truth; there is only nothing to show it under.
fn unknown_turn(turn_id: &str) -> Result<(), StoreError> {
    tracing::warn!(turn_id, "a rollout line names a turn that never began");
    Ok(())
}
