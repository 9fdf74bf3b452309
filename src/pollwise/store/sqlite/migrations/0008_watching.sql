-- What users want of pages, the changes that were found, what is asked of the process that polls,
-- who is told of changes, and which hubs tell of them.

ALTER TABLE pages ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;
-- Words with spaces between them.
ALTER TABLE pages ADD COLUMN tags TEXT NOT NULL DEFAULT '';
-- What somebody calls the page (empty: nobody said).
ALTER TABLE pages ADD COLUMN name TEXT NOT NULL DEFAULT '';
-- Selectors of the parts that count and of those that do not, one a line.
ALTER TABLE pages ADD COLUMN selected TEXT NOT NULL DEFAULT '';
ALTER TABLE pages ADD COLUMN ignored TEXT NOT NULL DEFAULT '';
-- Whether a browser runs the scripts of the page before it is read.
ALTER TABLE pages ADD COLUMN rendered INTEGER NOT NULL DEFAULT 0;
-- The list that brought the page and, when it has its line no more, takes it away (empty: none).
ALTER TABLE pages ADD COLUMN listed_in TEXT NOT NULL DEFAULT '';
-- What the latest copy was read as, such as page or feed (empty: nobody noted it).
ALTER TABLE pages ADD COLUMN source TEXT NOT NULL DEFAULT '';
-- Hashes of the items of a feed that were seen, oldest first, with spaces between them.
ALTER TABLE pages ADD COLUMN items TEXT NOT NULL DEFAULT '';

-- Status line and headers of the answer that brought the version, by zlib (NULL: not kept).
ALTER TABLE versions ADD COLUMN head BLOB;

-- Every change that a poll found; a number is never given twice. The copy before is of before_at.
CREATE TABLE changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    page_id INTEGER NOT NULL,
    seen_at REAL NOT NULL,
    before_at REAL NOT NULL,
    reverted INTEGER NOT NULL,
    title TEXT,
    -- the new items of a feed, in JSON (empty: none)
    items TEXT NOT NULL DEFAULT '',
    -- whether somebody has marked it as read
    is_read INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX changes_unread ON changes (seq) WHERE NOT is_read;
CREATE INDEX changes_by_time ON changes (seen_at);
CREATE INDEX changes_by_page ON changes (page_id, seq);

-- What other processes ask of the one that polls, in JSON; answer is JSON once it is.
CREATE TABLE requests (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    made_at REAL NOT NULL,
    request TEXT NOT NULL,
    answered_at REAL,
    answer TEXT
);
CREATE INDEX requests_waiting ON requests (id) WHERE answered_at IS NULL;

-- Who is told of changes: the number of the latest one told, that of the last one in the notice
-- under way (0: none is), when a notice arrived last, and how the latest try went.
CREATE TABLE receivers (
    name TEXT PRIMARY KEY,
    told_seq INTEGER NOT NULL,
    trying_seq INTEGER NOT NULL DEFAULT 0,
    sent_at REAL,
    tried_at REAL,
    failures INTEGER NOT NULL DEFAULT 0,
    error TEXT
);

-- What hubs are asked for (WebSub): to tell of changes of a page at a callback, signed by a secret.
-- Never asked for before asked_at, confirmed until lease_until; asked again at due_at.
CREATE TABLE subscriptions (
    page_id INTEGER PRIMARY KEY,
    hub TEXT NOT NULL,
    topic TEXT NOT NULL,
    callback TEXT NOT NULL,
    secret TEXT NOT NULL,
    due_at REAL NOT NULL,
    asked_at REAL,
    lease_until REAL,
    failures INTEGER NOT NULL DEFAULT 0,
    error TEXT
);

-- What the ids of changes are made of.
INSERT INTO states (name, data) VALUES ('database_id', randomblob(16));
