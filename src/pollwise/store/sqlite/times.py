"""Times of a clock that was ahead: set back, so that what comes now is later than what is stored.

Otherwise the polls to come would count as older than those stored, until that future has passed.
Call the functions within a transaction.
"""

import sqlite3
from collections.abc import Collection

from pollwise.store.records import ClockSetBack
from pollwise.store.sqlite.queries import SQL

__all__ = ["note_time", "set_back"]

_STEP = 0.001
"""Seconds between times that were set back: enough to tell them apart in any output."""


def note_time(connection: sqlite3.Connection, latest_at: float) -> None:
    """Note that a row has this time (UTC seconds)."""
    connection.execute(SQL["note_time"], {"at": latest_at})


def set_back(connection: sqlite3.Connection, now: float) -> ClockSetBack | None:
    """Set all times after `now` back to just before it, in their order; None: there are none."""
    (latest_at,) = connection.execute(SQL["latest_time"]).fetchone()
    if latest_at <= now:
        return None
    polls = 0
    for (page_id,) in connection.execute(SQL["pages_after"], {"now": now}).fetchall():
        polls += _set_back_page(connection, page_id, now)
    connection.execute(SQL["set_back_runs"], {"now": now})
    told = ClockSetBack(now, latest_at - now, polls)
    connection.execute(SQL["note_set_back"], {"at": now, "by": told.ahead, "polls": polls})
    return told


def _set_back_page(connection: sqlite3.Connection, page_id: int, now: float) -> int:
    """Set back the times of one page alike in all tables; the number of polls concerned."""
    rows = connection.execute(SQL["times_of_page"], {"page_id": page_id}).fetchall()
    moved = _moves({time for (time,) in rows}, now)
    polls = 0
    # Oldest first: then no time is taken by a row that is still to be moved.
    for before, after in moved:
        values = {"page_id": page_id, "before": before, "after": after}
        polls += connection.execute(SQL["set_back_poll"], values).rowcount
        connection.execute(SQL["set_back_version"], values)
        connection.execute(SQL["set_back_page"], values)
    # What is left is what servers told, and when the page was added.
    values = {"page_id": page_id, "now": now}
    connection.execute(SQL["set_back_told"], values)
    connection.execute(SQL["set_back_told_by_polls"], values)
    return polls


def _moves(times: Collection[float], now: float) -> list[tuple[float, float]]:
    """Of the times that must move, each with its new one, all before `now`; oldest first."""
    moves = []
    bound = now
    for time in sorted(times, reverse=True):
        if time < bound:
            break
        bound -= _STEP
        moves.append((time, bound))
    return moves[::-1]
