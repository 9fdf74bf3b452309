-- The tables of a crawl by Scrapy. Pages have their canonical URLs.

CREATE TABLE request (
    page TEXT PRIMARY KEY,
    template BLOB NOT NULL        -- pickled: what the request says beside the defaults
) WITHOUT ROWID;

CREATE TABLE copy (
    page TEXT PRIMARY KEY,
    answered_by TEXT NOT NULL,    -- the URL, after redirects, that sent the validators
    etag TEXT,
    last_modified TEXT,
    content TEXT NOT NULL,        -- the hash of what counts in the page
    taken INTEGER NOT NULL        -- whether the spider got it, and made something of it
) WITHOUT ROWID;
