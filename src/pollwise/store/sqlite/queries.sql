-- Every statement that the store runs on its tables. A query begins with its name and one line
-- that says what it is for; code runs it as SQL["name"].

-- name: next_page_id
-- The id for the next new page: dense from 0, also counting removed pages.
SELECT COALESCE(MAX(id) + 1, 0) FROM pages;

-- name: insert_page
-- Begin to watch a page.
INSERT INTO pages
    (id, url, scope, weight, cost, longest_interval, shortest_interval, added_at, depth,
     paused, tags, selected, ignored, rendered, listed_in, name, source)
VALUES
    (:id, :url, :scope, COALESCE(:weight, 1.0), COALESCE(:cost, 1.0),
     NULLIF(:longest_interval, 0), NULLIF(:shortest_interval, 0), :added_at, :depth,
     COALESCE(:paused, 0), COALESCE(:tags, ''), COALESCE(:selected, ''), COALESCE(:ignored, ''),
     COALESCE(:rendered, 0), COALESCE(:listed_in, ''), COALESCE(:name, ''), COALESCE(:source, ''));

-- name: update_page
-- A page that is watched already was added again: what was told last holds. A list does not take
-- over a page that was there without it.
UPDATE pages SET
    scope = :scope, weight = COALESCE(:weight, weight), cost = COALESCE(:cost, cost),
    longest_interval = NULLIF(COALESCE(:longest_interval, longest_interval), 0),
    shortest_interval = NULLIF(COALESCE(:shortest_interval, shortest_interval), 0),
    paused = COALESCE(:paused, paused), tags = COALESCE(:tags, tags),
    selected = COALESCE(:selected, selected), ignored = COALESCE(:ignored, ignored),
    name = COALESCE(:name, name),
    rendered = COALESCE(:rendered, rendered),
    source = CASE source WHEN '' THEN COALESCE(:source, '') ELSE source END,
    listed_in = CASE :listed_in WHEN '' THEN '' ELSE listed_in END
WHERE id = :id;

-- name: forget_copy
-- Other parts of a page count from now on, or it is rendered, or no more: what is remembered of the latest copy is of no use.
UPDATE pages SET
    etag = NULL, last_modified = NULL, body_hash = NULL, text_hash = NULL, earlier_hashes = '',
    noise = '', items = ''
WHERE id = :id;

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
       added_at, polled_at, outcome, polls, changes, failures, error, last_changed_at, last_cost,
       depth, relevance, title, duplicate_of, postponed_at, postponed_why, first_seen_at,
       longest_interval, shortest_interval, noise, paused, tags, selected, ignored, source, items,
       listed_in, name, rendered, gone
FROM pages WHERE removed_at IS NULL ORDER BY id;

-- name: page_outlines
-- What all watched pages are called, and how they stand.
SELECT id, url, name, title, tags, paused, outcome, seen_at FROM pages WHERE removed_at IS NULL;

-- name: first_pages
-- The first of the watched pages by what is latest, most or most often, and then by URL, in any
-- order (the same columns as live_pages); of those with these ids, a JSON array (NULL: of all).
SELECT id, url, scope, weight, cost, seen_at,
       etag, last_modified, body_hash, text_hash, earlier_hashes,
       added_at, polled_at, outcome, polls, changes, failures, error, last_changed_at, last_cost,
       depth, relevance, title, duplicate_of, postponed_at, postponed_why, first_seen_at,
       longest_interval, shortest_interval, noise, paused, tags, selected, ignored, source, items,
       listed_in, name, rendered, gone
FROM pages WHERE id IN (
    SELECT id FROM pages WHERE removed_at IS NULL
        AND (:among IS NULL OR id IN (SELECT value FROM json_each(:among)))
    ORDER BY
        CASE :by
            WHEN 'changed' THEN COALESCE(last_changed_at, 0.0)
            WHEN 'polled' THEN COALESCE(polled_at, 0.0)
            WHEN 'added' THEN added_at
            WHEN 'changes' THEN changes
            WHEN 'rate' THEN CASE WHEN seen_at > first_seen_at
                THEN changes / (seen_at - first_seen_at) * 86400 ELSE 0.0 END
            WHEN 'weight' THEN weight
            ELSE 0.0
        END DESC,
        url
    LIMIT :limit
);

-- name: live_pages_by_url
-- The watched pages with these URLs, a JSON array (the same columns as live_pages).
SELECT id, url, scope, weight, cost, seen_at,
       etag, last_modified, body_hash, text_hash, earlier_hashes,
       added_at, polled_at, outcome, polls, changes, failures, error, last_changed_at, last_cost,
       depth, relevance, title, duplicate_of, postponed_at, postponed_why, first_seen_at,
       longest_interval, shortest_interval, noise, paused, tags, selected, ignored, source, items,
       listed_in, name, rendered, gone
FROM pages WHERE url IN (SELECT value FROM json_each(:urls)) AND removed_at IS NULL;

-- name: wishes_by_url
-- What users want of the watched pages with these URLs, a JSON array.
SELECT url, scope, listed_in, weight, cost, longest_interval, shortest_interval, paused, tags,
       selected, ignored, name, rendered
FROM pages WHERE url IN (SELECT value FROM json_each(:urls)) AND removed_at IS NULL;

-- name: listed_urls
-- The watched pages that lists with these paths, a JSON array, have brought.
SELECT url FROM pages
WHERE listed_in IN (SELECT value FROM json_each(:paths)) AND removed_at IS NULL ORDER BY id;

-- name: page_ids
-- The pages that ever had a URL, removed ones too, oldest first.
SELECT id FROM pages WHERE url = :url ORDER BY id;

-- name: totals
-- What the store holds; bytes without what the -wal file holds twice.
SELECT COUNT(*), COALESCE(SUM(polls), 0), COALESCE(SUM(changes), 0),
       COUNT(*) FILTER (WHERE failures > 0), (SELECT COUNT(*) FROM versions),
       (SELECT page_count * page_size FROM pragma_page_count, pragma_page_size)
FROM pages WHERE removed_at IS NULL;

-- name: count_without_copy
-- The watched pages of which no poll has brought a copy yet.
SELECT COUNT(*) FROM pages WHERE removed_at IS NULL AND first_seen_at IS NULL;

-- name: count_poll
-- Count a late observation of an older poll; the first copy of a page is no change.
UPDATE pages
SET polls = polls + 1, changes = changes + (:changed AND seen_at IS NOT NULL)
WHERE id = :page_id;

-- name: note_postponed
-- When and why a poll was postponed; nothing is said of one that was made since.
UPDATE pages SET postponed_at = :polled_at, postponed_why = COALESCE(:error, '')
WHERE id = :page_id AND (polled_at IS NULL OR polled_at < :polled_at);

-- name: update_polled_page
-- Count the latest poll and keep what it told; the first copy of a page is no change. A late
-- observation of an older poll leaves the row as it is. Items that are NULL are those of before.
UPDATE pages SET
    polls = polls + 1, changes = changes + (:changed AND seen_at IS NOT NULL),
    etag = :etag, last_modified = :last_modified, body_hash = :body_hash, text_hash = :text_hash,
    earlier_hashes = :earlier_hashes, noise = :noise, items = COALESCE(:items, items),
    title = COALESCE(:title, title), source = COALESCE(:source, source),
    seen_at = CASE WHEN :seen THEN :polled_at ELSE seen_at END,
    polled_at = :polled_at, outcome = :outcome, error = :error, last_cost = :cost,
    postponed_at = NULL, postponed_why = NULL,
    last_changed_at = COALESCE(
        :last_changed_at,
        CASE WHEN :changed AND seen_at IS NOT NULL THEN :polled_at END,
        last_changed_at
    ),
    failures = CASE WHEN :failed THEN failures + 1 ELSE 0 END,
    gone = CASE WHEN :failed THEN gone ELSE :gone END
WHERE id = :page_id AND (polled_at IS NULL OR polled_at < :polled_at)
RETURNING polls;

-- name: make_told_polls
-- Make the table of the polls that are written together; it is seen by this connection alone.
CREATE TEMP TABLE IF NOT EXISTS told_polls (
    page_id, polled_at, outcome, last_changed_at, n_items, cost, reverted,
    etag, last_modified, body_hash, text_hash, earlier_hashes, noise, items, title, source
);

-- name: tell_polls
-- Put polls, each of another page, that found it unchanged into that table; this is for one.
INSERT INTO temp.told_polls
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: forget_told_polls
-- Empty that table.
DELETE FROM temp.told_polls;

-- name: take_out_told_polls
-- Take out the polls that are not newer than what their pages tell, and those of pages that are
-- gone, or that there are not.
DELETE FROM temp.told_polls WHERE NOT EXISTS (
    SELECT 1 FROM pages
    WHERE pages.id = told_polls.page_id AND NOT pages.gone
        AND (pages.polled_at IS NULL OR pages.polled_at < told_polls.polled_at))
RETURNING page_id;

-- name: update_unchanged_pages
-- The same as update_polled_page for these polls.
UPDATE pages SET
    polls = polls + 1, etag = told.etag, last_modified = told.last_modified,
    body_hash = told.body_hash, text_hash = told.text_hash,
    earlier_hashes = told.earlier_hashes, noise = told.noise,
    items = COALESCE(told.items, pages.items),
    title = COALESCE(told.title, pages.title), source = COALESCE(told.source, pages.source),
    seen_at = told.polled_at, polled_at = told.polled_at, outcome = told.outcome, error = NULL,
    last_cost = told.cost, postponed_at = NULL, postponed_why = NULL,
    last_changed_at = COALESCE(told.last_changed_at, pages.last_changed_at), failures = 0,
    gone = FALSE
FROM temp.told_polls AS told
WHERE pages.id = told.page_id;

-- name: insert_unchanged_polls
-- The same as insert_poll for these.
INSERT INTO polls
    (page_id, polled_at, outcome, last_changed_at, n_items, cost, reverted, identical)
SELECT page_id, polled_at, outcome, last_changed_at, n_items, cost, reverted,
    COALESCE(body_hash = (
        SELECT body_hash FROM versions
        WHERE page_id = told.page_id AND seen_at <= told.polled_at
        ORDER BY seen_at DESC LIMIT 1
    ), 0)
FROM temp.told_polls AS told
WHERE TRUE
ON CONFLICT DO NOTHING;

-- name: prune_polls_of_pages
-- The same as prune_polls for the pages of these.
DELETE FROM polls WHERE (page_id, polled_at) IN (
    SELECT old.page_id, old.polled_at
    FROM temp.told_polls AS told CROSS JOIN polls AS old ON old.page_id = told.page_id
    WHERE old.polled_at <= (
        SELECT polled_at FROM polls WHERE page_id = told.page_id
        ORDER BY polled_at DESC LIMIT 1 OFFSET :kept
    )
);

-- name: insert_change
-- Note that a page has changed, or is back after it was gone; the first copy of a page is neither.
-- Before update_polled_page.
INSERT INTO changes (page_id, seen_at, before_at, reverted, title, items, kind)
SELECT
    :page_id, :polled_at,
    CASE WHEN is_back THEN COALESCE(
        (SELECT MAX(polled_at) FROM polls WHERE page_id = :page_id AND outcome = 2), seen_at
    ) ELSE seen_at END,
    :reverted, COALESCE(:title, title), :found_items, CASE WHEN is_back THEN :back ELSE 0 END
FROM (
    SELECT seen_at, title, gone AND polled_at < :polled_at AS is_back
    FROM pages WHERE id = :page_id AND seen_at < :polled_at
)
WHERE :changed OR is_back;

-- name: insert_gone
-- Note that a page with a copy is gone, unless that is known. Before update_polled_page.
INSERT INTO changes (page_id, seen_at, before_at, reverted, title, kind, status)
SELECT id, :polled_at, seen_at, FALSE, title, 1, :status
FROM pages
WHERE id = :page_id AND NOT gone AND seen_at < :polled_at AND polled_at < :polled_at;

-- name: drop_changes
-- Drop the oldest changes beyond the newest :kept ones.
DELETE FROM changes WHERE seq <= (SELECT MAX(seq) FROM changes) - :kept;

-- name: changes_after
-- Changes in the order in which they were found, with tags and names that their pages have now.
SELECT c.seq, c.page_id, p.url, c.seen_at, c.before_at, c.reverted, c.title, c.items, p.tags,
       p.name, c.is_read, c.kind, c.status
FROM changes AS c JOIN pages AS p ON p.id = c.page_id
WHERE c.seq > :after AND (:since IS NULL OR c.seen_at >= :since)
ORDER BY c.seq LIMIT :limit;

-- name: unread_changes_after
-- Those of changes_after that nobody has marked as read.
SELECT c.seq, c.page_id, p.url, c.seen_at, c.before_at, c.reverted, c.title, c.items, p.tags,
       p.name, c.is_read, c.kind, c.status
FROM changes AS c JOIN pages AS p ON p.id = c.page_id
WHERE NOT c.is_read AND c.seq > :after AND (:since IS NULL OR c.seen_at >= :since)
ORDER BY c.seq LIMIT :limit;

-- name: changes_of_page
-- Those of changes_after that are of one page; if :unread, only those of unread_changes_after.
SELECT c.seq, c.page_id, p.url, c.seen_at, c.before_at, c.reverted, c.title, c.items, p.tags,
       p.name, c.is_read, c.kind, c.status
FROM changes AS c JOIN pages AS p ON p.id = c.page_id
WHERE c.page_id = :page_id AND c.seq > :after AND (:since IS NULL OR c.seen_at >= :since)
    AND NOT (:unread AND c.is_read)
ORDER BY c.seq LIMIT :limit;

-- name: mark_change
-- Mark one change as read or not; one that is marked so already stays.
UPDATE changes SET is_read = :read WHERE seq = :seq AND is_read <> :read;

-- name: mark_changes_up_to
-- Mark changes up to a number as read.
UPDATE changes SET is_read = 1 WHERE NOT is_read AND seq <= :seq;

-- name: count_changes
-- How many changes_after there are, and the earliest time; only of pages with one of the tags, a
-- JSON list, unless that is empty, and only of the kinds of another one; if unread, only those.
SELECT COUNT(*), MIN(c.seen_at) FROM changes AS c JOIN pages AS p ON p.id = c.page_id
WHERE c.seq > :after AND (:since IS NULL OR c.seen_at >= :since)
    AND NOT (:unread AND c.is_read)
    AND c.kind IN (SELECT value FROM json_each(:kinds)) AND (:tags = '[]' OR EXISTS (
        SELECT 1 FROM json_each(:tags) WHERE INSTR(' ' || p.tags || ' ', ' ' || value || ' ')
    ));

-- name: newest_changes
-- The newest of changes_after, newest first; of tags and unread as in count_changes.
SELECT c.seq, c.page_id, p.url, c.seen_at, c.before_at, c.reverted, c.title, c.items, p.tags,
       p.name, c.is_read, c.kind, c.status
FROM changes AS c JOIN pages AS p ON p.id = c.page_id
WHERE c.seq > :after AND (:since IS NULL OR c.seen_at >= :since)
    AND NOT (:unread AND c.is_read)
    AND (:tags = '[]' OR EXISTS (
        SELECT 1 FROM json_each(:tags) WHERE INSTR(' ' || p.tags || ' ', ' ' || value || ' ')
    ))
ORDER BY c.seq DESC LIMIT :limit;

-- name: latest_change
-- The number of the latest change.
SELECT COALESCE(MAX(seq), 0) FROM changes;

-- name: written
-- Another number once another connection has written.
PRAGMA data_version;

-- name: receivers
-- Who is told of changes.
SELECT name, told_seq, trying_seq, sent_at, tried_at, failures, error FROM receivers ORDER BY name;

-- name: save_receiver
-- How far a receiver was told.
INSERT INTO receivers (name, told_seq, trying_seq, sent_at, tried_at, failures, error)
VALUES (:name, :told_seq, :trying_seq, :sent_at, :tried_at, :failures, :error)
ON CONFLICT (name) DO UPDATE SET
    told_seq = excluded.told_seq, trying_seq = excluded.trying_seq, sent_at = excluded.sent_at,
    tried_at = excluded.tried_at, failures = excluded.failures, error = excluded.error;

-- name: subscriptions
-- What hubs are asked for.
SELECT page_id, hub, topic, callback, secret, due_at, asked_at, lease_until, failures, error
FROM subscriptions ORDER BY page_id;

-- name: save_subscription
-- What a hub is asked for, and what came of it; nothing of a page that was removed.
INSERT OR REPLACE INTO subscriptions
    (page_id, hub, topic, callback, secret, due_at, asked_at, lease_until, failures, error)
SELECT
    id, :hub, :topic, :callback, :secret, :due_at, :asked_at, :lease_until, :failures, :error
FROM pages WHERE id = :page_id AND removed_at IS NULL;

-- name: drop_subscription
-- A page has no hub any more, or is removed.
DELETE FROM subscriptions WHERE page_id = :id;

-- name: save_masks
-- What is known of a page's noise, apart from its polls, and the text of its copy without it.
UPDATE pages SET noise = :noise, text_hash = :text_hash WHERE id = :page_id;

-- name: insert_poll
-- Keep a poll for explanations; of two at one time the first one, as in update_polled_page.
INSERT INTO polls
    (page_id, polled_at, outcome, last_changed_at, n_items, cost, reverted, identical)
SELECT :page_id, :polled_at, :outcome, :last_changed_at, :n_items, :cost, :reverted,
    :unchanged AND COALESCE(:body_hash = (
        SELECT body_hash FROM versions WHERE page_id = :page_id AND seen_at <= :polled_at
        ORDER BY seen_at DESC LIMIT 1
    ), 0)
WHERE TRUE
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

-- name: save_learned_pages
-- What was learned of pages, :size bytes each, but for those removed while they were polled.
INSERT INTO learned_pages (page_id, layout_id, data)
SELECT value, (SELECT id FROM learned_layouts WHERE layout = :layout),
    substr(:data, 1 + key * :size, :size)
FROM json_each(:page_ids)
WHERE EXISTS (SELECT 1 FROM pages WHERE id = value AND removed_at IS NULL)
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
VALUES (:started_at, :settings, :initial_state)
RETURNING id;

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
SELECT seq, line FROM events WHERE run_id = :run_id AND seq > :after ORDER BY seq LIMIT :limit;

-- name: oldest_kept_run
-- The oldest of the newest :kept runs.
SELECT MIN(id) FROM (SELECT id FROM runs ORDER BY id DESC LIMIT :kept);

-- name: event_bytes_before
-- The bytes of the events of the runs before one.
SELECT COALESCE(SUM(LENGTH(line)), 0) FROM events WHERE run_id < :run_id;

-- name: drop_runs_before
-- Drop the event log of the runs before one.
DELETE FROM events WHERE run_id < :run_id;

-- name: drop_initial_states
-- Drop the states from which the runs before one could be re-run.
UPDATE runs SET initial_state = NULL WHERE id < :run_id AND initial_state IS NOT NULL;

-- name: add_event_bytes
-- The event log has so many bytes more; the sum.
UPDATE ledger SET event_bytes = event_bytes + :bytes RETURNING event_bytes;

-- name: oldest_events
-- The first events of the log, with the bytes of their lines.
SELECT seq, run_id, LENGTH(line) FROM events ORDER BY seq LIMIT :limit;

-- name: drop_events
-- Drop the beginning of the event log.
DELETE FROM events WHERE seq <= :seq;

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
INSERT INTO versions (page_id, seen_at, content_type, body_hash, head)
VALUES (:page_id, :seen_at, :content_type, :body_hash, :head)
ON CONFLICT DO NOTHING;

-- name: head
-- The packed head of the answer that brought a version.
SELECT head FROM versions WHERE page_id = :page_id AND seen_at = :seen_at;

-- name: note_first_version
-- When a page was first seen, if its versions tell.
UPDATE pages SET first_seen_at = MIN(:seen_at, COALESCE(first_seen_at, :seen_at))
WHERE id = :page_id;

-- name: add_body_bytes
-- The bodies have so many bytes more.
UPDATE ledger SET body_bytes = body_bytes + :bytes;

-- name: old_versions
-- The oldest versions of a page that need not be kept; the newest one always is.
SELECT seen_at, body_hash FROM versions
WHERE page_id = :page_id
    AND seen_at < (SELECT MAX(seen_at) FROM versions WHERE page_id = :page_id)
    AND (seen_at < :before OR seen_at <= (
        SELECT seen_at FROM versions WHERE page_id = :page_id
        ORDER BY seen_at DESC LIMIT 1 OFFSET :kept
    ))
ORDER BY seen_at LIMIT :most;

-- name: drop_version
-- Drop a version.
DELETE FROM versions WHERE page_id = :page_id AND seen_at = :seen_at;

-- name: drop_content
-- Drop a body that belongs to no version any more; its bytes, if it was dropped.
DELETE FROM contents
WHERE hash = :hash AND NOT EXISTS (SELECT 1 FROM versions WHERE body_hash = :hash)
RETURNING LENGTH(data);

-- name: swept_page
-- Where the round through all pages is.
SELECT swept_page FROM ledger;

-- name: note_swept_page
-- The round through all pages has come so far.
UPDATE ledger SET swept_page = :page_id;

-- name: next_page_with_versions
-- The next page on that round, removed ones too.
SELECT MIN(page_id) FROM versions WHERE page_id > :after;

-- name: sizes
-- The bytes of the event log and of the bodies.
SELECT event_bytes, body_bytes FROM ledger;

-- name: lately
-- The bodies that versions brought since a time, and all; the begin of the oldest run whose events
-- are kept; the free bytes within the file; the polls since of pages that had fewer than are kept.
-- Of versions it reads the index by bodies alone.
SELECT
    (SELECT COUNT(*) FROM (
        SELECT 1 FROM versions GROUP BY body_hash HAVING MIN(seen_at) >= :since
    )),
    (SELECT COUNT(*) FROM contents),
    (SELECT started_at FROM runs WHERE id = (SELECT run_id FROM events ORDER BY seq LIMIT 1)),
    (SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size),
    (SELECT COALESCE(SUM(CASE pages.polls WHEN 1 THEN 1 ELSE (
        SELECT COUNT(*) FROM polls WHERE page_id = pages.id AND polled_at >= :since
    ) END), 0) FROM pages
    WHERE removed_at IS NULL AND pages.polls < :kept AND pages.polled_at >= :since);

-- name: versions
-- The versions of a page, oldest first.
SELECT v.seen_at, v.content_type, v.body_hash, c.size
FROM versions AS v JOIN contents AS c ON c.hash = v.body_hash
WHERE v.page_id = :page_id ORDER BY v.seen_at;

-- name: revisits
-- The kept polls of a page that found the body of the version before, byte for byte.
SELECT polled_at FROM polls WHERE page_id = :page_id AND identical ORDER BY polled_at;

-- name: collect_page
-- What the present content of a page tells; the first time, it also takes the next place.
UPDATE pages SET
    relevance = :relevance, title = :title, duplicate_of = :duplicate_of,
    fetch_number = COALESCE(fetch_number, (
        SELECT COALESCE(MAX(fetch_number) + 1, 0) FROM pages WHERE fetch_number IS NOT NULL
    ))
WHERE id = :page_id;

-- name: rescore_page
-- The relevance of a collected page, as it is seen now.
UPDATE pages SET relevance = :relevance WHERE id = :page_id AND fetch_number IS NOT NULL;

-- name: save_document
-- The present content of a page.
INSERT INTO documents (page_id, indexed, searchable, terms, text)
VALUES (:page_id, :indexed, :searchable, :terms, :text)
ON CONFLICT (page_id) DO UPDATE SET indexed = excluded.indexed,
    searchable = excluded.searchable, terms = excluded.terms, text = excluded.text;

-- name: search_state
-- Whether the full-text index has a page, and whether it should have it.
SELECT d.searchable,
       d.indexed AND p.duplicate_of IS NULL AND p.removed_at IS NULL AND NOT p.gone
FROM documents AS d JOIN pages AS p ON p.id = d.page_id WHERE d.page_id = :page_id;

-- name: unsettled
-- Those of these pages that the full-text index should have, and has not, or the other way round.
SELECT d.page_id FROM json_each(:page_ids) JOIN documents AS d ON d.page_id = value
    JOIN pages AS p ON p.id = d.page_id
WHERE d.searchable
    <> (d.indexed AND p.duplicate_of IS NULL AND p.removed_at IS NULL AND NOT p.gone);

-- name: document
-- The texts of a page by which it is found, and whether it is.
SELECT p.title, d.text, d.searchable FROM documents AS d JOIN pages AS p ON p.id = d.page_id
WHERE d.page_id = :page_id;

-- name: set_searchable
-- Note whether the full-text index has a page.
UPDATE documents SET searchable = :searchable WHERE page_id = :page_id;

-- name: index_text
-- Have a page found by its texts.
INSERT INTO full_text (rowid, title, text) VALUES (:page_id, :title, :text);

-- name: drop_text
-- Have a page found no longer by these texts, which must be those of index_text.
INSERT INTO full_text (full_text, rowid, title, text) VALUES ('delete', :page_id, :title, :text);

-- name: save_links
-- The links of a page in place of those it had.
INSERT INTO links (page_id, data) VALUES (:page_id, :data)
ON CONFLICT (page_id) DO UPDATE SET data = excluded.data;

-- name: history_after
-- Collected pages with their links, in the order of their first fetches.
SELECT p.fetch_number, p.id, p.relevance, l.data
FROM pages AS p LEFT JOIN links AS l ON l.page_id = p.id
WHERE p.fetch_number > :after AND p.removed_at IS NULL ORDER BY p.fetch_number LIMIT :limit;

-- name: terms_after
-- The packed terms of collected pages.
SELECT page_id, terms FROM documents WHERE page_id > :after ORDER BY page_id LIMIT :limit;

-- name: documents_after
-- Pages of which there is a copy, with their texts.
SELECT p.id, p.url, p.title, d.text, p.relevance, p.depth,
       p.first_seen_at, p.seen_at, p.last_changed_at,
       p.polls, p.changes, p.gone, o.url,
       p.name, p.tags, p.weight, p.longest_interval, p.shortest_interval
FROM pages AS p LEFT JOIN documents AS d ON d.page_id = p.id
LEFT JOIN pages AS o ON o.id = p.duplicate_of
WHERE p.id > :after AND p.removed_at IS NULL AND p.first_seen_at IS NOT NULL
    AND (:least IS NULL OR p.relevance >= :least)
ORDER BY p.id LIMIT :limit;

-- name: search
-- The pages that fit an expression of FTS5, by bm25 against the best and by relevance.
SELECT hit.*, d.text FROM (
    SELECT p.id, p.url, p.title, fit, COALESCE(p.relevance, 0) AS relevance,
           (1 - :topic_share) * fit / MAX(fit) OVER ()
               + :topic_share * COALESCE(p.relevance, 0) AS score
    FROM (
        SELECT rowid, -bm25(full_text, :title_weight, 1) AS fit
        FROM full_text WHERE full_text MATCH :expression
    ) AS found JOIN pages AS p ON p.id = found.rowid
    ORDER BY score DESC, p.id LIMIT :limit OFFSET :offset
) AS hit JOIN documents AS d ON d.page_id = hit.id
ORDER BY hit.score DESC, hit.id;

-- name: searchable_pages
-- The number of pages that the full-text index has.
SELECT COUNT(*) FROM full_text;

-- name: count_matches
-- The number of pages that fit an expression of FTS5.
SELECT COUNT(*) FROM full_text WHERE full_text MATCH :expression;

-- name: put_request
-- Ask the process that polls for something.
INSERT INTO requests (made_at, request) VALUES (:made_at, :request) RETURNING id;

-- name: waiting_requests
-- What was asked for and not answered yet, in the order in which it was asked.
SELECT id, request FROM requests
WHERE id > :after AND answered_at IS NULL ORDER BY id LIMIT :limit;

-- name: answer_request
-- Answer a request, unless it was answered or withdrawn meanwhile.
UPDATE requests SET answered_at = :answered_at, answer = :answer
WHERE id = :id AND answered_at IS NULL;

-- name: answer
-- The answer to a request; none as long as it waits.
SELECT answer FROM requests WHERE id = :id AND answered_at IS NOT NULL;

-- name: drop_answered_requests
-- Drop requests that were answered long ago.
DELETE FROM requests WHERE answered_at < :before;

-- name: drop_state
-- Keep nothing by a name any more.
DELETE FROM states WHERE name = :name;

-- name: save_state
-- Keep bytes by a name.
INSERT INTO states (name, data) VALUES (:name, :data)
ON CONFLICT (name) DO UPDATE SET data = excluded.data;

-- name: state
-- The bytes kept by a name.
SELECT data FROM states WHERE name = :name;

-- name: latest_time
-- The latest time of this machine's clock in any row.
SELECT latest_at FROM ledger;

-- name: note_time
-- A row has this time.
UPDATE ledger SET latest_at = :at WHERE latest_at < :at;

-- name: pages_after
-- Pages with a time after now, removed ones too. It reads whole tables.
SELECT id FROM pages
WHERE added_at > :now OR removed_at > :now
    OR polled_at > :now OR seen_at > :now OR last_changed_at > :now OR postponed_at > :now
UNION SELECT page_id FROM polls WHERE polled_at > :now OR last_changed_at > :now
UNION SELECT page_id FROM versions WHERE seen_at > :now
UNION SELECT page_id FROM changes WHERE seen_at > :now;

-- name: times_of_page
-- All times of this machine's clock in the polls and versions of a page.
SELECT polled_at FROM polls WHERE page_id = :page_id
UNION SELECT seen_at FROM versions WHERE page_id = :page_id
UNION SELECT seen_at FROM changes WHERE page_id = :page_id
UNION SELECT polled_at FROM pages WHERE id = :page_id AND polled_at IS NOT NULL
UNION SELECT seen_at FROM pages WHERE id = :page_id AND seen_at IS NOT NULL;

-- name: set_back_poll
-- Set the time of a poll back.
UPDATE polls SET polled_at = :after WHERE page_id = :page_id AND polled_at = :before;

-- name: set_back_version
-- Set the time of a version back.
UPDATE versions SET seen_at = :after WHERE page_id = :page_id AND seen_at = :before;

-- name: set_back_change
-- Set the times of a change back that are those of a poll.
UPDATE changes SET
    seen_at = CASE seen_at WHEN :before THEN :after ELSE seen_at END,
    before_at = CASE before_at WHEN :before THEN :after ELSE before_at END
WHERE page_id = :page_id;

-- name: set_back_page
-- Set the times of a page back that are those of a poll.
UPDATE pages SET
    polled_at = CASE polled_at WHEN :before THEN :after ELSE polled_at END,
    seen_at = CASE seen_at WHEN :before THEN :after ELSE seen_at END,
    last_changed_at = CASE last_changed_at WHEN :before THEN :after ELSE last_changed_at END,
    first_seen_at = CASE first_seen_at WHEN :before THEN :after ELSE first_seen_at END
WHERE id = :page_id;

-- name: set_back_told
-- Set the other times of a page back.
UPDATE pages SET
    added_at = MIN(added_at, :now),
    removed_at = MIN(removed_at, :now),
    first_seen_at = MIN(first_seen_at, :now),
    last_changed_at = MIN(last_changed_at, :now),
    postponed_at = MIN(postponed_at, :now)
WHERE id = :page_id;

-- name: set_back_told_by_polls
-- Set back the times of changes that polls of a page told.
UPDATE polls SET last_changed_at = :now WHERE page_id = :page_id AND last_changed_at > :now;

-- name: set_back_runs
-- Set the begins of runs back.
UPDATE runs SET started_at = :now WHERE started_at > :now;

-- name: set_back_latest_time
-- No row has a later time any more.
UPDATE ledger SET latest_at = :now;

-- name: note_set_back
-- Note that times were set back.
UPDATE ledger SET set_back_at = :at, set_back_by = :by, set_back_polls = :polls;

-- name: clock_set_back
-- When times were last set back, by how much, and how many polls.
SELECT set_back_at, set_back_by, set_back_polls FROM ledger WHERE set_back_at IS NOT NULL;
