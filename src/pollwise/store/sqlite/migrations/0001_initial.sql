-- Times are seconds of UTC since 1970, in columns named ..._at.

-- Every page ever watched. Rows are never deleted, so that an id is never given twice.
CREATE TABLE pages (
    id INTEGER PRIMARY KEY,
    url TEXT NOT NULL,
    scope TEXT NOT NULL,
    weight REAL NOT NULL,
    cost REAL NOT NULL,
    added_at REAL NOT NULL,
    removed_at REAL,
    -- what the robot remembers; bytes where a header was no valid UTF-8
    etag TEXT,
    last_modified TEXT,
    body_hash TEXT,
    text_hash TEXT,
    -- of the latest poll; seen_at: of the latest one that found the page, changed or not
    seen_at REAL,
    polled_at REAL,
    outcome INTEGER,
    error TEXT,
    last_cost REAL,
    last_changed_at REAL,
    polls INTEGER NOT NULL DEFAULT 0,
    changes INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX pages_by_url ON pages (url) WHERE removed_at IS NULL;

-- The latest polls of each page, for explanations; older ones are dropped as new ones come.
CREATE TABLE polls (
    page_id INTEGER NOT NULL,
    polled_at REAL NOT NULL,
    outcome INTEGER NOT NULL,
    last_changed_at REAL,
    n_items INTEGER,
    cost REAL NOT NULL,
    PRIMARY KEY (page_id, polled_at)
) WITHOUT ROWID;

-- Learned state: one packed row per page; its columns are named once, in a layout.
CREATE TABLE learned_layouts (
    id INTEGER PRIMARY KEY,
    layout TEXT NOT NULL UNIQUE
);
CREATE TABLE learned_pages (
    page_id INTEGER PRIMARY KEY,
    layout_id INTEGER NOT NULL,
    data BLOB NOT NULL
);
CREATE TABLE learned_shared (
    name TEXT PRIMARY KEY,
    dtype TEXT NOT NULL,
    shape TEXT NOT NULL,
    data BLOB NOT NULL
);

CREATE TABLE scheduler (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    state TEXT NOT NULL
);

-- A stretch of the event log that can be re-run from initial_state (NULL: its events were pruned).
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    started_at REAL NOT NULL,
    settings TEXT NOT NULL,
    initial_state BLOB
);
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL,
    line TEXT NOT NULL
);
CREATE INDEX events_by_run ON events (run_id);

-- Bodies by their hash, each stored once; codec is 'zlib' or 'raw', size that of the body itself.
CREATE TABLE contents (
    hash TEXT PRIMARY KEY,
    codec TEXT NOT NULL,
    size INTEGER NOT NULL,
    data BLOB NOT NULL
);
CREATE TABLE versions (
    page_id INTEGER NOT NULL,
    seen_at REAL NOT NULL,
    content_type TEXT NOT NULL,
    body_hash TEXT NOT NULL,
    PRIMARY KEY (page_id, seen_at)
) WITHOUT ROWID;
