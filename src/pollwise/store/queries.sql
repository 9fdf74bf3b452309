-- Every statement that the store runs on its tables. A query begins with its name and one line
-- that says what it is for; code runs it as SQL["name"].

-- name: next_page_id
-- The id for the next new page: dense from 0, also counting removed pages.
SELECT COALESCE(MAX(id) + 1, 0) FROM pages;

-- name: insert_page
-- Begin to watch a page.
INSERT INTO pages (id, url, scope, weight, cost, added_at)
VALUES (:id, :url, :scope, :weight, :cost, :added_at);

-- name: update_page
-- A page that is watched already was added again: what was said last holds.
UPDATE pages SET scope = :scope, weight = :weight, cost = :cost WHERE id = :id;

-- name: remove_page
-- Stop watching a page; its row, polls and versions stay.
UPDATE pages SET removed_at = :removed_at WHERE id = :id AND removed_at IS NULL;

-- name: forget_page
-- Drop what was learned of a page that is removed.
DELETE FROM learned_pages WHERE page_id = :id;

-- name: live_pages
-- All watched pages, in the order of their ids.
SELECT id, url, scope, weight, cost, seen_at,
       etag, last_modified, body_hash, text_hash, earlier_hashes,
       added_at, polled_at, outcome, polls, changes, failures, error, last_changed_at, last_cost
FROM pages WHERE removed_at IS NULL ORDER BY id;

-- name: live_page_by_url
-- One watched page (the same columns as live_pages).
SELECT id, url, scope, weight, cost, seen_at,
       etag, last_modified, body_hash, text_hash, earlier_hashes,
       added_at, polled_at, outcome, polls, changes, failures, error, last_changed_at, last_cost
FROM pages WHERE url = :url AND removed_at IS NULL;

-- name: totals
-- What the store holds; bytes without what the -wal file holds twice.
SELECT COUNT(*), COALESCE(SUM(polls), 0), COALESCE(SUM(changes), 0),
       COUNT(*) FILTER (WHERE failures > 0), (SELECT COUNT(*) FROM versions),
       (SELECT page_count * page_size FROM pragma_page_count, pragma_page_size)
FROM pages WHERE removed_at IS NULL;

-- name: count_poll
-- Count a poll; the first copy of a page is no change. Run before update_polled_page.
UPDATE pages
SET polls = polls + 1, changes = changes + (:changed AND seen_at IS NOT NULL)
WHERE id = :page_id;

-- name: update_polled_page
-- What the latest poll told; a late observation of an older poll leaves the row as it is.
UPDATE pages SET
    etag = :etag, last_modified = :last_modified, body_hash = :body_hash, text_hash = :text_hash,
    earlier_hashes = :earlier_hashes,
    seen_at = CASE WHEN :seen THEN :polled_at ELSE seen_at END,
    polled_at = :polled_at, outcome = :outcome, error = :error, last_cost = :cost,
    last_changed_at = COALESCE(
        :last_changed_at,
        CASE WHEN :changed AND seen_at IS NOT NULL THEN :polled_at END,
        last_changed_at
    ),
    failures = CASE WHEN :failed THEN failures + 1 ELSE 0 END
WHERE id = :page_id AND (polled_at IS NULL OR polled_at < :polled_at);

-- name: insert_poll
-- Keep a poll for explanations; of two at one time the first one, as in update_polled_page.
INSERT INTO polls (page_id, polled_at, outcome, last_changed_at, n_items, cost, reverted)
VALUES (:page_id, :polled_at, :outcome, :last_changed_at, :n_items, :cost, :reverted)
ON CONFLICT DO NOTHING;

-- name: prune_polls
-- Drop the polls of a page that are older than its newest :kept ones.
DELETE FROM polls WHERE page_id = :page_id AND polled_at <= (
    SELECT polled_at FROM polls WHERE page_id = :page_id
    ORDER BY polled_at DESC LIMIT 1 OFFSET :kept
);

-- name: recent_polls
-- The latest polls of a page, newest first.
SELECT page_id, polled_at, outcome, last_changed_at, n_items, cost, reverted
FROM polls WHERE page_id = :page_id ORDER BY polled_at DESC LIMIT :limit;

-- name: outcomes
-- Of the watched pages, the polls that found the page (0: unchanged, 1: changed).
SELECT page_id, polled_at, outcome FROM polls
WHERE outcome IN (0, 1) AND page_id IN (SELECT id FROM pages WHERE removed_at IS NULL)
ORDER BY page_id, polled_at;

-- name: insert_layout
-- Name the columns of learned rows, once.
INSERT INTO learned_layouts (layout) VALUES (:layout) ON CONFLICT DO NOTHING;

-- name: save_learned_page
-- What was learned of a page, unless the page was removed while it was polled.
INSERT INTO learned_pages (page_id, layout_id, data)
SELECT :page_id, (SELECT id FROM learned_layouts WHERE layout = :layout), :data
WHERE EXISTS (SELECT 1 FROM pages WHERE id = :page_id AND removed_at IS NULL)
ON CONFLICT (page_id) DO UPDATE SET layout_id = excluded.layout_id, data = excluded.data;

-- name: save_learned_shared
-- An array that all pages share; clear_learned_shared comes before.
INSERT INTO learned_shared (name, dtype, shape, data) VALUES (:name, :dtype, :shape, :data);

-- name: learned_layouts
-- The layouts of learned rows, oldest first.
SELECT id, layout FROM learned_layouts ORDER BY id;

-- name: learned_pages
-- What was learned of all watched pages.
SELECT page_id, layout_id, data FROM learned_pages ORDER BY page_id;

-- name: learned_shared
-- What all pages share.
SELECT name, dtype, shape, data FROM learned_shared ORDER BY name;

-- name: clear_learned_layouts
-- Forget what was learned: the names of the columns.
DELETE FROM learned_layouts;

-- name: clear_learned_pages
-- Forget what was learned: all pages.
DELETE FROM learned_pages;

-- name: clear_learned_shared
-- Forget what was learned: the arrays that all pages share.
DELETE FROM learned_shared;

-- name: save_scheduler
-- The scheduler's state after the batch.
INSERT INTO scheduler (id, state) VALUES (1, :state)
ON CONFLICT (id) DO UPDATE SET state = excluded.state;

-- name: scheduler_state
-- The scheduler's state after the latest batch that gave one.
SELECT state FROM scheduler;

-- name: insert_run
-- Begin a stretch of the event log.
INSERT INTO runs (started_at, settings, initial_state)
VALUES (:started_at, :settings, :initial_state);

-- name: runs
-- All runs, oldest first.
SELECT id, started_at, settings FROM runs ORDER BY id;

-- name: initial_state
-- The state at the start of a run.
SELECT initial_state FROM runs WHERE id = :run_id;

-- name: insert_event
-- Append a line to the event log.
INSERT INTO events (run_id, line) VALUES (:run_id, :line);

-- name: events_after
-- A slice of a run's event log.
SELECT seq, line FROM events WHERE run_id = :run_id AND seq > :seq ORDER BY seq LIMIT :limit;

-- name: oldest_kept_run
-- The oldest of the newest :kept runs.
SELECT MIN(id) FROM (SELECT id FROM runs ORDER BY id DESC LIMIT :kept);

-- name: prune_events
-- Drop the event log of the runs before one.
DELETE FROM events WHERE run_id < :run_id;

-- name: prune_initial_states
-- Drop the states from which the pruned event logs could be re-run.
UPDATE runs SET initial_state = NULL WHERE id < :run_id;

-- name: content_exists
-- Whether a body is stored already.
SELECT 1 FROM contents WHERE hash = :hash;

-- name: insert_content
-- Store a body.
INSERT INTO contents (hash, codec, size, data) VALUES (:hash, :codec, :size, :data);

-- name: content
-- A stored body.
SELECT codec, size, data FROM contents WHERE hash = :hash;

-- name: insert_version
-- Note which body a page had.
INSERT INTO versions (page_id, seen_at, content_type, body_hash)
VALUES (:page_id, :seen_at, :content_type, :body_hash)
ON CONFLICT DO NOTHING;

-- name: versions
-- The versions of a page, oldest first.
SELECT v.seen_at, v.content_type, v.body_hash, c.size
FROM versions AS v JOIN contents AS c ON c.hash = v.body_hash
WHERE v.page_id = :page_id ORDER BY v.seen_at;
