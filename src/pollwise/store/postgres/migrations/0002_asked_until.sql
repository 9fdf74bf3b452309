-- Receivers of notices say themselves when they want to be tried again.

-- Until when the receiver asked to be left alone, at its latest failure (NULL: it did not).
ALTER TABLE receivers ADD COLUMN asked_until float8;
