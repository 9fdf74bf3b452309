-- The statements that databases word in their own ways; those that all word alike are in
-- store/tables. A query begins with its name and one line that says what it is for; code runs
-- it by that name. The names and the columns of what is read are those of the statements for SQLite.

-- name: insert_page
-- Begin to watch a page.
INSERT INTO pages
    (id, url, scope, weight, cost, longest_interval, shortest_interval, added_at, depth,
     paused, tags, selected, ignored, rendered, notify_when, listed_in, name, source)
VALUES
    (%(id)s, %(url)s, %(scope)s, COALESCE(%(weight)s::float8, 1.0), COALESCE(%(cost)s::float8, 1.0),
     NULLIF(%(longest_interval)s::float8, 0), NULLIF(%(shortest_interval)s::float8, 0), %(added_at)s, %(depth)s,
     COALESCE(%(paused)s::boolean, FALSE), COALESCE(%(tags)s::text, ''), COALESCE(%(selected)s::text, ''), COALESCE(%(ignored)s::text, ''),
     COALESCE(%(rendered)s::boolean, FALSE), COALESCE(%(notify_when)s::text, ''), COALESCE(%(listed_in)s::text, ''), COALESCE(%(name)s::text, ''),
     COALESCE(%(source)s::text, ''));

-- name: update_page
-- A page that is watched already was added again: what was told last holds. A list does not take
-- over a page that was there without it.
UPDATE pages SET
    scope = %(scope)s, weight = COALESCE(%(weight)s::float8, weight), cost = COALESCE(%(cost)s::float8, cost),
    longest_interval = NULLIF(COALESCE(%(longest_interval)s::float8, longest_interval), 0),
    shortest_interval = NULLIF(COALESCE(%(shortest_interval)s::float8, shortest_interval), 0),
    paused = COALESCE(%(paused)s, paused), tags = COALESCE(%(tags)s, tags),
    selected = COALESCE(%(selected)s, selected), ignored = COALESCE(%(ignored)s, ignored),
    name = COALESCE(%(name)s, name),
    rendered = COALESCE(%(rendered)s, rendered), notify_when = COALESCE(%(notify_when)s, notify_when),
    source = CASE source WHEN '' THEN COALESCE(%(source)s::text, '') ELSE source END,
    listed_in = CASE WHEN %(listed_in)s::text = '' THEN '' ELSE listed_in END
WHERE id = %(id)s;

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
    SELECT id FROM pages WHERE removed_at IS NULL
        AND (%(among)s::jsonb IS NULL
            OR id IN (SELECT jsonb_array_elements_text(%(among)s::jsonb)::bigint))
    ORDER BY
        CASE %(by)s::text
            WHEN 'changed' THEN COALESCE(last_changed_at, 0.0)
            WHEN 'polled' THEN COALESCE(polled_at, 0.0)
            WHEN 'added' THEN added_at
            WHEN 'changes' THEN changes
            WHEN 'rate' THEN CASE WHEN seen_at > first_seen_at
                THEN changes / (seen_at - first_seen_at) * 86400 ELSE 0.0 END
            WHEN 'weight' THEN weight
            ELSE 0.0
        END DESC,
        url COLLATE "C"
    LIMIT %(limit)s
);

-- name: live_pages_by_url
-- The watched pages with these URLs, a JSON array (the same columns as live_pages).
SELECT id, url, scope, weight, cost, seen_at,
       etag, last_modified, body_hash, text_hash, earlier_hashes,
       added_at, polled_at, outcome, polls, changes, failures, error, last_changed_at, last_cost,
       depth, relevance, title, duplicate_of, postponed_at, postponed_why, first_seen_at,
       longest_interval, shortest_interval, noise, paused, tags, selected, ignored, source, items,
       listed_in, name, rendered, gone, notify_when, told_number
FROM pages WHERE CAST(md5(url) AS uuid) IN (
    SELECT CAST(md5(named) AS uuid) FROM jsonb_array_elements_text(%(urls)s::jsonb) AS named
) AND removed_at IS NULL;

-- name: wishes_by_url
-- What users want of the watched pages with these URLs, a JSON array.
SELECT url, scope, listed_in, weight, cost, longest_interval, shortest_interval, paused, tags,
       selected, ignored, name, rendered, notify_when
FROM pages WHERE CAST(md5(url) AS uuid) IN (
    SELECT CAST(md5(named) AS uuid) FROM jsonb_array_elements_text(%(urls)s::jsonb) AS named
) AND removed_at IS NULL;

-- name: scopes_by_url
-- The watched pages with these URLs, a JSON array, and their scopes.
SELECT id, url, scope FROM pages WHERE CAST(md5(url) AS uuid) IN (
    SELECT CAST(md5(named) AS uuid) FROM jsonb_array_elements_text(%(urls)s::jsonb) AS named
) AND removed_at IS NULL;

-- name: listed_urls
-- The watched pages that lists with these paths, a JSON array, have brought.
SELECT url FROM pages
WHERE listed_in IN (SELECT jsonb_array_elements_text(%(paths)s::jsonb)) AND removed_at IS NULL ORDER BY id;

-- name: totals
-- What the store holds; bytes are those of its tables and their indexes.
SELECT COUNT(*), COALESCE(SUM(polls), 0)::bigint, COALESCE(SUM(changes), 0)::bigint,
       COUNT(*) FILTER (WHERE failures > 0), (SELECT COUNT(*) FROM versions),
       (SELECT SUM(pg_total_relation_size(oid))::bigint FROM pg_class
        WHERE relkind = 'r' AND relnamespace = quote_ident(current_schema())::regnamespace)
FROM pages WHERE removed_at IS NULL;

-- name: count_poll
-- Count a late observation of an older poll; the first copy of a page is no change.
UPDATE pages
SET polls = polls + 1, changes = changes + (%(changed)s AND seen_at IS NOT NULL)::int
WHERE id = %(page_id)s;

-- name: note_postponed
-- When and why a poll was postponed; nothing is said of one that was made since.
UPDATE pages SET postponed_at = %(polled_at)s, postponed_why = COALESCE(%(error)s::bytea, '')
WHERE id = %(page_id)s AND (polled_at IS NULL OR polled_at < %(polled_at)s);

-- name: update_polled_page
-- Count the latest poll and keep what it told; the first copy of a page is no change. A late
-- observation of an older poll leaves the row as it is. Items that are NULL are those of before.
-- A change that is told to be later than a copy that it did not change was none.
UPDATE pages SET
    polls = polls + 1, changes = changes + (%(changed)s AND seen_at IS NOT NULL)::int,
    etag = %(etag)s, last_modified = %(last_modified)s, body_hash = %(body_hash)s, text_hash = %(text_hash)s,
    earlier_hashes = %(earlier_hashes)s, noise = %(noise)s, items = COALESCE(%(items)s::text, items),
    told_number = %(told_number)s,
    title = COALESCE(%(title)s::bytea, title), source = COALESCE(%(source)s::text, source),
    seen_at = CASE WHEN %(seen)s THEN %(polled_at)s::float8 ELSE seen_at END,
    polled_at = %(polled_at)s, outcome = %(outcome)s, error = %(error)s, last_cost = %(cost)s,
    postponed_at = NULL, postponed_why = NULL,
    last_changed_at = COALESCE(
        CASE WHEN %(changed)s OR COALESCE(seen_at, %(last_changed_at)s::float8) >= %(last_changed_at)s
            THEN %(last_changed_at)s::float8 END,
        CASE WHEN %(changed)s AND seen_at IS NOT NULL THEN %(polled_at)s::float8 END,
        last_changed_at
    ),
    failures = CASE WHEN %(failed)s THEN failures + 1 ELSE 0 END,
    gone = CASE WHEN %(failed)s THEN gone ELSE %(gone)s END
WHERE id = %(page_id)s AND (polled_at IS NULL OR polled_at < %(polled_at)s)
RETURNING polls;

-- name: make_told_polls
-- Make the table of the polls that are written together; it is seen by this connection alone.
CREATE TEMPORARY TABLE IF NOT EXISTS told_polls (
    page_id bigint, polled_at float8, outcome int, last_changed_at float8, n_items int,
    cost float8, reverted boolean, etag bytea, last_modified bytea, body_hash text, text_hash text,
    earlier_hashes text, noise text, items text, title bytea, source text
) ON COMMIT DELETE ROWS;

-- name: tell_polls
-- Put polls, each of another page, that found it unchanged into that table.
COPY told_polls FROM STDIN;

-- name: forget_told_polls
-- Empty that table.
DELETE FROM told_polls;

-- name: take_out_told_polls
-- Take out the polls that are not newer than what their pages tell, and those of pages that are
-- gone, or that there are not.
DELETE FROM told_polls WHERE NOT EXISTS (
    SELECT 1 FROM pages
    WHERE pages.id = told_polls.page_id AND NOT pages.gone
        -- Nobody has counted told_polls; the array has the index of pages used.
        AND pages.id = ANY (ARRAY(SELECT told.page_id FROM told_polls AS told))
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
FROM told_polls AS told
-- See take_out_told_polls.
WHERE pages.id = told.page_id AND pages.id = ANY (ARRAY(SELECT page_id FROM told_polls));

-- name: insert_unchanged_polls
-- The same as insert_poll for these.
INSERT INTO polls
    (page_id, polled_at, outcome, last_changed_at, n_items, cost, reverted, identical)
SELECT page_id, polled_at, outcome, last_changed_at, n_items, cost, reverted,
    COALESCE(body_hash = (
        SELECT body_hash FROM versions
        WHERE page_id = told.page_id AND seen_at <= told.polled_at
        ORDER BY seen_at DESC LIMIT 1
    ), FALSE)
FROM told_polls AS told
ON CONFLICT DO NOTHING;

-- name: prune_polls_of_pages
-- The same as prune_polls for the pages of these.
DELETE FROM polls USING (
    SELECT told.page_id, newest.polled_at
    FROM told_polls AS told CROSS JOIN LATERAL (
        SELECT polled_at FROM polls WHERE page_id = told.page_id
        ORDER BY polled_at DESC LIMIT 1 OFFSET %(kept)s
    ) AS newest
) AS old
WHERE polls.page_id = old.page_id AND polls.polled_at <= old.polled_at
    -- See take_out_told_polls.
    AND polls.page_id = ANY (ARRAY(SELECT page_id FROM told_polls));

-- name: insert_change
-- Note that a page has changed, or is back after it was gone; the first copy of a page is neither.
-- Before update_polled_page.
INSERT INTO changes (page_id, seen_at, before_at, reverted, title, items, kind, held_back)
SELECT
    %(page_id)s::bigint, %(polled_at)s::float8,
    CASE WHEN is_back THEN COALESCE(
        (SELECT MAX(polled_at) FROM polls WHERE page_id = %(page_id)s AND outcome = 2), seen_at
    ) ELSE seen_at END,
    %(reverted)s::boolean, COALESCE(%(title)s::bytea, title), %(found_items)s::text,
    CASE WHEN is_back THEN %(back)s ELSE 0 END, %(held_back)s::boolean AND NOT is_back
FROM (
    SELECT seen_at, title, gone AND polled_at < %(polled_at)s AS is_back
    FROM pages WHERE id = %(page_id)s AND seen_at < %(polled_at)s
) AS known
WHERE %(changed)s OR is_back;

-- name: insert_gone
-- Note that a page with a copy is gone, unless that is known. Before update_polled_page.
INSERT INTO changes (page_id, seen_at, before_at, reverted, title, kind, status)
SELECT id, %(polled_at)s::float8, seen_at, FALSE, title, 1, %(status)s::int
FROM pages
WHERE id = %(page_id)s AND NOT gone AND seen_at < %(polled_at)s AND polled_at < %(polled_at)s;

-- name: changes_after
-- Changes in the order in which they were found, with tags and names that their pages have now.
SELECT c.seq, c.page_id, p.url, c.seen_at, c.before_at, c.reverted, c.title, c.items, p.tags,
       p.name, c.is_read, c.kind, c.status, c.held_back
FROM changes AS c JOIN pages AS p ON p.id = c.page_id
WHERE c.seq > %(after)s AND (%(since)s::float8 IS NULL OR c.seen_at >= %(since)s)
ORDER BY c.seq LIMIT %(limit)s;

-- name: unread_changes_after
-- Those of changes_after that nobody has marked as read.
SELECT c.seq, c.page_id, p.url, c.seen_at, c.before_at, c.reverted, c.title, c.items, p.tags,
       p.name, c.is_read, c.kind, c.status, c.held_back
FROM changes AS c JOIN pages AS p ON p.id = c.page_id
WHERE NOT c.is_read AND c.seq > %(after)s AND (%(since)s::float8 IS NULL OR c.seen_at >= %(since)s)
ORDER BY c.seq LIMIT %(limit)s;

-- name: changes_of_page
-- Those of changes_after that are of one page; if unread, only those of unread_changes_after.
SELECT c.seq, c.page_id, p.url, c.seen_at, c.before_at, c.reverted, c.title, c.items, p.tags,
       p.name, c.is_read, c.kind, c.status, c.held_back
FROM changes AS c JOIN pages AS p ON p.id = c.page_id
WHERE c.page_id = %(page_id)s AND c.seq > %(after)s
    AND (%(since)s::float8 IS NULL OR c.seen_at >= %(since)s)
    AND NOT (%(unread)s::boolean AND c.is_read)
ORDER BY c.seq LIMIT %(limit)s;

-- name: mark_changes_up_to
-- Mark changes up to a number as read.
UPDATE changes SET is_read = TRUE WHERE NOT is_read AND seq <= %(seq)s;

-- name: count_changes
-- How many changes_after there are, and the earliest time; only of pages with one of the tags, a
-- JSON list, unless that is empty, and only of the kinds of another one; if unread or to tell, only those.
SELECT COUNT(*), MIN(c.seen_at) FROM changes AS c JOIN pages AS p ON p.id = c.page_id
WHERE c.seq > %(after)s AND (%(since)s::float8 IS NULL OR c.seen_at >= %(since)s)
    AND NOT (%(unread)s::boolean AND c.is_read)
    AND NOT (%(to_tell)s::boolean AND c.held_back)
    AND c.kind IN (SELECT jsonb_array_elements_text(%(kinds)s::jsonb)::int)
    AND (jsonb_array_length(%(tags)s::jsonb) = 0 OR EXISTS (
        SELECT FROM jsonb_array_elements_text(%(tags)s::jsonb) AS tag
        WHERE STRPOS(' ' || p.tags || ' ', ' ' || tag || ' ') > 0
    ));

-- name: count_changes_of_pages
-- The same of the pages with these ids, a JSON list, by their index.
SELECT COUNT(*), MIN(c.seen_at) FROM changes AS c JOIN pages AS p ON p.id = c.page_id
WHERE c.page_id = ANY (ARRAY(SELECT jsonb_array_elements_text(%(page_ids)s::jsonb)::bigint))
    AND c.seq > %(after)s AND (%(since)s::float8 IS NULL OR c.seen_at >= %(since)s)
    AND NOT (%(unread)s::boolean AND c.is_read)
    AND NOT (%(to_tell)s::boolean AND c.held_back)
    AND c.kind IN (SELECT jsonb_array_elements_text(%(kinds)s::jsonb)::int)
    AND (jsonb_array_length(%(tags)s::jsonb) = 0 OR EXISTS (
        SELECT FROM jsonb_array_elements_text(%(tags)s::jsonb) AS tag
        WHERE STRPOS(' ' || p.tags || ' ', ' ' || tag || ' ') > 0
    ));

-- name: newest_changes
-- The newest of changes_after, newest first, with numbers below one; of tags and unread as in
-- count_changes.
SELECT c.seq, c.page_id, p.url, c.seen_at, c.before_at, c.reverted, c.title, c.items, p.tags,
       p.name, c.is_read, c.kind, c.status, c.held_back
FROM changes AS c JOIN pages AS p ON p.id = c.page_id
WHERE c.seq > %(after)s AND c.seq < %(before)s
    AND (%(since)s::float8 IS NULL OR c.seen_at >= %(since)s)
    AND NOT (%(unread)s::boolean AND c.is_read)
    AND (jsonb_array_length(%(tags)s::jsonb) = 0 OR EXISTS (
        SELECT FROM jsonb_array_elements_text(%(tags)s::jsonb) AS tag
        WHERE STRPOS(' ' || p.tags || ' ', ' ' || tag || ' ') > 0
    ))
ORDER BY c.seq DESC LIMIT %(limit)s;

-- name: newest_changes_of_pages
-- The same of the pages with these ids, a JSON list, by their index: page by page, as the planner
-- would read those of all pages for the order.
SELECT c.seq, c.page_id, p.url, c.seen_at, c.before_at, c.reverted, c.title, c.items, p.tags,
       p.name, c.is_read, c.kind, c.status, c.held_back
FROM pages AS p CROSS JOIN LATERAL (
    SELECT * FROM changes
    WHERE page_id = p.id AND seq > %(after)s AND seq < %(before)s
        AND (%(since)s::float8 IS NULL OR seen_at >= %(since)s)
        AND NOT (%(unread)s::boolean AND is_read)
    ORDER BY seq DESC LIMIT %(limit)s
) AS c
WHERE p.id = ANY (ARRAY(SELECT jsonb_array_elements_text(%(page_ids)s::jsonb)::bigint))
    AND (jsonb_array_length(%(tags)s::jsonb) = 0 OR EXISTS (
        SELECT FROM jsonb_array_elements_text(%(tags)s::jsonb) AS tag
        WHERE STRPOS(' ' || p.tags || ' ', ' ' || tag || ' ') > 0
    ))
ORDER BY c.seq DESC LIMIT %(limit)s;

-- name: written
-- Another number once another transaction has written, in any database of the server.
SELECT hashtextextended(pg_current_snapshot()::text, 0);

-- name: save_subscription
-- What a hub is asked for, and what came of it; nothing of a page that was removed.
INSERT INTO subscriptions
    (page_id, hub, topic, callback, secret, due_at, asked_at, lease_until, failures, error)
SELECT
    id, %(hub)s, %(topic)s, %(callback)s, %(secret)s, %(due_at)s::float8, %(asked_at)s::float8,
    %(lease_until)s::float8, %(failures)s::int, %(error)s
FROM pages WHERE id = %(page_id)s AND removed_at IS NULL
ON CONFLICT (page_id) DO UPDATE SET
    hub = excluded.hub, topic = excluded.topic, callback = excluded.callback,
    secret = excluded.secret, due_at = excluded.due_at, asked_at = excluded.asked_at,
    lease_until = excluded.lease_until, failures = excluded.failures, error = excluded.error;

-- name: insert_poll
-- Keep a poll for explanations; of two at one time the first one, as in update_polled_page.
INSERT INTO polls
    (page_id, polled_at, outcome, last_changed_at, n_items, cost, reverted, identical)
SELECT %(page_id)s::bigint, %(polled_at)s::float8, %(outcome)s::int, %(last_changed_at)s::float8,
    %(n_items)s::int, %(cost)s::float8, %(reverted)s::boolean,
    %(unchanged)s AND COALESCE(%(body_hash)s::text = (
        SELECT body_hash FROM versions WHERE page_id = %(page_id)s AND seen_at <= %(polled_at)s
        ORDER BY seen_at DESC LIMIT 1
    ), FALSE)
ON CONFLICT DO NOTHING;

-- name: save_learned_pages
-- What was learned of pages, %(size)s bytes each, but for those removed while they were polled.
INSERT INTO learned_pages (page_id, layout_id, data)
SELECT p.id, (SELECT id FROM learned_layouts WHERE layout = %(layout)s),
    substr(%(data)s::bytea, (1 + (told.place - 1) * %(size)s)::int, %(size)s::int)
FROM jsonb_array_elements_text(%(page_ids)s::jsonb) WITH ORDINALITY AS told (page_id, place)
JOIN pages AS p ON p.id = told.page_id::bigint AND p.removed_at IS NULL
    AND p.id = ANY (ARRAY(SELECT jsonb_array_elements_text(%(page_ids)s::jsonb)::bigint))
ON CONFLICT (page_id) DO UPDATE SET layout_id = excluded.layout_id, data = excluded.data;

-- name: oldest_kept_run
-- The oldest of the newest %(kept)s runs.
SELECT MIN(id) FROM (SELECT id FROM runs ORDER BY id DESC LIMIT %(kept)s) AS newest;

-- name: event_bytes_before
-- The bytes of the events of the runs before one.
SELECT COALESCE(SUM(LENGTH(line)), 0)::bigint FROM events WHERE run_id < %(run_id)s;

-- name: note_first_version
-- When a page was first seen, if its versions tell.
UPDATE pages SET first_seen_at = LEAST(%(seen_at)s, COALESCE(first_seen_at, %(seen_at)s))
WHERE id = %(page_id)s;

-- name: lately
-- The bodies that versions brought since a time, and all; the begin of the oldest run whose events
-- are kept; the server uses free bytes by itself; the polls since of pages that had fewer than are
-- kept.
SELECT
    (SELECT COUNT(*) FROM (
        SELECT FROM versions GROUP BY body_hash HAVING MIN(seen_at) >= %(since)s
    ) AS brought),
    (SELECT COUNT(*) FROM contents),
    (SELECT started_at FROM runs WHERE id = (SELECT run_id FROM events ORDER BY seq LIMIT 1)),
    0,
    (SELECT COALESCE(SUM(CASE pages.polls WHEN 1 THEN 1 ELSE (
        SELECT COUNT(*) FROM polls WHERE page_id = pages.id AND polled_at >= %(since)s
    ) END), 0)::bigint FROM pages
    WHERE removed_at IS NULL AND pages.polls < %(kept)s AND pages.polled_at >= %(since)s);

-- name: documents_after
-- Pages of which there is a copy; without texts, which only collections have.
SELECT p.id, p.url, p.title, NULL::bytea, p.relevance, p.depth,
       p.first_seen_at, p.seen_at, p.last_changed_at,
       p.polls, p.changes, p.gone, o.url,
       p.name, p.tags, p.weight, p.longest_interval, p.shortest_interval
FROM pages AS p LEFT JOIN pages AS o ON o.id = p.duplicate_of
WHERE p.id > %(after)s AND p.removed_at IS NULL AND p.first_seen_at IS NOT NULL
    AND (%(least)s::float8 IS NULL OR p.relevance >= %(least)s)
ORDER BY p.id LIMIT %(limit)s;

-- name: put_request
-- Ask the process that polls for something.
INSERT INTO requests (made_at, request)
SELECT %(made_at)s, %(request)s
FROM (
    SELECT pg_notify(
        'pollwise_' || to_regnamespace(quote_ident(current_schema()))::oid, 'requests'
    )
) AS announced
RETURNING id;

-- name: set_back_told
-- Set the other times of a page back.
UPDATE pages SET
    added_at = LEAST(added_at, %(now)s),
    -- LEAST leaves out NULL
    removed_at = CASE WHEN removed_at > %(now)s THEN %(now)s ELSE removed_at END,
    first_seen_at = CASE WHEN first_seen_at > %(now)s THEN %(now)s ELSE first_seen_at END,
    last_changed_at = CASE WHEN last_changed_at > %(now)s THEN %(now)s ELSE last_changed_at END,
    postponed_at = CASE WHEN postponed_at > %(now)s THEN %(now)s ELSE postponed_at END
WHERE id = %(page_id)s;

-- name: format
-- The number of the format of the tables.
SELECT format FROM pollwise;

-- name: is_ours
-- The first schema, whether it has the tables of pollwise, whether those of a split database, and
-- whether it has any table.
SELECT current_schema(),
       to_regclass(quote_ident(current_schema()) || '.pollwise') IS NOT NULL,
       to_regclass(quote_ident(current_schema()) || '.pollwise_shards') IS NOT NULL,
       EXISTS (SELECT FROM pg_class
               WHERE relkind = 'r' AND relnamespace = quote_ident(current_schema())::regnamespace);

-- name: note_format
-- The tables have this format now.
UPDATE pollwise SET format = %(format)s;

-- name: become_writer
-- Take the lock of the one writer of a schema for this session, if nobody has it.
SELECT pg_try_advisory_lock(
    1886350455, (to_regnamespace(quote_ident(%(schema)s))::oid::bigint & 2147483647)::int
);

-- name: unlock
-- Give the locks of this session back.
SELECT pg_advisory_unlock_all();

-- name: writer
-- Who has that lock, as its session calls itself.
SELECT a.application_name
FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.classid = 1886350455
    AND l.objid = (to_regnamespace(quote_ident(%(schema)s))::oid::bigint & 2147483647)
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database());

-- name: make_shards
-- Make the table of a split database.
CREATE TABLE pollwise_shards (
    id int PRIMARY KEY CHECK (id = 1),
    -- of this table
    format int NOT NULL,
    shards int NOT NULL,
    -- what all shards may spend together, as people write it
    budget text NOT NULL,
    -- the state of `ShardedBudget`
    ledger text NOT NULL
) WITH (fillfactor = 20);

-- name: insert_shards
-- Into so many shards it is split.
INSERT INTO pollwise_shards (id, format, shards, budget, ledger)
VALUES (1, %(format)s, %(shards)s, %(budget)s, %(ledger)s);

-- name: shards
-- Into how many shards the database is split.
SELECT format, shards FROM pollwise_shards;

-- name: split_around
-- The first schema, and that of the split database of which it may be a shard by its name.
SELECT named.schema, CASE
    WHEN to_regclass(quote_ident(named.around) || '.pollwise_shards') IS NOT NULL THEN named.around
END
FROM (
    SELECT current_schema() AS schema, substring(current_schema() FROM '^(.+)_shard_[0-9]+$') AS around
) AS named;

-- name: share_budget
-- Change the budget of all shards.
UPDATE pollwise_shards SET budget = %(budget)s;

-- name: shared_budget
-- The budget that they share, and what they told last and were given.
SELECT budget, ledger FROM pollwise_shards;

-- name: ledger_to_write
-- The same, which nobody else reads to write it until this transaction ends; and the server's time.
SELECT budget, ledger, EXTRACT(EPOCH FROM clock_timestamp())::float8
FROM pollwise_shards FOR UPDATE;

-- name: channel
-- Where what is written into the first schema is announced.
SELECT 'pollwise_' || to_regnamespace(quote_ident(current_schema()))::oid;

-- name: announce_budget
-- Have the shards in these schemas report at once.
SELECT pg_notify('pollwise_' || oid, 'budget') FROM pg_namespace WHERE nspname = ANY(%(schemas)s);

-- name: save_ledger
-- Keep what shards told and were given.
UPDATE pollwise_shards SET ledger = %(ledger)s;

-- name: begin_writing
-- One more has opened the store for writing; how many they are.
UPDATE pollwise SET writer = writer + 1, batch = 0 RETURNING writer;

-- name: latest_writer
-- How many have opened the store for writing.
SELECT writer FROM pollwise;

-- name: count_batch
-- Number this transaction, if it has written anything.
UPDATE pollwise SET batch = %(batch)s WHERE pg_current_xact_id_if_assigned() IS NOT NULL;

-- name: latest_batch
-- The number of the latest transaction that was kept.
SELECT batch FROM pollwise;
