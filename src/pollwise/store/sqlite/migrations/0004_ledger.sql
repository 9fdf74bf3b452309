-- What must be known of the whole file without looking at all rows.

CREATE TABLE ledger (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- the latest time of this machine's clock in any row
    latest_at REAL NOT NULL,
    -- when a clock was last found to have been ahead: by how many seconds, and the polls concerned
    set_back_at REAL,
    set_back_by REAL,
    set_back_polls INTEGER
);
INSERT INTO ledger (id, latest_at) SELECT 1, COALESCE(MAX(at), 0) FROM (
    SELECT MAX(MAX(added_at, COALESCE(polled_at, added_at))) AS at FROM pages
    UNION ALL SELECT MAX(removed_at) FROM pages
    UNION ALL SELECT MAX(polled_at) FROM polls
    UNION ALL SELECT MAX(seen_at) FROM versions
    UNION ALL SELECT MAX(started_at) FROM runs
);
