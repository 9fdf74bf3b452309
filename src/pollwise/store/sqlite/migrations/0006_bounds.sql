-- How often a page is polled at least and at most.

-- The most and the least seconds between two polls (NULL: as for all pages).
ALTER TABLE pages ADD COLUMN longest_interval REAL;
ALTER TABLE pages ADD COLUMN shortest_interval REAL;
