//! Pages of the thread list: filters, order and cursors over the table `thread`.
//!
//! A cursor is opaque to clients. It names the sort key, a value of it and a thread, so that a page continues where the
//! last one ended even when threads with equal times exist.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::error::{During, StoreError};
use crate::thread::{COLUMNS, SOURCE, ThreadRow, read};

/// What the list is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortKey {
    /// Start of the thread.
    CreatedAt,
    /// Last start or end of a turn.
    UpdatedAt,
    /// Last start of a turn.
    #[default]
    Recency,
}

/// Which end of the list comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortDirection {
    /// Oldest first.
    Ascending,
    /// Newest first.
    #[default]
    Descending,
}

impl SortDirection {
    /// As SQL says it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ascending => "ASC",
            Self::Descending => "DESC",
        }
    }
}

/// Which threads are wanted. Empty lists do not filter.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    /// A cursor of an earlier page.
    pub cursor: Option<String>,
    /// Length of the page; 0 means [`DEFAULT_LIMIT`], more than [`MAX_LIMIT`] means that.
    pub limit: usize,
    /// Order.
    pub sort_key: SortKey,
    /// Direction.
    pub direction: SortDirection,
    /// Archived threads instead of the others.
    pub archived: bool,
    /// Working directories, compared exactly.
    pub cwds: Vec<String>,
    /// Part of the name or the preview; ASCII letters match in either case.
    pub search_term: Option<String>,
    /// Provider ids.
    pub model_providers: Vec<String>,
    /// Values of `ThreadRecord::source`.
    pub sources: Vec<String>,
}

/// One page.
#[derive(Clone, Debug)]
pub struct ListPage {
    /// The threads.
    pub threads: Vec<ThreadRow>,
    /// Continues after the last thread; `None` when there are no more.
    pub next_cursor: Option<String>,
    /// For the opposite direction: begins with the first thread of this page. `None` on an empty page.
    pub backwards_cursor: Option<String>,
}

/// Length of a page when the query does not say.
pub const DEFAULT_LIMIT: usize = 25;
/// Longest page.
pub const MAX_LIMIT: usize = 500;

impl SortKey {
    fn column(self) -> &'static str {
        match self {
            Self::CreatedAt => "t.created_at_ms",
            Self::UpdatedAt => "t.updated_at_ms",
            Self::Recency => "t.recency_at_ms",
        }
    }

    fn letter(self) -> char {
        match self {
            Self::CreatedAt => 'c',
            Self::UpdatedAt => 'u',
            Self::Recency => 'r',
        }
    }
}

/// A place in the list: `<letter><ms>.<thread key>`, with `=` at the end if the thread itself belongs to the page.
#[derive(Clone, Copy)]
struct Anchor {
    ms: i64,
    thread_key: i64,
    inclusive: bool,
}

impl Anchor {
    fn write(self, sort_key: SortKey) -> String {
        let end = if self.inclusive { "=" } else { "" };
        format!("{}{}.{}{end}", sort_key.letter(), self.ms, self.thread_key)
    }

    fn parse(sort_key: SortKey, text: &str) -> Option<Self> {
        let body = text.strip_prefix(sort_key.letter())?;
        let (body, inclusive) = body.strip_suffix('=').map_or((body, false), |b| (b, true));
        let (ms, thread_key) = body.split_once('.')?;
        Some(Self {
            ms: ms.parse().ok()?,
            thread_key: thread_key.parse().ok()?,
            inclusive,
        })
    }
}

/// Reads one page.
pub(crate) fn list(conn: &Connection, query: &ListQuery) -> Result<ListPage, StoreError> {
    let limit = if query.limit == 0 {
        DEFAULT_LIMIT
    } else {
        query.limit.min(MAX_LIMIT)
    };
    let (sql, values) = statement(query, limit)?;
    let mut statement = conn.prepare(&sql).during("list threads")?;
    let mut rows = statement.query(params_from_iter(values)).during("list threads")?;
    let mut found: Vec<(Anchor, ThreadRow)> = Vec::new();
    let mut more = false;
    while let Some(row) = rows.next().during("list threads")? {
        if found.len() == limit {
            more = true;
            break;
        }
        let ms = row.get(9).during("list threads")?;
        let thread_key = row.get(10).during("list threads")?;
        found.push((
            Anchor {
                ms,
                thread_key,
                inclusive: false,
            },
            read(row)?,
        ));
    }
    let cursor = |anchor: Anchor| anchor.write(query.sort_key);
    Ok(ListPage {
        next_cursor: found.last().filter(|_| more).map(|(anchor, _)| cursor(*anchor)),
        backwards_cursor: found.first().map(|(anchor, _)| {
            cursor(Anchor {
                inclusive: true,
                ..*anchor
            })
        }),
        threads: found.into_iter().map(|(_, row)| row).collect(),
    })
}

fn statement(query: &ListQuery, limit: usize) -> Result<(String, Vec<Value>), StoreError> {
    let column = query.sort_key.column();
    let mut conditions = vec!["t.archived = ?".to_owned()];
    let mut values = vec![Value::from(query.archived)];
    if let Some(text) = &query.cursor {
        let anchor = Anchor::parse(query.sort_key, text).ok_or_else(|| StoreError::InvalidCursor(text.clone()))?;
        let beyond = if query.direction == SortDirection::Ascending {
            ">"
        } else {
            "<"
        };
        let equal = if anchor.inclusive { "=" } else { "" };
        conditions.push(format!("({column}, t.thread_key) {beyond}{equal} (?, ?)"));
        values.extend([Value::from(anchor.ms), Value::from(anchor.thread_key)]);
    }
    for (name, wanted) in [
        ("t.cwd", &query.cwds),
        ("t.model_provider", &query.model_providers),
        ("t.source", &query.sources),
    ] {
        if !wanted.is_empty() {
            conditions.push(format!("{name} IN ({})", vec!["?"; wanted.len()].join(", ")));
            values.extend(wanted.iter().cloned().map(Value::from));
        }
    }
    if let Some(term) = query.search_term.as_deref().filter(|t| !t.is_empty()) {
        // Not LIKE: its patterns have a length limit and special characters.
        conditions.push("(instr(lower(t.name), ?) OR instr(lower(t.preview), ?))".to_owned());
        let term = term.to_ascii_lowercase();
        values.extend([Value::from(term.clone()), Value::from(term)]);
    }
    let direction = query.direction.word();
    let sql = format!(
        "SELECT {COLUMNS}, {column}, t.thread_key FROM {SOURCE} WHERE {}
         ORDER BY {column} {direction}, t.thread_key {direction} LIMIT {}",
        conditions.join(" AND "),
        limit + 1
    );
    Ok((sql, values))
}
