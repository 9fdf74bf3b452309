-- The tables of a frontier. Times are UTC seconds since 1970.

CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE queue (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    crawl TEXT NOT NULL,
    key TEXT NOT NULL,
    delay INTEGER,                        -- null: that of all queues
    blocked_until INTEGER NOT NULL DEFAULT 0,
    served_at REAL NOT NULL DEFAULT 0,    -- when URLs were given out last
    most INTEGER NOT NULL DEFAULT 0,      -- URLs fetched at most; 0: no limit
    UNIQUE (crawl, key)
);

CREATE TABLE url (
    id INTEGER PRIMARY KEY,
    queue INTEGER NOT NULL,
    url TEXT NOT NULL,
    metadata BLOB NOT NULL,               -- of the latest message, as a URLInfo with nothing else
    state INTEGER NOT NULL,               -- 0: never fetched, 1: waits for its date,
                                          -- 2: chosen by the index, 3: completed
    created_at INTEGER NOT NULL,
    refetch_at INTEGER NOT NULL,          -- as the client says; 0: never
    leased_until REAL NOT NULL DEFAULT 0, -- 0: it is not given out
    given INTEGER NOT NULL DEFAULT 0,     -- 1: it was given out before
    reported_at REAL NOT NULL DEFAULT 0,  -- when a fetch of it was reported last
    rests_until INTEGER NOT NULL DEFAULT 0, -- the index does not choose it before
    signature TEXT NOT NULL DEFAULT '',
    etag TEXT NOT NULL DEFAULT '',
    last_modified TEXT NOT NULL DEFAULT '',
    page INTEGER,                         -- its number in the policy of its crawl
    chosen INTEGER NOT NULL DEFAULT 0,    -- 1: the policy has chosen it, and it was not reported yet
    UNIQUE (queue, url)
);
CREATE INDEX new_url ON url (queue, id) WHERE state = 0 AND leased_until = 0;
CREATE INDEX dated_url ON url (queue, refetch_at) WHERE state = 1 AND leased_until = 0;
CREATE INDEX leased_url ON url (queue, leased_until) WHERE leased_until > 0;

CREATE TABLE visits (
    crawl TEXT PRIMARY KEY,
    saved REAL NOT NULL,                  -- visits of known pages that were saved up
    saved_at REAL NOT NULL                -- until then
) WITHOUT ROWID;

CREATE TABLE learned (
    crawl TEXT NOT NULL,
    page INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (crawl, page)
) WITHOUT ROWID;

CREATE TABLE learned_shared (
    crawl TEXT NOT NULL,
    name TEXT NOT NULL,
    dtype TEXT NOT NULL,
    shape TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (crawl, name)
) WITHOUT ROWID;

CREATE TABLE layout (text TEXT NOT NULL); -- of the data of learned: one row
