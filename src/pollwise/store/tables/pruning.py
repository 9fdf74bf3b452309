"""Dropping old events and versions: a bounded number with each commit, in its transaction.

The next rows take the space: a database does not shrink, and once it has the size of what is kept,
it does not grow. Call the functions within a transaction.
"""

import math
from collections.abc import Collection, Sequence

from pollwise.store.retention import MOST_EVENT_BYTES, Retention
from pollwise.store.tables.connection import Writer

__all__ = ["drop_runs_before", "drop_versions", "log_events"]

_EVENTS_AT_ONCE = 100
"""Dropped with a commit beyond twice as many as it brings."""
_VERSIONS_AT_ONCE = 100
_ANY = 2**62
_PAGES_AT_ONCE = 8
"""Looked at on the round through all pages: they may not be polled for long, or were removed."""


def log_events(writer: Writer, run_id: int, lines: Sequence[str]) -> None:
    """Append to the event log, and drop its beginning if it is too long.

    What a run began with goes with the first of its events: the rest cannot be re-run.
    """
    values = [{"run_id": run_id, "line": line} for line in lines]
    writer.execute_all("insert_event", values)
    (size,) = writer.execute("add_event_bytes", {"bytes": sum(map(len, lines))}).fetchone()
    if size <= MOST_EVENT_BYTES:
        return
    most = 2 * len(lines) + _EVENTS_AT_ONCE
    last_seq = last_run = dropped = 0
    for seq, run, length in writer.execute("oldest_events", {"limit": most}).fetchall():
        if size - dropped <= MOST_EVENT_BYTES:
            break
        last_seq, last_run, dropped = seq, run, dropped + length
    writer.execute("drop_events", {"seq": last_seq})
    writer.execute("drop_initial_states", {"run_id": last_run + 1})
    writer.execute("add_event_bytes", {"bytes": -dropped}).fetchone()


def drop_runs_before(writer: Writer, run_id: int) -> None:
    """Drop the events and initial states of all runs before one."""
    values = {"run_id": run_id}
    (size,) = writer.execute("event_bytes_before", values).fetchone()
    writer.execute("drop_runs_before", values)
    writer.execute("drop_initial_states", values)
    writer.execute("add_event_bytes", {"bytes": -size}).fetchone()


def drop_versions(
    writer: Writer, retention: Retention, polled: Collection[int], now: float
) -> None:
    """Drop versions that need not be kept: of the pages just polled, and of the next few others."""
    (swept,) = writer.execute("swept_page").fetchone()
    others = []
    for _ in range(_PAGES_AT_ONCE):
        (swept,) = writer.execute("next_page_with_versions", {"after": swept}).fetchone()
        if swept is None:  # the end of the round
            swept = -1
            break
        others.append(swept)
    writer.execute("note_swept_page", {"page_id": swept})
    left = _VERSIONS_AT_ONCE
    for page_id in {*polled, *others}:
        left -= _drop_of_page(writer, retention, page_id, now, left)


def _drop_of_page(writer: Writer, retention: Retention, page_id: int, now: float, most: int) -> int:
    """Drop at most so many versions of a page; how many it were."""
    values = {
        "page_id": page_id,
        "kept": _ANY if retention.versions is None else retention.versions,
        "before": -math.inf if retention.age is None else now - retention.age,
        "most": most,
    }
    old = writer.execute("old_versions", values).fetchall()
    for seen_at, body_hash in old:
        writer.execute("drop_version", {"page_id": page_id, "seen_at": seen_at})
        for (size,) in writer.execute("drop_content", {"hash": body_hash}).fetchall():
            writer.execute("add_body_bytes", {"bytes": -size})
    return len(old)
