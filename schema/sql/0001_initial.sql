-- Version 1. Migrations are only ever added; a released one is never edited.
--
-- `rollout_line` is the truth. `turn`, `item`, `approval` and most columns of `thread` are projections of it, written in
-- the same transaction, and can be rebuilt. `checkpoint` is transient. Times are Unix milliseconds.
--
-- Every index costs one page in each commit that touches it. A column is indexed only where the daemon would otherwise
-- read a whole table while a person waits.

-- A row changes in every append, so it is kept small: what is long and seldom changes is read from its rollout line.
CREATE TABLE thread (
    thread_key       INTEGER PRIMARY KEY,
    thread_id        TEXT    NOT NULL UNIQUE,
    created_at_ms    INTEGER NOT NULL,
    updated_at_ms    INTEGER NOT NULL,
    recency_at_ms    INTEGER NOT NULL,
    archived         INTEGER NOT NULL DEFAULT 0, -- not in the rollout: a mark of the user, kept by a rebuild
    unfinished       INTEGER NOT NULL DEFAULT 0, -- 1 while a turn runs or an item is open
    last_turn_status TEXT,
    source           TEXT    NOT NULL,
    model_provider   TEXT    NOT NULL,
    model            TEXT    NOT NULL,
    cwd              TEXT    NOT NULL,
    name             TEXT,
    preview          TEXT    NOT NULL DEFAULT '',
    settings_seq     INTEGER NOT NULL,           -- the rollout line with the latest settings; the record is line 1
    usage            TEXT                        -- JSON, ThreadTokenUsage
) STRICT;

-- What thread/list sorts by; changes once a turn.
CREATE INDEX thread_recency ON thread (recency_at_ms);

-- Empty unless something runs; read once, when the daemon starts.
CREATE INDEX thread_unfinished ON thread (unfinished) WHERE unfinished = 1;

-- Rows lie in the order they were written, of all threads together, so that an append only touches the end of the table
-- and never splits or rebalances pages in its middle. The index finds the lines of a thread again.
CREATE TABLE rollout_line (
    line_key   INTEGER PRIMARY KEY,
    thread_key INTEGER NOT NULL REFERENCES thread (thread_key) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,                 -- from 1, without gaps
    kind       TEXT    NOT NULL,
    payload    TEXT    NOT NULL,                 -- JSON
    UNIQUE (thread_key, seq)
) STRICT;

CREATE TABLE turn (
    thread_key      INTEGER NOT NULL REFERENCES thread (thread_key) ON DELETE CASCADE,
    ord             INTEGER NOT NULL,            -- from 0
    turn_id         TEXT    NOT NULL,
    status          TEXT    NOT NULL,
    started_at_ms   INTEGER NOT NULL,
    completed_at_ms INTEGER,
    duration_ms     INTEGER,
    error           TEXT,                        -- JSON, TurnError
    PRIMARY KEY (thread_key, ord)
) STRICT, WITHOUT ROWID;

CREATE TABLE item (
    thread_key INTEGER NOT NULL REFERENCES thread (thread_key) ON DELETE CASCADE,
    turn_ord   INTEGER NOT NULL,
    ord        INTEGER NOT NULL,                 -- from 0 in its turn
    item_id    TEXT    NOT NULL,                 -- not unique: a model may use one call id twice
    open       INTEGER NOT NULL,                 -- 1 until it is completed
    seq        INTEGER NOT NULL,                 -- the rollout line with its latest state
    PRIMARY KEY (thread_key, turn_ord, ord)
) STRICT, WITHOUT ROWID;

CREATE TABLE approval (
    thread_key     INTEGER NOT NULL REFERENCES thread (thread_key) ON DELETE CASCADE,
    approval_id    TEXT    NOT NULL,
    turn_id        TEXT    NOT NULL,
    item_id        TEXT    NOT NULL,
    asked_at_ms    INTEGER NOT NULL,
    answered_at_ms INTEGER,
    decision       TEXT,                         -- NULL while it is open
    PRIMARY KEY (thread_key, approval_id)
) STRICT, WITHOUT ROWID;

-- Text of open items that has not been completed yet.
CREATE TABLE checkpoint (
    checkpoint_key INTEGER PRIMARY KEY,
    thread_key     INTEGER NOT NULL REFERENCES thread (thread_key) ON DELETE CASCADE,
    turn_id        TEXT    NOT NULL,
    item_id        TEXT    NOT NULL,
    payload        TEXT    NOT NULL              -- JSON, ItemText
) STRICT;
