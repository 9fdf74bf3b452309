-- What it takes to drop old events and versions a few at a time; polls that were postponed.

-- The bytes of all events' lines and of all bodies as they are stored.
ALTER TABLE ledger ADD COLUMN event_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN body_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE ledger SET
    event_bytes = (SELECT COALESCE(SUM(LENGTH(line)), 0) FROM events),
    body_bytes = (SELECT COALESCE(SUM(LENGTH(data)), 0) FROM contents);
-- The page whose versions were looked at last, on the round through all pages.
ALTER TABLE ledger ADD COLUMN swept_page INTEGER NOT NULL DEFAULT -1;

-- Of the first version, which may be dropped.
ALTER TABLE pages ADD COLUMN first_seen_at REAL;
UPDATE pages SET first_seen_at = (SELECT MIN(seen_at) FROM versions WHERE page_id = pages.id);

-- To know whether a body still belongs to a version.
CREATE INDEX versions_by_body ON versions (body_hash);

-- The latest poll that was not made, through no fault of the page (NULL: one was made since).
ALTER TABLE pages ADD COLUMN postponed_at REAL;
ALTER TABLE pages ADD COLUMN postponed_why TEXT;
