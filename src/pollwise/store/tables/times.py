"""Times of a clock that was ahead: set back, so that what comes now is later than what is stored.

Otherwise the polls to come would count as older than those stored, until that future has passed.
"""

from collections.abc import Collection

from pollwise.store.records import ClockSetBack
from pollwise.store.tables.connection import Connection, Writer

__all__ = ["note_time", "set_back"]

_STEP = 0.001
"""Seconds between times that were set back: enough to tell them apart in any output."""

_WORTH_TELLING = 5.0
"""Seconds. The clocks of two runs differ by less than that where nothing is wrong."""


def note_time(writer: Writer, latest_at: float) -> None:
    """Note, within a transaction, that a row has this time (UTC seconds)."""
    writer.execute("note_time", {"at": latest_at})


def set_back(connection: Connection, now: float) -> ClockSetBack | None:
    """See `Store.set_back_times`."""
    with connection.transaction() as writer:
        writer.execute("set_back_receivers", {"now": now})
        writer.execute("set_back_subscriptions", {"now": now})
        latest_at = connection.row("latest_time")[0]
        if latest_at <= now:
            return None
        polls = 0
        for (page_id,) in connection.rows("pages_after", now=now):
            polls += _set_back_page(connection, writer, page_id, now)
        writer.execute("set_back_runs", {"now": now})
        writer.execute("set_back_latest_time", {"now": now})
        told = ClockSetBack(now, latest_at - now, polls)
        if told.ahead <= _WORTH_TELLING:
            return None
        writer.execute("note_set_back", {"at": now, "by": told.ahead, "polls": polls})
    return told


def _set_back_page(connection: Connection, writer: Writer, page_id: int, now: float) -> int:
    """Set back the times of one page alike in all tables; the number of polls concerned."""
    moves = _moves({time for (time,) in connection.rows("times_of_page", page_id=page_id)}, now)
    polls = 0
    # Oldest first: then no time is taken by a row that is still to be moved.
    for before, after in moves:
        values = {"page_id": page_id, "before": before, "after": after}
        polls += writer.execute("set_back_poll", values).rowcount
        writer.execute("set_back_version", values)
        writer.execute("set_back_change", values)
        writer.execute("set_back_page", values)
    # What is left is no time of a poll that was made.
    values = {"page_id": page_id, "now": now}
    writer.execute("set_back_told", values)
    writer.execute("set_back_told_by_polls", values)
    return polls


def _moves(times: Collection[float], now: float) -> list[tuple[float, float]]:
    """If any time is after `now`: those that must move, oldest first, each with its new one.

    All are then before `now`.
    """
    if max(times, default=now) <= now:
        return []
    moves = []
    bound = now
    for time in sorted(times, reverse=True):
        if time < bound:
            break
        bound -= _STEP
        moves.append((time, bound))
    return moves[::-1]
