"""How well pages were polled, computed afterwards from what really happened.

Nothing here is known to a policy. `Changes` is what happened, `Polls` what was done about it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pollwise.kernel_cache import kernel
from pollwise.times import Moment, time_of, times_of

__all__ = [
    "RATIOS",
    "TALLIED",
    "Changes",
    "Polls",
    "Score",
    "detections",
    "ratios",
    "score",
    "tally",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """When pages changed, and when each page existed.

    The changes of page i are `times[offsets[i] : offsets[i + 1]]`, ascending; `born` and `died`
    have an entry per page (UTC seconds; died infinite: it still exists). `reverted` says of each
    change whether it went back to a version that the page had before (None: not recorded).
    """

    offsets: NDArray[np.int64]
    times: Floats
    born: Floats
    died: Floats
    reverted: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, times: Iterable[ArrayLike], born: ArrayLike, died: ArrayLike) -> Self:
        """From one array of ascending times per page, and when each was born and died.

        Times are UTC seconds, or what else `pollwise.times` understands; died infinite: never.
        """
        pages = [times_of("Changes: times", page) for page in times]
        offsets = np.zeros(len(pages) + 1, np.int64)
        np.cumsum([len(page) for page in pages], out=offsets[1:])
        joined = np.concatenate([*pages, np.empty(0)])
        ends = times_of("Changes: died", died, endless=True)
        return cls(offsets, joined, times_of("Changes: born", born), ends)

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
    """What polls achieved in a window of time.

    `polls` in the window; `changes` that happened in it; `found`: polls that showed a change
    against an earlier copy; `captured`: found / changes (of several changes between two polls
    one is seen). `novel_captured`: the same for changes that were no reverts. `freshness`: the
    mean share of time in which the copy of a page equalled the page. `delay`: mean seconds from a
    change to the next poll of the page, or to the end of the window or of the page if there was
    none. `age`: the mean, over time and pages, of the seconds since the page first changed after
    its copy was made (or was born, without any copy); 0 while the copy is fresh.
    """

    polls: int
    changes: int
    found: int
    captured: float
    novel_captured: float
    freshness: float
    delay: float
    age: float


TALLIED = (
    "polls", "changes", "found", "novel", "novel_found", "fresh", "waited", "aged", "lived",
)  # fmt: skip
"""The columns of a tally: counts of polls, changes, found changes, changes that are no reverts and
those of them that were found; seconds in which the copy was fresh, that changes waited for a
poll, of age summed over time (squared seconds), and of life in the window."""

RATIOS = {
    "captured": ("found", "changes"),
    "novel_captured": ("novel_found", "novel"),
    "freshness": ("fresh", "lived"),
    "delay": ("waited", "changes"),
    "age": ("aged", "lived"),
}
"""The figures that are one column of a tally over another."""

_POLLS, _CHANGES, _FOUND, _NOVEL, _NOVEL_FOUND, _FRESH, _WAITED, _AGED, _LIVED = range(len(TALLIED))


@kernel
def _tally_page(
    polls: Floats,
    changes: Floats,
    reverted: NDArray[np.bool_],
    born: float,
    seen_at: float,
    begin: float,
    end: float,
    out: Floats,
) -> None:
    """Fill in one page's row of the tally.

    The window is [begin, end), within the page's life; seen_at NaN: no copy at first.
    """
    out[_LIVED] = end - begin
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
                out[_CHANGES] += 1.0
                out[_NOVEL] += not reverted[c]
                out[_WAITED] += max(min(until, end) - changes[c], 0.0)
            c += 1
        stale_from = born
        if has_copy:
            stale_from = changes[first] if c > first else until
            out[_FRESH] += max(min(stale_from, end) - max(fresh_from, begin), 0.0)
        low, high = max(stale_from, begin), min(until, end)
        if high > low:
            out[_AGED] += (high - low) * ((high - stale_from) + (low - stale_from)) / 2.0
        if begin <= until < end:
            out[_POLLS] += 1.0
            if has_copy and c > first:
                out[_FOUND] += 1.0
                out[_NOVEL_FOUND] += not reverted[c - 1]
        has_copy = True
        fresh_from = until


@kernel
def _tally_pages(
    poll_offsets: NDArray[np.int64],
    poll_times: Floats,
    change_offsets: NDArray[np.int64],
    change_times: Floats,
    reverted: NDArray[np.bool_],
    born: Floats,
    died: Floats,
    seen_at: Floats,
    begin: float,
    end: float,
) -> Floats:
    table = np.zeros((len(born), _LIVED + 1))
    for page in range(len(born)):
        page_begin, page_end = max(begin, born[page]), min(end, died[page])
        if page_end <= page_begin:
            continue
        own = slice(change_offsets[page], change_offsets[page + 1])
        _tally_page(
            poll_times[poll_offsets[page] : poll_offsets[page + 1]],
            change_times[own],
            reverted[own],
            born[page],
            seen_at[page],
            page_begin,
            page_end,
            table[page],
        )
    return table


def tally(
    polls: Polls, changes: Changes, *, begin: Moment, end: Moment, seen_at: Floats | None = None
) -> Floats:
    """What happened in the window [begin, end): a row for each page, the columns of `TALLIED`.

    `seen_at` is the time of each page's copy before the first poll (NaN or None: no copy).
    """
    count = len(changes.born)
    page_ids, times = np.asarray(polls.page_ids), times_of("polls: times", polls.times)
    order = np.argsort(page_ids, kind="stable")
    offsets = np.searchsorted(page_ids[order], np.arange(count + 1))
    reverted = changes.reverted
    return _tally_pages(
        offsets,
        times[order],
        changes.offsets,
        changes.times,
        np.zeros(len(changes.times), np.bool_) if reverted is None else reverted,
        changes.born,
        changes.died,
        np.full(count, np.nan) if seen_at is None else seen_at,
        time_of("begin", begin),
        time_of("end", end),
    )


def ratios(sums: Floats) -> dict[str, Floats]:
    """The figures of `RATIOS` from sums of rows of a tally (along the last axis).

    NaN where there were no changes, or no life.
    """
    columns = dict(zip(TALLIED, np.moveaxis(sums, -1, 0), strict=True))
    return {
        name: columns[over] / np.where(columns[under] > 0, columns[under], np.nan)
        for name, (over, under) in RATIOS.items()
    }


def score(
    polls: Polls, changes: Changes, *, begin: Moment, end: Moment, seen_at: Floats | None = None
) -> Score:
    """Score polls in the window [begin, end), over all pages alike.

    `seen_at` is the time of each page's copy before the first poll (NaN or None: no copy).

    >>> changes = Changes.of([np.array([2.0, 3.0, 7.0])], born=np.zeros(1), died=np.full(1, 10.0))
    >>> polls = Polls(np.zeros(3, np.int64), np.array([1.0, 4.0, 8.0]))
    >>> result = score(polls, changes, begin=0.0, end=10.0)
    >>> result.changes, result.found, result.freshness, result.delay, result.age
    (3, 2, 0.6, 1.3333333333333333, 0.3)
    """
    sums = tally(polls, changes, begin=begin, end=end, seen_at=seen_at).sum(axis=0)
    counts = dict(zip(TALLIED, sums.tolist(), strict=True))
    return Score(
        polls=int(counts["polls"]),
        changes=int(counts["changes"]),
        found=int(counts["found"]),
        **{name: float(value) for name, value in ratios(sums).items()},
    )


def detections(hazard_before: Floats, hazard_at: Floats) -> Floats:
    """The probability that each poll shows a change, given the cumulative hazards (expected
    numbers of changes) of its page up to the poll before and up to this poll.

    Its mean is the expected number of detections a poll, free of the chance of one history.
    """
    return np.asarray(-np.expm1(hazard_before - hazard_at))
