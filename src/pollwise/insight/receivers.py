"""Who is not told of changes, as notices do not arrive, and when that is tried again."""

from dataclasses import dataclass, replace

from pollwise.store.base import StoreReader
from pollwise.store.records import StoredReceiver
from pollwise.units import DAY, HOUR

__all__ = [
    "FIRST_REST",
    "LONGEST_REST",
    "FailingReceiver",
    "failing_receivers",
    "rests_until",
    "without_failures",
]

FIRST_REST, LONGEST_REST = 60.0, HOUR
"""Seconds between two tries: at first, and at most, after doubling with each failure."""
_LONGEST_ASKED = DAY
"""Seconds for which a receiver may ask to be left alone."""


@dataclass(frozen=True, slots=True)
class FailingReceiver:
    """A receiver of notices whose latest ones did not arrive, for the reason `error`.

    `arrived_at` is when one arrived last (UTC seconds; None: none ever did), `failures` counts the
    tries since then. So many changes are `waiting`, the oldest of which was found at
    `waiting_since`; of a receiver that is told of some pages only, those of others count too. It
    is tried again at `next_try_at` or, if no watch runs then, by the next one.
    """

    name: str
    error: str | None
    failures: int
    arrived_at: float | None
    waiting: int
    waiting_since: float | None
    next_try_at: float | None


def failing_receivers(store: StoreReader, now: float) -> tuple[FailingReceiver, ...]:
    """The receivers whose latest try failed, by name, at the time `now` (UTC seconds)."""
    return tuple(
        _failing(store, receiver, now) for receiver in store.receivers() if receiver.failures
    )


def rests_until(receiver: StoredReceiver, now: float) -> float | None:
    """When a receiver that failed is tried again (UTC seconds); None: it did not fail.

    `now` is the time: times of a clock that was ahead count as now.
    """
    if not receiver.failures or receiver.tried_at is None:
        return None
    doublings = min(receiver.failures - 1, 10)
    rest = min(FIRST_REST * 2.0**doublings, LONGEST_REST)
    if receiver.asked_until is not None:
        rest = max(rest, min(receiver.asked_until - receiver.tried_at, _LONGEST_ASKED))
    return min(receiver.tried_at, now) + rest


def without_failures(receiver: StoredReceiver) -> StoredReceiver:
    """A receiver that is tried as one that never failed; what it was told stays."""
    return replace(receiver, failures=0, error=None, asked_until=None)


def _failing(store: StoreReader, receiver: StoredReceiver, now: float) -> FailingReceiver:
    waiting, since = store.count_changes(after=receiver.told_seq, to_tell=True)
    return FailingReceiver(
        receiver.name,
        receiver.error,
        receiver.failures,
        receiver.sent_at,
        waiting,
        since,
        rests_until(receiver, now),
    )
