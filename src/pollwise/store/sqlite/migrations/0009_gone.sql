-- Pages that are gone, and back, are told of like changes.

-- What happened, by the numbers of `ChangeKind`.
ALTER TABLE changes ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;
-- The HTTP status by which a page was gone (NULL: it was not, or nobody noted it).
ALTER TABLE changes ADD COLUMN status INTEGER;
