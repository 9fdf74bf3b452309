"""What the next poll of a page waits for."""

import math
from dataclasses import dataclass

from pollwise.scheduler.scheduler import Scheduler
from pollwise.store.records import PageRecord
from pollwise.types import Outcome

__all__ = ["Waits", "waits_of"]


@dataclass(frozen=True, slots=True)
class Waits:
    """What the next poll waits for; see `Explanation`."""

    due_at: float | None
    rests_until: float | None
    host_free_at: float | None
    earliest: float | None
    latest: float | None
    next_poll_at: float | None


def waits_of(
    scheduler: Scheduler,
    record: PageRecord,
    index_due_at: float,
    now: float,
    *,
    quiet_until: float | None,
) -> Waits:
    """`index_due_at` is when the index reaches the price; a page that rests is not due by that.

    No poll begins before `quiet_until`, the end of the quiet hours if it is
    quiet now. A page without a copy is due now, whatever its bounds are.
    """
    page = record.page
    rests = record.outcome in (Outcome.FAILED, Outcome.GONE)
    latest = scheduler.bounds.deadline(page.id)
    earliest = scheduler.bounds.earliest(page.id)
    due_at = None if rests else min(index_due_at, latest)
    rests_until = scheduler.rests_until(page.id) if rests else None
    host_free_at = scheduler.host_free_at(page.scope, now)
    waits_for = rests_until if rests else due_at
    free_at = now if quiet_until is None else quiet_until
    return Waits(
        due_at,
        rests_until,
        host_free_at if host_free_at > now else None,
        earliest if earliest > now else None,
        latest if latest < math.inf and page.seen_at is not None else None,
        None if waits_for is None else max(waits_for, earliest, host_free_at, free_at),
    )
