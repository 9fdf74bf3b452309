"""How well pages were polled, computed afterwards from what really happened.

Nothing here is known to a policy. `Changes` is what happened, `Polls` what was done about it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["Changes", "Polls", "Score", "detections", "score"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """When pages changed, and from when to when each page is there.

    The changes of page i are `times[offsets[i] : offsets[i + 1]]`, ascending; `born` and `died`
    have an entry per page (UTC seconds, died infinite: still there). `reverted` says of each
    change whether it went back to a version that the page had before (None: not recorded).
    """

    offsets: NDArray[np.int64]
    times: Floats
    born: Floats
    died: Floats
    reverted: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, times: Sequence[Floats], born: Floats, died: Floats) -> Self:
        """From one array of ascending times per page."""
        offsets = np.zeros(len(times) + 1, np.int64)
        np.cumsum([len(page) for page in times], out=offsets[1:])
        joined = np.concatenate([*times, np.empty(0)]).astype(np.float64)
        return cls(offsets, joined, np.asarray(born, float), np.asarray(died, float))

    def of_page(self, page: int) -> Floats:
        """The times at which a page changed."""
        return self.times[self.offsets[page] : self.offsets[page + 1]]

    def novel(self) -> "Changes":
        """Without the changes that went back to an earlier version."""
        if self.reverted is None:
            return self
        kept = ~self.reverted
        offsets = np.append(0, np.cumsum(kept))[self.offsets]
        return replace(self, offsets=offsets, times=self.times[kept], reverted=None)


@dataclass(frozen=True, slots=True, eq=False)
class Polls:
    """Which page was polled when, in the order of time."""

    page_ids: NDArray[np.int64]
    times: Floats

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True, slots=True)
class Score:
    """What was got out of the polls in a window of time.

    `polls` in the window; `changes` that happened in it; `found`: polls that showed a change
    against an earlier copy; `captured`: found / changes (of several changes between two polls
    one is seen). `freshness`: the mean share of time in which the copy of a page equalled the
    page. `delay`: mean seconds from a change to the next poll of the page, or to the end of the
    window or of the page if there was none.
    """

    polls: int
    changes: int
    found: int
    captured: float
    freshness: float
    delay: float


@numba.njit(cache=True)
def _score_page(
    polls: Floats,
    changes: Floats,
    seen_at: float,
    begin: float,
    end: float,
    out: Floats,
) -> None:
    """Add to `out` one page's polls, changes, found, fresh seconds and summed delay.

    The window is [begin, end), within the page's life; seen_at NaN: no copy at first.
    """
    c = 0
    has_copy = not np.isnan(seen_at)
    fresh_from = seen_at
    while has_copy and c < len(changes) and changes[c] <= seen_at:
        c += 1
    for k in range(len(polls) + 1):
        until = polls[k] if k < len(polls) else np.inf
        first = c
        while c < len(changes) and changes[c] <= until:
            if begin <= changes[c] < end:
                out[1] += 1.0
                out[4] += max(min(until, end) - changes[c], 0.0)
            c += 1
        if has_copy:
            fresh_until = changes[first] if c > first else until
            out[3] += max(min(fresh_until, end) - max(fresh_from, begin), 0.0)
        if begin <= until < end:
            out[0] += 1.0
            if has_copy and c > first:
                out[2] += 1.0
        has_copy = True
        fresh_from = until


@numba.njit(cache=True)
def _score_pages(
    poll_offsets: NDArray[np.int64],
    poll_times: Floats,
    change_offsets: NDArray[np.int64],
    change_times: Floats,
    born: Floats,
    died: Floats,
    seen_at: Floats,
    begin: float,
    end: float,
) -> Floats:
    total = np.zeros(6)
    for page in range(len(born)):
        page_begin, page_end = max(begin, born[page]), min(end, died[page])
        if page_end <= page_begin:
            continue
        total[5] += page_end - page_begin
        _score_page(
            poll_times[poll_offsets[page] : poll_offsets[page + 1]],
            change_times[change_offsets[page] : change_offsets[page + 1]],
            seen_at[page],
            page_begin,
            page_end,
            total,
        )
    return total


def score(
    polls: Polls, changes: Changes, *, begin: float, end: float, seen_at: Floats | None = None
) -> Score:
    """Score polls in the window [begin, end).

    `seen_at` is the time of each page's copy before the first poll (NaN or None: no copy).

    >>> changes = Changes.of([np.array([2.0, 3.0, 7.0])], born=np.zeros(1), died=np.full(1, 10.0))
    >>> polls = Polls(np.zeros(3, np.int64), np.array([1.0, 4.0, 8.0]))
    >>> score(polls, changes, begin=0.0, end=10.0)
    Score(polls=3, changes=3, found=2, captured=0.6666666666666666, freshness=0.6, \
delay=1.3333333333333333)
    """
    count = len(changes.born)
    order = np.argsort(polls.page_ids, kind="stable")
    offsets = np.searchsorted(polls.page_ids[order], np.arange(count + 1))
    total = _score_pages(
        offsets,
        polls.times[order],
        changes.offsets,
        changes.times,
        changes.born,
        changes.died,
        np.full(count, np.nan) if seen_at is None else seen_at,
        float(begin),
        float(end),
    )
    polled, changed, found, fresh, waited, lived = (float(x) for x in total)
    return Score(
        polls=int(polled),
        changes=int(changed),
        found=int(found),
        captured=found / changed if changed else float("nan"),
        freshness=fresh / lived if lived else float("nan"),
        delay=waited / changed if changed else float("nan"),
    )


def detections(hazard_before: Floats, hazard_at: Floats) -> Floats:
    """The probability that each poll shows a change, given the cumulative hazards (expected
    numbers of changes) of its page up to the poll before and up to this poll.

    Its mean is the expected number of detections a poll, free of the chance of one history.
    """
    return np.asarray(-np.expm1(hazard_before - hazard_at))
