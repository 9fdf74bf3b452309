-- Conditions on notices may be measured from the number that was told last.

-- That number and the one of the latest copy, with a space between them (empty: nothing is measured).
ALTER TABLE pages ADD COLUMN told_number TEXT NOT NULL DEFAULT '';
