-- Users may want notices of some changes only.

-- Conditions, one a line, one of which a change meets of which notices tell (empty: none).
ALTER TABLE pages ADD COLUMN notify_when TEXT NOT NULL DEFAULT '';
-- Whether a condition of the page keeps notices from telling of it.
ALTER TABLE changes ADD COLUMN held_back INTEGER NOT NULL DEFAULT 0;
