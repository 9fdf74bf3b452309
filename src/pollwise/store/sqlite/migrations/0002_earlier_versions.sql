-- By which a change back to an earlier version is known.

-- Hashes of the visible text of earlier versions, oldest first, with spaces between them.
ALTER TABLE pages ADD COLUMN earlier_hashes TEXT NOT NULL DEFAULT '';
ALTER TABLE polls ADD COLUMN reverted INTEGER NOT NULL DEFAULT 0;
