-- The tables of a watch: those of the SQLite store, as its migrations have made them. Times are
-- seconds of UTC since 1970, in columns named ..._at. Texts from the web, which may hold anything,
-- are the bytes of their UTF-8, lone surrogates included.

-- Marks the schema as one of pollwise; format counts the migrations, writer those that opened it for
-- writing, and batch the transactions in which the latest of these has written.
CREATE TABLE pollwise (
    format int NOT NULL,
    writer bigint NOT NULL DEFAULT 0,
    batch bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 20);
INSERT INTO pollwise (format) VALUES (0);

-- Every page ever watched. Rows are never deleted, so that an id is never given twice. Room is left
-- in each block, as polls write new rows in place of old ones.
CREATE TABLE pages (
    id bigint PRIMARY KEY,
    url text NOT NULL,
    scope text NOT NULL,
    weight float8 NOT NULL,
    cost float8 NOT NULL,
    added_at float8 NOT NULL,
    removed_at float8,
    -- what is remembered of the latest copy
    etag bytea,
    last_modified bytea,
    body_hash text,
    text_hash text,
    -- hashes of the visible text of earlier versions, oldest first, with spaces between them
    earlier_hashes text NOT NULL DEFAULT '',
    -- what is known of noise, as `noise.py` packs it
    noise text NOT NULL DEFAULT '',
    -- hashes of the items of a feed that were seen, oldest first, with spaces between them
    items text NOT NULL DEFAULT '',
    -- of the latest poll; seen_at: of the latest one that found the page, changed or not
    seen_at float8,
    polled_at float8,
    outcome int,
    error bytea,
    last_cost float8,
    last_changed_at float8,
    polls bigint NOT NULL DEFAULT 0,
    changes bigint NOT NULL DEFAULT 0,
    failures bigint NOT NULL DEFAULT 0,
    title bytea,
    -- what the latest copy was read as, such as page or feed (empty: nobody noted it)
    source text NOT NULL DEFAULT '',
    -- whether the latest poll that did not fail found no such page
    gone boolean NOT NULL DEFAULT FALSE,
    -- of the first version, which may be dropped
    first_seen_at float8,
    -- the latest poll that was not made, through no fault of the page (NULL: one was made since)
    postponed_at float8,
    postponed_why bytea,
    -- what users want: the most and the least seconds between two polls (NULL: as for all pages)
    longest_interval float8,
    shortest_interval float8,
    paused boolean NOT NULL DEFAULT FALSE,
    -- words with spaces between them; selectors, one a line
    tags text NOT NULL DEFAULT '',
    name text NOT NULL DEFAULT '',
    selected text NOT NULL DEFAULT '',
    ignored text NOT NULL DEFAULT '',
    rendered boolean NOT NULL DEFAULT FALSE,
    -- the list that brought the page and, when it has its line no more, takes it away
    listed_in text NOT NULL DEFAULT '',
    -- of collections, which no store of this kind has yet
    depth int NOT NULL DEFAULT 0,
    relevance float8,
    duplicate_of bigint
) WITH (fillfactor = 80);
-- A row of an index holds 2,700 bytes at most, and a URL may be longer.
CREATE UNIQUE INDEX pages_by_url ON pages (CAST(md5(url) AS uuid)) WHERE removed_at IS NULL;

-- The latest polls of each page, for explanations; older ones are dropped as new ones come.
CREATE TABLE polls (
    page_id bigint NOT NULL,
    polled_at float8 NOT NULL,
    outcome int NOT NULL,
    last_changed_at float8,
    n_items int,
    cost float8 NOT NULL,
    reverted boolean NOT NULL DEFAULT FALSE,
    -- whether the poll found the body of the latest version, byte for byte
    identical boolean NOT NULL,
    PRIMARY KEY (page_id, polled_at)
);

-- Bodies, each once; codec says how data packs them.
CREATE TABLE contents (
    hash text PRIMARY KEY,
    codec text NOT NULL,
    size bigint NOT NULL,
    data bytea NOT NULL
);
-- They are packed already.
ALTER TABLE contents ALTER COLUMN data SET STORAGE EXTERNAL;

-- Which body a page had; head is the packed head of the answer that brought it (NULL: not kept).
CREATE TABLE versions (
    page_id bigint NOT NULL,
    seen_at float8 NOT NULL,
    content_type bytea NOT NULL,
    body_hash text NOT NULL,
    head bytea,
    PRIMARY KEY (page_id, seen_at)
);
CREATE INDEX versions_by_body ON versions (body_hash, seen_at);

-- Every change that a poll found; a number is never given twice. The copy before is of before_at.
CREATE TABLE changes (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    page_id bigint NOT NULL,
    seen_at float8 NOT NULL,
    before_at float8 NOT NULL,
    reverted boolean NOT NULL,
    title bytea,
    -- the new items of a feed, in JSON (empty: none)
    items text NOT NULL DEFAULT '',
    -- what happened, by the numbers of `ChangeKind`; the HTTP status by which a page was gone
    kind int NOT NULL DEFAULT 0,
    status int,
    is_read boolean NOT NULL DEFAULT FALSE
);
CREATE INDEX changes_unread ON changes (seq) WHERE NOT is_read;
CREATE INDEX changes_by_time ON changes (seen_at);
CREATE INDEX changes_by_page ON changes (page_id, seq);

-- Learned state: one packed row per page; its columns are named once, in a layout.
CREATE TABLE learned_layouts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    layout text NOT NULL UNIQUE
);
CREATE TABLE learned_pages (
    page_id bigint PRIMARY KEY,
    layout_id bigint NOT NULL,
    data bytea NOT NULL
) WITH (fillfactor = 80);
CREATE TABLE learned_shared (
    name text PRIMARY KEY,
    dtype text NOT NULL,
    shape text NOT NULL,
    data bytea NOT NULL
);

CREATE TABLE scheduler (
    id int PRIMARY KEY CHECK (id = 1),
    state text NOT NULL
);

-- Stretches of the event log; what it takes to re-run their events.
CREATE TABLE runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    started_at float8 NOT NULL,
    settings text NOT NULL,
    initial_state bytea
);
CREATE TABLE events (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL,
    line text NOT NULL
);
CREATE INDEX events_by_run ON events (run_id, seq);

-- What else is kept, by name.
CREATE TABLE states (
    name text PRIMARY KEY,
    data bytea NOT NULL
);
INSERT INTO states (name, data)
VALUES ('database_id', decode(replace(gen_random_uuid()::text, '-', ''), 'hex'));

-- What must be known of all tables without looking at all rows.
CREATE TABLE ledger (
    id int PRIMARY KEY CHECK (id = 1),
    -- the latest time of this machine's clock in any row
    latest_at float8 NOT NULL DEFAULT 0,
    -- when a clock was last found to have been ahead: by how many seconds, and the polls concerned
    set_back_at float8,
    set_back_by float8,
    set_back_polls bigint,
    -- the bytes of all events' lines and of all bodies as they are stored
    event_bytes bigint NOT NULL DEFAULT 0,
    body_bytes bigint NOT NULL DEFAULT 0,
    -- the page whose versions were looked at last, on the round through all pages
    swept_page bigint NOT NULL DEFAULT -1
) WITH (fillfactor = 20);
INSERT INTO ledger (id) VALUES (1);

-- What other processes ask of the one that polls, in JSON; answer is JSON once it is.
CREATE TABLE requests (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    made_at float8 NOT NULL,
    request text NOT NULL,
    answered_at float8,
    answer text
);
CREATE INDEX requests_waiting ON requests (id) WHERE answered_at IS NULL;

-- Who is told of changes, and how far.
CREATE TABLE receivers (
    name text PRIMARY KEY,
    told_seq bigint NOT NULL,
    trying_seq bigint NOT NULL DEFAULT 0,
    sent_at float8,
    tried_at float8,
    failures bigint NOT NULL DEFAULT 0,
    error text
);

-- What hubs are asked for, of each page that is watched.
CREATE TABLE subscriptions (
    page_id bigint PRIMARY KEY,
    hub text NOT NULL,
    topic text NOT NULL,
    callback text NOT NULL,
    secret text NOT NULL,
    due_at float8 NOT NULL,
    asked_at float8,
    lease_until float8,
    failures bigint NOT NULL DEFAULT 0,
    error text
);
