"""What a watch really brought lately: changes found, and how fresh the copies were."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pollwise.insight.found import found_of
from pollwise.insight.knowledge import Knowledge, PastPolls
from pollwise.store.base import StoreReader
from pollwise.units import DAY

__all__ = ["Measured", "MeasuredFreshness", "measured_of"]

_COVERED = 0.5
"""The share of the time that polls must tell of before a freshness is told."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MeasuredFreshness:
    """The mean share of time in which copies equalled their pages, by weight.

    A poll that finds no change shows that the copy was good since the poll before. One that finds a
    change shows only that it came in between: for `middle` it is as likely at one time as at
    another, and `least` is the freshness if every change came right after the poll before. Pages
    that change several times between two polls are less fresh than `middle`. A change that was
    taken back before anybody polled is not noticed.
    """

    middle: float
    least: float


@dataclass(frozen=True, slots=True)
class Measured:
    """What the `days` up to `until` (UTC seconds) brought; fewer, if the watch is younger.

    `found` counts the changes that were found, of removed pages too, and `found_per_day` is that by
    the days. `polls` are those that told something, of the latest 50 of each page; `changed` of
    them found a change, and `expected` were to be expected of them, by what is known now.
    `freshness` is that of the time that polls tell of, which is the share `covered` of all (by
    weight, without paused pages and the time before first copies); None: too little of it.
    """

    days: float
    until: float
    found: int
    found_per_day: float
    polls: int
    changed: int
    expected: float
    covered: float
    freshness: MeasuredFreshness | None


def measured_of(known: Knowledge, store: StoreReader, days: float) -> Measured | None:
    """What so many days up to now brought; None: no page has a copy yet.

    Freshness is told if polls tell of half of the time: after the latest poll of a page nobody
    knows how its copy is.
    """
    found = found_of(known.records, store, until=known.now, days=days)
    if found is None:
        return None
    since, until = found.since, found.until
    past, lasted = known.past, found.seconds / DAY
    told = (past.ends >= since) & (past.ends <= until)
    covered, freshness = _freshness(known, past, since, until)
    return Measured(
        days=lasted,
        until=until,
        found=found.number,
        found_per_day=found.number / lasted,
        polls=int(told.sum()),
        changed=int(past.changed[told].sum()),
        expected=float(past.chances[told].sum()),
        covered=covered,
        freshness=freshness,
    )


def _freshness(
    known: Knowledge, past: PastPolls, since: float, until: float
) -> tuple[float, MeasuredFreshness | None]:
    """The share of the time that polls tell of, and the freshness in it."""
    weights = np.array([0.0 if one.page.paused else one.page.weight for one in known.records])
    if not weights.any():
        weights = np.array([0.0 if one.page.paused else 1.0 for one in known.records])
    # In an array of floats, None becomes NaN: no copy, no time.
    copies = np.array([one.first_seen_at for one in known.records], np.float64)
    whole = float(weights @ np.nan_to_num(np.clip(until - np.maximum(copies, since), 0.0, None)))
    ids = np.array([page.id for page in known.pages], np.int64)
    own = weights[np.searchsorted(ids, past.pages)]
    begin, end = np.maximum(past.begins, since), np.minimum(past.ends, until)
    lasted = own * np.maximum(end - begin, 0.0)
    total = float(lasted.sum())
    if whole <= 0.0 or total < _COVERED * whole:
        return (total / whole if whole > 0.0 else 0.0), None
    # The copy is still good with a probability that falls from 1 to 0 between the two polls.
    with np.errstate(divide="ignore", invalid="ignore"):
        good = (past.ends - (begin + end) / 2) / (past.ends - past.begins)
    share = np.where(past.changed, np.nan_to_num(good), 1.0)
    least = float(lasted[~past.changed].sum()) / total
    return min(total / whole, 1.0), MeasuredFreshness(float(lasted @ share) / total, least)
