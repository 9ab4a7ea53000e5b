//! Pages of turns and items of one thread, read where they lie: a page costs what it holds, not what the thread holds.
//!
//! A cursor is opaque to clients. It names a place in the thread's history, with `=` at the end if what is there belongs to
//! the page. Places never change, so a cursor stays good for ever, and for the forks of the thread too.

use std::ops::Range;

use agentd_protocol::item::ThreadItem;
use agentd_protocol::turn::{ItemsView, Turn};
use rusqlite::Connection;

use crate::error::StoreError;
use crate::fork::{self, Segment};
use crate::item::{self, ItemRange, StoredItem};
use crate::list::{DEFAULT_LIMIT, MAX_LIMIT, SortDirection};
use crate::{history, turn};

/// Which page is wanted.
#[derive(Clone, Debug, Default)]
pub struct PageQuery {
    /// A cursor of an earlier page.
    pub cursor: Option<String>,
    /// Length of the page; 0 means [`DEFAULT_LIMIT`], more than [`MAX_LIMIT`] means that.
    pub limit: usize,
    /// Direction.
    pub direction: SortDirection,
}

/// One page.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// What was asked for.
    pub entries: Vec<T>,
    /// Continues after the last entry; `None` when there are no more.
    pub next_cursor: Option<String>,
    /// For the opposite direction: begins with the first entry of this page. `None` on an empty page.
    pub backwards_cursor: Option<String>,
}

/// An item with its turn.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemEntry {
    /// The turn.
    pub turn_id: String,
    /// The item.
    pub item: ThreadItem,
}

/// Reads a page of turns.
pub(crate) fn turns(conn: &Connection, key: i64, query: &PageQuery, view: ItemsView) -> Result<Page<Turn>, StoreError> {
    let wanted = query.bounds(Letter::Turns)?;
    let wanted = wanted.from.0..wanted.to.0;
    let mut found = Vec::new();
    for segment in in_order(fork::segments(conn, key)?, query.direction) {
        let range = segment.turns.start.max(wanted.start)..segment.turns.end.min(wanted.end);
        let turns = turn::read(conn, segment.key, &range, query.direction, query.room(found.len()))?;
        found.extend(turns.into_iter().map(|(ord, turn)| ((ord, 0), (segment.key, turn))));
    }
    let page = query.page(Letter::Turns, found);
    let mut turns = Vec::with_capacity(page.entries.len());
    for ((ord, _), (owner, mut turn)) in page.entries {
        let mut items = items_of(conn, owner, ord, view)?;
        history::add_text_so_far(conn, key, &mut items)?;
        turn.items = items.into_iter().map(|stored| stored.item).collect();
        turn.items_view = view;
        turns.push(turn);
    }
    Ok(Page {
        entries: turns,
        next_cursor: page.next_cursor,
        backwards_cursor: page.backwards_cursor,
    })
}

fn items_of(conn: &Connection, key: i64, turn_ord: i64, view: ItemsView) -> Result<Vec<StoredItem>, StoreError> {
    use SortDirection::{Ascending, Descending};
    match view {
        ItemsView::NotLoaded => Ok(Vec::new()),
        ItemsView::Full => {
            let range = ItemRange::of_turns(&(turn_ord..turn_ord + 1));
            item::read(conn, key, &range, Ascending, i64::MAX)
        }
        ItemsView::Summary => {
            let question = item::first_of_kind(conn, key, turn_ord, "userMessage", Ascending)?;
            let answer = item::first_of_kind(conn, key, turn_ord, "agentMessage", Descending)?;
            Ok(question.into_iter().chain(answer).collect())
        }
    }
}

/// Reads a page of items.
pub(crate) fn items(
    conn: &Connection,
    key: i64,
    turn_id: Option<&str>,
    query: &PageQuery,
) -> Result<Page<ItemEntry>, StoreError> {
    let segments = fork::segments(conn, key)?;
    let mut wanted = query.bounds(Letter::Items)?;
    if let Some(turn_id) = turn_id {
        wanted = wanted.and(&ItemRange::of_turns(&find_turn(conn, &segments, turn_id)?));
    }
    let mut found = Vec::new();
    for segment in in_order(segments, query.direction) {
        let range = ItemRange::of_turns(&segment.turns).and(&wanted);
        found.extend(item::read(
            conn,
            segment.key,
            &range,
            query.direction,
            query.room(found.len()),
        )?);
    }
    history::add_text_so_far(conn, key, &mut found)?;
    let page = query.page(
        Letter::Items,
        found.into_iter().map(|stored| (stored.place, stored)).collect(),
    );
    let entry = |(_, stored): (Place, StoredItem)| ItemEntry {
        turn_id: stored.turn_id,
        item: stored.item,
    };
    Ok(Page {
        entries: page.entries.into_iter().map(entry).collect(),
        next_cursor: page.next_cursor,
        backwards_cursor: page.backwards_cursor,
    })
}

fn find_turn(conn: &Connection, segments: &[Segment], turn_id: &str) -> Result<Range<i64>, StoreError> {
    for segment in segments.iter().rev() {
        let found = turn::find_place(conn, segment.key, turn_id)?;
        if let Some(place) = found.filter(|place| segment.turns.contains(&place.ord)) {
            return Ok(place.ord..place.ord + 1);
        }
    }
    Err(StoreError::UnknownTurn(turn_id.to_owned()))
}

fn in_order(mut segments: Vec<Segment>, direction: SortDirection) -> Vec<Segment> {
    if direction == SortDirection::Descending {
        segments.reverse();
    }
    segments
}

/// Number of a turn, and of an item in it.
type Place = (i64, i64);

/// What a cursor is for.
#[derive(Clone, Copy)]
enum Letter {
    Turns,
    Items,
}

impl Letter {
    fn write(self, (turn, item): Place, end: &str) -> String {
        match self {
            Self::Turns => format!("t{turn}{end}"),
            Self::Items => format!("i{turn}.{item}{end}"),
        }
    }

    /// The place, and the one right behind it.
    fn parse(self, text: &str) -> Option<(Place, Place, bool)> {
        let (text, inclusive) = text.strip_suffix('=').map_or((text, false), |text| (text, true));
        let number = |text: &str| text.parse::<i64>().ok().filter(|n| (0..i64::MAX).contains(n));
        match self {
            Self::Turns => {
                let turn = number(text.strip_prefix('t')?)?;
                Some(((turn, 0), (turn + 1, 0), inclusive))
            }
            Self::Items => {
                let (turn, item) = text.strip_prefix('i')?.split_once('.')?;
                let (turn, item) = (number(turn)?, number(item)?);
                Some(((turn, item), (turn, item + 1), inclusive))
            }
        }
    }
}

impl PageQuery {
    fn length(&self) -> usize {
        match self.limit {
            0 => DEFAULT_LIMIT,
            limit => limit.min(MAX_LIMIT),
        }
    }

    /// How many more rows to read: one beyond the page tells whether there is another one.
    fn room(&self, taken: usize) -> i64 {
        i64::try_from((self.length() + 1).saturating_sub(taken)).unwrap_or(i64::MAX)
    }

    /// What the cursor leaves of the thread.
    fn bounds(&self, letter: Letter) -> Result<ItemRange, StoreError> {
        let mut range = ItemRange::of_turns(&(0..i64::MAX));
        if let Some(text) = &self.cursor {
            let parsed = letter.parse(text);
            let (at, behind, inclusive) = parsed.ok_or_else(|| StoreError::InvalidCursor(text.clone()))?;
            match (self.direction, inclusive) {
                (SortDirection::Ascending, true) => range.from = at,
                (SortDirection::Ascending, false) => range.from = behind,
                (SortDirection::Descending, true) => range.to = behind,
                (SortDirection::Descending, false) => range.to = at,
            }
        }
        Ok(range)
    }

    fn page<T>(&self, letter: Letter, mut found: Vec<(Place, T)>) -> Page<(Place, T)> {
        let more = found.len() > self.length();
        found.truncate(self.length());
        Page {
            next_cursor: found.last().filter(|_| more).map(|(place, _)| letter.write(*place, "")),
            backwards_cursor: found.first().map(|(place, _)| letter.write(*place, "=")),
            entries: found,
        }
    }
}
