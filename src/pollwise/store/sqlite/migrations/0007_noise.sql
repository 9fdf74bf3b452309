-- What differs between two fetches of a page without being news.

-- As `noise.py` beside this folder packs it; empty: nothing is known.
ALTER TABLE pages ADD COLUMN noise TEXT NOT NULL DEFAULT '';
