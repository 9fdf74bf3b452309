-- The collection about a topic: what pages hold, what they link to, and how they are found.

-- Links between a seed and the page.
ALTER TABLE pages ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
-- What collecting made of the page; fetch_number: its place in the order of the first fetches.
ALTER TABLE pages ADD COLUMN fetch_number INTEGER;
ALTER TABLE pages ADD COLUMN relevance REAL;
ALTER TABLE pages ADD COLUMN title TEXT;
ALTER TABLE pages ADD COLUMN duplicate_of INTEGER;
-- Whether the latest poll that did not fail found no such page.
ALTER TABLE pages ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;
UPDATE pages SET gone = 1 WHERE outcome = 2;
CREATE UNIQUE INDEX pages_by_fetch ON pages (fetch_number) WHERE fetch_number IS NOT NULL;

-- Whether the poll found the body of the latest version, byte for byte (NULL: nobody noted it).
ALTER TABLE polls ADD COLUMN identical INTEGER;

-- The present content of collected pages: packed terms and the text (UTF-8, by zlib).
CREATE TABLE documents (
    page_id INTEGER PRIMARY KEY,
    -- indexed: it may be found; searchable: full_text has it, with the title of its page
    indexed INTEGER NOT NULL,
    searchable INTEGER NOT NULL,
    terms BLOB NOT NULL,
    text BLOB NOT NULL
);
-- Without its own copy of the texts: to drop a page from it takes what was put in.
CREATE VIRTUAL TABLE full_text USING fts5 (
    title, text, content = '', tokenize = 'porter unicode61 remove_diacritics 2'
);

-- The links of a page, packed: a row for each would take half as much space again.
CREATE TABLE links (
    page_id INTEGER PRIMARY KEY,
    data BLOB NOT NULL
);

-- What collecting keeps for itself, by name.
CREATE TABLE states (
    name TEXT PRIMARY KEY,
    data BLOB NOT NULL
);
