-- The statements that databases word in their own ways; those that all word alike are in
-- store/tables, which says what a plus is for. A query begins with its name and one line that
-- says what it is for; code runs it as SQL["name"].

-- name: insert_page
-- Begin to watch a page.
INSERT INTO pages
    (id, url, scope, weight, cost, longest_interval, shortest_interval, added_at, depth,
     paused, tags, selected, ignored, rendered, notify_when, listed_in, name, source)
VALUES
    (:id, :url, :scope, COALESCE(:weight, 1.0), COALESCE(:cost, 1.0),
     NULLIF(:longest_interval, 0), NULLIF(:shortest_interval, 0), :added_at, :depth,
     COALESCE(:paused, 0), COALESCE(:tags, ''), COALESCE(:selected, ''), COALESCE(:ignored, ''),
     COALESCE(:rendered, 0), COALESCE(:notify_when, ''), COALESCE(:listed_in, ''),
     COALESCE(:name, ''), COALESCE(:source, ''));

-- name: insert_plain_page
-- The same as insert_page for one that a crawl has found, of which nobody wants anything special.
INSERT INTO pages (id, url, scope, weight, cost, added_at, depth)
VALUES (:id, :url, :scope, 1.0, 1.0, :added_at, :depth);

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
    rendered = COALESCE(:rendered, rendered), notify_when = COALESCE(:notify_when, notify_when),
    source = CASE source WHEN '' THEN COALESCE(:source, '') ELSE source END,
    listed_in = CASE :listed_in WHEN '' THEN '' ELSE listed_in END
WHERE id = :id;

-- name: first_pages
-- The first of the watched pages by what is latest, most or most often, and then by URL, in any
-- order (the same columns as live_pages); of those with these ids, a JSON array (NULL: of all).
SELECT id, url, scope, weight, cost, seen_at,
       etag, last_modified, body_hash, text_hash, earlier_hashes,
       added_at, polled_at, outcome, polls, changes, failures, error, last_changed_at, last_cost,
       depth, relevance, title, duplicate_of, postponed_at, postponed_why, first_seen_at,
       longest_interval, shortest_interval, noise, paused, tags, selected, ignored, source, items,
       listed_in, name, rendered, gone, notify_when, told_number
FROM pages WHERE id IN (
    SELECT id FROM pages WHERE +removed_at IS NULL
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
       listed_in, name, rendered, gone, notify_when, told_number
FROM pages WHERE url IN (SELECT value FROM json_each(:urls)) AND removed_at IS NULL;

-- name: wishes_by_url
-- What users want of the watched pages with these URLs, a JSON array.
SELECT url, scope, listed_in, weight, cost, longest_interval, shortest_interval, paused, tags,
       selected, ignored, name, rendered, notify_when
FROM json_each(:urls) CROSS JOIN pages ON url = value AND removed_at IS NULL;

-- name: scopes_by_url
-- The watched pages with these URLs, a JSON array, and their scopes.
SELECT pages.id, url, scope FROM json_each(:urls) CROSS JOIN pages ON url = value AND removed_at IS NULL;

-- name: listed_urls
-- The watched pages that lists with these paths, a JSON array, have brought.
SELECT url FROM pages
WHERE listed_in IN (SELECT value FROM json_each(:paths)) AND removed_at IS NULL ORDER BY id;

-- name: totals
-- What the store holds; bytes without what the -wal file holds twice.
SELECT COUNT(*), COALESCE(SUM(polls), 0), COALESCE(SUM(changes), 0),
       COUNT(*) FILTER (WHERE failures > 0), (SELECT COUNT(*) FROM versions),
       (SELECT page_count * page_size FROM pragma_page_count, pragma_page_size)
FROM pages WHERE +removed_at IS NULL;

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
-- A change that is told to be later than a copy that it did not change was none.
UPDATE pages SET
    polls = polls + 1, changes = changes + (:changed AND seen_at IS NOT NULL),
    etag = :etag, last_modified = :last_modified, body_hash = :body_hash, text_hash = :text_hash,
    earlier_hashes = :earlier_hashes, noise = :noise, items = COALESCE(:items, items),
    told_number = :told_number,
    title = COALESCE(:title, title), source = COALESCE(:source, source),
    seen_at = CASE WHEN :seen THEN :polled_at ELSE seen_at END,
    polled_at = :polled_at, outcome = :outcome, error = :error, last_cost = :cost,
    postponed_at = NULL, postponed_why = NULL,
    last_changed_at = COALESCE(
        CASE WHEN :changed OR COALESCE(seen_at, :last_changed_at) >= :last_changed_at
            THEN :last_changed_at END,
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
    last_changed_at = COALESCE(
        CASE WHEN COALESCE(pages.seen_at, told.last_changed_at) >= told.last_changed_at
            THEN told.last_changed_at END,
        pages.last_changed_at
    ),
    failures = 0,
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
INSERT INTO changes (page_id, seen_at, before_at, reverted, title, items, kind, held_back)
SELECT
    :page_id, :polled_at,
    CASE WHEN is_back THEN COALESCE(
        (SELECT MAX(polled_at) FROM polls WHERE page_id = :page_id AND outcome = 2), seen_at
    ) ELSE seen_at END,
    :reverted, COALESCE(:title, title), :found_items, CASE WHEN is_back THEN :back ELSE 0 END,
    :held_back AND NOT is_back
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

-- name: changes_after
-- Changes in the order in which they were found, with tags and names that their pages have now.
SELECT c.seq, c.page_id, p.url, c.seen_at, c.before_at, c.reverted, c.title, c.items, p.tags,
       p.name, c.is_read, c.kind, c.status, c.held_back
FROM changes AS c JOIN pages AS p ON p.id = c.page_id
WHERE c.seq > :after AND (:since IS NULL OR c.seen_at >= :since)
ORDER BY c.seq LIMIT :limit;

-- name: unread_changes_after
-- Those of changes_after that nobody has marked as read.
SELECT c.seq, c.page_id, p.url, c.seen_at, c.before_at, c.reverted, c.title, c.items, p.tags,
       p.name, c.is_read, c.kind, c.status, c.held_back
FROM changes AS c JOIN pages AS p ON p.id = c.page_id
WHERE NOT c.is_read AND c.seq > :after AND (:since IS NULL OR c.seen_at >= :since)
ORDER BY c.seq LIMIT :limit;

-- name: changes_of_page
-- Those of changes_after that are of one page; if :unread, only those of unread_changes_after.
SELECT c.seq, c.page_id, p.url, c.seen_at, c.before_at, c.reverted, c.title, c.items, p.tags,
       p.name, c.is_read, c.kind, c.status, c.held_back
FROM changes AS c JOIN pages AS p ON p.id = c.page_id
WHERE c.page_id = :page_id AND c.seq > :after AND (:since IS NULL OR c.seen_at >= :since)
    AND NOT (:unread AND c.is_read)
ORDER BY c.seq LIMIT :limit;

-- name: mark_changes_up_to
-- Mark changes up to a number as read.
UPDATE changes SET is_read = 1 WHERE NOT is_read AND seq <= :seq;

-- name: count_changes
-- How many changes_after there are, and the earliest time; only of pages with one of the tags, a
-- JSON list, unless that is empty, and only of the kinds of another one; if unread or to tell, only those.
SELECT COUNT(*), MIN(c.seen_at) FROM changes AS c JOIN pages AS p ON p.id = c.page_id
WHERE c.seq > :after AND (:since IS NULL OR c.seen_at >= :since)
    AND NOT (:unread AND c.is_read) AND NOT (:to_tell AND c.held_back)
    AND c.kind IN (SELECT value FROM json_each(:kinds)) AND (:tags = '[]' OR EXISTS (
        SELECT 1 FROM json_each(:tags) WHERE INSTR(' ' || p.tags || ' ', ' ' || value || ' ')
    ));

-- name: count_changes_of_pages
-- The same of the pages with these ids, a JSON list, by their index.
SELECT COUNT(*), MIN(c.seen_at) FROM changes AS c JOIN pages AS p ON p.id = c.page_id
WHERE c.page_id IN (SELECT value FROM json_each(:page_ids))
    AND c.seq > :after AND (:since IS NULL OR c.seen_at >= :since)
    AND NOT (:unread AND c.is_read) AND NOT (:to_tell AND c.held_back)
    AND c.kind IN (SELECT value FROM json_each(:kinds)) AND (:tags = '[]' OR EXISTS (
        SELECT 1 FROM json_each(:tags) WHERE INSTR(' ' || p.tags || ' ', ' ' || value || ' ')
    ));

-- name: newest_changes
-- The newest of changes_after, newest first, with numbers below one; of tags and unread as in
-- count_changes.
SELECT c.seq, c.page_id, p.url, c.seen_at, c.before_at, c.reverted, c.title, c.items, p.tags,
       p.name, c.is_read, c.kind, c.status, c.held_back
FROM changes AS c JOIN pages AS p ON p.id = c.page_id
WHERE c.seq > :after AND c.seq < :before AND (:since IS NULL OR c.seen_at >= :since)
    AND NOT (:unread AND c.is_read)
    AND (:tags = '[]' OR EXISTS (
        SELECT 1 FROM json_each(:tags) WHERE INSTR(' ' || p.tags || ' ', ' ' || value || ' ')
    ))
ORDER BY c.seq DESC LIMIT :limit;

-- name: newest_changes_of_pages
-- The same of the pages with these ids, a JSON list, by their index.
SELECT c.seq, c.page_id, p.url, c.seen_at, c.before_at, c.reverted, c.title, c.items, p.tags,
       p.name, c.is_read, c.kind, c.status, c.held_back
FROM changes AS c JOIN pages AS p ON p.id = c.page_id
WHERE c.page_id IN (SELECT value FROM json_each(:page_ids))
    AND c.seq > :after AND c.seq < :before AND (:since IS NULL OR c.seen_at >= :since)
    AND NOT (:unread AND c.is_read)
    AND (:tags = '[]' OR EXISTS (
        SELECT 1 FROM json_each(:tags) WHERE INSTR(' ' || p.tags || ' ', ' ' || value || ' ')
    ))
ORDER BY c.seq DESC LIMIT :limit;

-- name: written
-- Another number once another connection has written.
PRAGMA data_version;

-- name: save_subscription
-- What a hub is asked for, and what came of it; nothing of a page that was removed.
INSERT OR REPLACE INTO subscriptions
    (page_id, hub, topic, callback, secret, due_at, asked_at, lease_until, failures, error)
SELECT
    id, :hub, :topic, :callback, :secret, :due_at, :asked_at, :lease_until, :failures, :error
FROM pages WHERE id = :page_id AND removed_at IS NULL;

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

-- name: save_learned_pages
-- What was learned of pages, :size bytes each, but for those removed while they were polled.
INSERT INTO learned_pages (page_id, layout_id, data)
SELECT value, (SELECT id FROM learned_layouts WHERE layout = :layout),
    substr(:data, 1 + key * :size, :size)
FROM json_each(:page_ids)
WHERE EXISTS (SELECT 1 FROM pages WHERE id = value AND removed_at IS NULL)
ON CONFLICT (page_id) DO UPDATE SET layout_id = excluded.layout_id, data = excluded.data;

-- name: oldest_kept_run
-- The oldest of the newest :kept runs.
SELECT MIN(id) FROM (SELECT id FROM runs ORDER BY id DESC LIMIT :kept);

-- name: event_bytes_before
-- The bytes of the events of the runs before one.
SELECT COALESCE(SUM(LENGTH(line)), 0) FROM events WHERE run_id < :run_id;

-- name: note_first_version
-- When a page was first seen, if its versions tell.
UPDATE pages SET first_seen_at = MIN(:seen_at, COALESCE(first_seen_at, :seen_at))
WHERE id = :page_id;

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
    WHERE +removed_at IS NULL AND pages.polls < :kept AND pages.polled_at >= :since);

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

-- name: terms_of
-- Whether a collected page may be found, and its packed terms.
SELECT indexed, terms FROM documents WHERE page_id = :page_id;

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

-- name: set_back_told
-- Set the other times of a page back.
UPDATE pages SET
    added_at = MIN(added_at, :now),
    removed_at = MIN(removed_at, :now),
    first_seen_at = MIN(first_seen_at, :now),
    last_changed_at = MIN(last_changed_at, :now),
    postponed_at = MIN(postponed_at, :now)
WHERE id = :page_id;
