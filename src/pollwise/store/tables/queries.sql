-- Every statement that all databases word alike but for their parameters, which stand here as
-- :name. A query begins with its name and one line that says what it is for. A plus says that
-- all pages are read: else SQLite takes the index of URLs and reads them in the order of these,
-- which of ten million takes 16 seconds instead of one (https://www.sqlite.org/optoverview.html).

-- name: next_page_id
-- The id for the next new page: dense from 0, also counting removed pages.
SELECT COALESCE(MAX(id) + 1, 0) FROM pages;

-- name: forget_copy
-- Other parts of a page count from now on, or it is rendered, or no more: what is remembered of the latest copy is of no use.
UPDATE pages SET
    etag = NULL, last_modified = NULL, body_hash = NULL, text_hash = NULL, earlier_hashes = '',
    noise = '', items = '', told_number = ''
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
       listed_in, name, rendered, gone, notify_when, told_number
FROM pages WHERE removed_at IS NULL ORDER BY id;

-- name: count_pages
-- How many pages are watched.
SELECT COUNT(*) FROM pages WHERE removed_at IS NULL;

-- name: count_copies
-- How many watched pages are copies of others.
SELECT COUNT(*) FROM pages WHERE +removed_at IS NULL AND duplicate_of IS NOT NULL;

-- name: watched_pages
-- What a run needs of watched pages with ids within bounds, in the order of these, beside watched_wishes.
SELECT id, url, weight, seen_at, outcome, gone, name,
       etag, last_modified, body_hash, text_hash, earlier_hashes, items, told_number, noise, scope
FROM pages WHERE removed_at IS NULL AND id >= :first AND id < :behind ORDER BY id;

-- name: watched_wishes
-- What else is wanted of watched pages with ids within bounds, in the order of these; not of those of which nothing is, as of most.
SELECT id, cost, longest_interval, shortest_interval, paused, tags, selected, ignored, rendered,
       notify_when
FROM pages
WHERE removed_at IS NULL AND id >= :first AND id < :behind AND NOT (
    cost = 1.0 AND longest_interval IS NULL AND shortest_interval IS NULL AND NOT paused
    AND tags = '' AND selected = '' AND ignored = '' AND NOT rendered
    AND notify_when = ''
)
ORDER BY id;

-- name: scopes_within
-- The scopes of the watched pages with ids within bounds, as in scopes_by_url.
SELECT id, url, scope FROM pages WHERE removed_at IS NULL AND id >= :first AND id <= :last;

-- name: page_outlines
-- What all watched pages are called, and how they stand.
SELECT id, url, name, title, tags, paused, outcome, seen_at FROM pages WHERE +removed_at IS NULL;

-- name: page_ids
-- The pages that ever had a URL, removed ones too, oldest first.
SELECT id FROM pages WHERE url = :url ORDER BY id;

-- name: count_without_copy
-- The watched pages of which no poll has brought a copy yet.
SELECT COUNT(*) FROM pages WHERE +removed_at IS NULL AND first_seen_at IS NULL;

-- name: drop_changes
-- Drop the oldest changes beyond the newest :kept ones.
DELETE FROM changes WHERE seq <= (SELECT MAX(seq) FROM changes) - :kept;

-- name: mark_change
-- Mark one change as read or not; one that is marked so already stays.
UPDATE changes SET is_read = :read WHERE seq = :seq AND is_read <> :read;

-- name: latest_change
-- The number of the latest change.
SELECT COALESCE(MAX(seq), 0) FROM changes;

-- name: receivers
-- Who is told of changes.
SELECT name, told_seq, trying_seq, sent_at, tried_at, failures, error, asked_until
FROM receivers ORDER BY name;

-- name: save_receiver
-- How far a receiver was told.
INSERT INTO receivers (
    name, told_seq, trying_seq, sent_at, tried_at, failures, error, asked_until
) VALUES (:name, :told_seq, :trying_seq, :sent_at, :tried_at, :failures, :error, :asked_until)
ON CONFLICT (name) DO UPDATE SET
    told_seq = excluded.told_seq, trying_seq = excluded.trying_seq, sent_at = excluded.sent_at,
    tried_at = excluded.tried_at, failures = excluded.failures, error = excluded.error,
    asked_until = excluded.asked_until;

-- name: subscriptions
-- What hubs are asked for.
SELECT page_id, hub, topic, callback, secret, due_at, asked_at, lease_until, failures, error
FROM subscriptions ORDER BY page_id;

-- name: drop_subscription
-- A page has no hub any more, or is removed.
DELETE FROM subscriptions WHERE page_id = :id;

-- name: save_masks
-- What is known of a page's noise, apart from its polls, and the text of its copy without it.
UPDATE pages SET noise = :noise, text_hash = :text_hash WHERE id = :page_id;

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
WHERE outcome IN (0, 1)
    AND NOT EXISTS (SELECT 1 FROM pages WHERE id = page_id AND removed_at IS NOT NULL)
ORDER BY page_id, polled_at;

-- name: insert_layout
-- Name the columns of learned rows, once.
INSERT INTO learned_layouts (layout) VALUES (:layout) ON CONFLICT DO NOTHING;

-- name: save_learned_shared
-- An array that all pages share; clear_learned_shared comes before.
INSERT INTO learned_shared (name, dtype, shape, data) VALUES (:name, :dtype, :shape, :data);

-- name: learned_layouts
-- The layouts of learned rows, oldest first.
SELECT id, layout FROM learned_layouts ORDER BY id;

-- name: learned_pages
-- What was learned of watched pages with ids within bounds, in the order of these.
SELECT page_id, layout_id, data FROM learned_pages
WHERE page_id >= :first AND page_id < :behind ORDER BY page_id;

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

-- name: versions
-- The versions of a page, oldest first.
SELECT v.seen_at, v.content_type, v.body_hash, c.size
FROM versions AS v JOIN contents AS c ON c.hash = v.body_hash
WHERE v.page_id = :page_id ORDER BY v.seen_at;

-- name: revisits
-- The kept polls of a page that found the body of the version before, byte for byte.
SELECT polled_at FROM polls WHERE page_id = :page_id AND identical ORDER BY polled_at;

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

-- name: set_back_told_by_polls
-- Set back the times of changes that polls of a page told.
UPDATE polls SET last_changed_at = :now WHERE page_id = :page_id AND last_changed_at > :now;

-- name: set_back_receivers
-- Set back when receivers were told; what they asked for keeps its length.
UPDATE receivers SET
    sent_at = CASE WHEN sent_at > :now THEN :now ELSE sent_at END,
    asked_until = CASE WHEN tried_at > :now THEN asked_until - tried_at + :now ELSE asked_until END,
    tried_at = CASE WHEN tried_at > :now THEN :now ELSE tried_at END;

-- name: set_back_subscriptions
-- Set back when hubs were asked; what they promised keeps its length.
UPDATE subscriptions SET
    due_at = due_at - COALESCE(asked_at, due_at) + :now,
    lease_until = lease_until - asked_at + :now,
    asked_at = CASE WHEN asked_at > :now THEN :now END
WHERE COALESCE(asked_at, due_at) > :now;

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
