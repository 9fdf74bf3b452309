"""How long pages rest after polls that failed: longer after every further failure."""

import heapq
import math
from collections.abc import Callable, Container, Iterator, KeysView, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

from pollwise.types import Observation, Outcome
from pollwise.units import HOUR, MINUTE

__all__ = ["BackOff", "BackOffs", "back_offs_of"]

_LONGEST_POSTPONEMENT = HOUR
"""Seconds that a page waits at most whose poll was postponed."""
_LONGEST_WITHOUT_NETWORK = 5 * MINUTE
"""The same if no host could be asked: such polls trouble nobody, and the network may be back."""
_HOSTS = 2
"""So many hosts in a row without an answer of any: the network was away, and not one host."""
_SPREAD = 0.1
"""The share of its length by which a rest may be shorter or longer."""


@dataclass(frozen=True, slots=True)
class BackOff:
    """A page whose latest poll, begun at `started_at`, failed.

    It rests for about `rest` seconds, until `until`. `ends_early`: the poll had no answer, so that
    the rest ends when its host, or the network, is back. `let_off`: one has ended so since the
    latest answer.
    """

    failure: Observation
    started_at: float
    rest: float
    until: float
    ends_early: bool = False
    let_off: bool = False


class BackOffs:
    """The pages whose latest polls failed.

    A page rests for `first` seconds, after every further failure twice as long, up to `longest`,
    give or take a tenth by the page's id, so that the pages of a host that was down do not come
    back all at once. Any answer ends the rest and makes the next one short again.

    The rest of a page whose poll had no answer ends as soon as its host answers; that of all such
    pages as soon as any host does, if two hosts or more gave none, and no other host gave one
    meanwhile. Each page is let off so once, until it is answered itself: others may answer all the
    time.
    """

    def __init__(self, first: float, longest: float) -> None:
        self._first = first
        self._longest = longest
        self._by_page: dict[int, BackOff] = {}
        # How long pages have to wait whose latest polls were postponed.
        self._postponed: dict[int, float] = {}
        # The pages whose rests may end early, by scope, and the scopes of those since the latest
        # answer of any host.
        self._ending: dict[str, set[int]] = {}
        self._silent: set[str] = set()
        self.answered_at = -math.inf
        """When any page was answered last, to be told."""
        # A heap of (until, page id); rests that ended early are dropped from it late.
        self._resting: list[tuple[float, int]] = []

    def until(self, page_id: int) -> float | None:
        """Until when a page rests; None: its latest poll did not fail."""
        back_off = self._by_page.get(page_id)
        return None if back_off is None else back_off.until

    @property
    def page_ids(self) -> KeysView[int]:
        """The pages whose latest polls failed."""
        return self._by_page.keys()

    def rests(self) -> Iterator[tuple[int, float, float]]:
        """The pages whose latest polls failed, with their starts and until when the pages rest."""
        return ((one, own.started_at, own.until) for one, own in self._by_page.items())

    def failed(self, failure: Observation, started_at: float, now: float) -> float:
        """Let a page rest because its poll, begun at `started_at`, failed; until when it does."""
        page_id = failure.page_id
        before = self._by_page.get(page_id)
        rest = self._first if before is None else min(2 * before.rest, self._longest)
        let_off = before is not None and before.let_off
        self._postponed.pop(page_id, None)
        until = now + self._spread(page_id, rest)
        self._by_page[page_id] = BackOff(failure, started_at, rest, until, let_off=let_off)
        heapq.heappush(self._resting, (until, page_id))
        return until

    def may_end(self, page_id: int, scope: str) -> None:
        """The poll of a page, told to have failed, had no answer of its host."""
        own = self._by_page.get(page_id)
        if own is not None and not own.let_off:
            self._by_page[page_id] = replace(own, ends_early=True)
            self._ending.setdefault(scope, set()).add(page_id)
            if own.started_at >= self.answered_at:
                self._silent.add(scope)

    @property
    def any_ends_early(self) -> bool:
        """Whether any page may rest whose rest ends with the answer of a host."""
        return bool(self._ending)

    def end_rests(self, scope: str, now: float) -> list[int]:
        """A host answered; the pages that need not rest any more."""
        back = self._silent if len(self._silent) >= _HOSTS else set()
        self._silent = set()
        ended = []
        for one in sorted(back | {scope}):
            for page_id in sorted(self._ending.pop(one, ())):
                own = self._by_page.get(page_id)
                if own is not None and own.ends_early:
                    until = min(own.until, now)
                    self._by_page[page_id] = replace(
                        own, rest=self._first, until=until, ends_early=False, let_off=True
                    )
                    if own.until > now:
                        heapq.heappush(self._resting, (now, page_id))
                        ended.append(page_id)
        return ended

    def postponed(self, page_id: int, *, had_answer: bool = True) -> float:
        """How many seconds a page waits whose poll was postponed.

        `had_answer`: False if no host could be asked.
        """
        before = self._postponed.get(page_id)
        longest = _LONGEST_POSTPONEMENT if had_answer else _LONGEST_WITHOUT_NETWORK
        longest = max(self._first, longest)
        rest = self._first if before is None else min(2 * before, longest)
        self._postponed[page_id] = rest
        return self._spread(page_id, rest)

    def answered(self, observation: Observation) -> bool:
        """A page was answered; False if that was before the poll that failed, and ends no rest."""
        page_id = observation.page_id
        back_off = self._by_page.get(page_id)
        if back_off is not None and observation.polled_at < back_off.started_at:
            return False
        if back_off is not None or self._postponed:
            self.end(page_id)
        return True

    def end(self, page_id: int) -> None:
        """Forget a page: it was answered, or is watched no longer."""
        self._by_page.pop(page_id, None)
        self._postponed.pop(page_id, None)

    def keep_only(self, page_ids: Container[int], scope_of: Callable[[int], str]) -> None:
        """Forget all other pages; `scope_of` gives the scopes of these."""
        self._by_page = {one: own for one, own in self._by_page.items() if one in page_ids}
        for page_id, own in self._by_page.items():
            if own.ends_early:
                scope = scope_of(page_id)
                self._ending.setdefault(scope, set()).add(page_id)
                self._silent.add(scope)
        self._rest()

    def rested(self, now: float, watched: Container[int]) -> list[Observation]:
        """The failures of the watched pages that have rested by now; each is told once."""
        failures = []
        while self.first_end <= now:
            _, page_id = heapq.heappop(self._resting)
            if page_id in watched:
                failures.append(self._by_page[page_id].failure)
        return failures

    @property
    def first_end(self) -> float:
        """When the first page has rested; infinite: none rests."""
        while self._resting:
            until, page_id = self._resting[0]
            if self.until(page_id) == until:
                return until
            heapq.heappop(self._resting)
        return math.inf

    def state(self) -> list[tuple[Any, ...]]:
        """Rows for a JSON text."""
        return [_row(back_off) for back_off in self._by_page.values()]

    def load(self, by_page: dict[int, BackOff]) -> None:
        """Put the failed pages back that `back_offs_of` read."""
        self._by_page = by_page
        self._rest()

    def set_back(self, seconds: float) -> None:
        """Set all times that were put back by so much."""
        for page_id, own in self._by_page.items():
            failure = replace(own.failure, polled_at=own.failure.polled_at - seconds)
            self._by_page[page_id] = replace(
                own,
                failure=failure,
                started_at=own.started_at - seconds,
                until=own.until - seconds,
            )
        self._rest()

    @staticmethod
    def _spread(page_id: int, rest: float) -> float:
        return rest * (1 - _SPREAD + 2 * _SPREAD * _evenly_spread(page_id))

    def _rest(self) -> None:
        self._resting = [(back_off.until, page_id) for page_id, back_off in self._by_page.items()]
        heapq.heapify(self._resting)


def _row(own: BackOff) -> tuple[Any, ...]:
    """What `_restored` reads."""
    seen = own.failure
    early = (own.ends_early, own.let_off) if own.ends_early or own.let_off else ()
    if seen.items is not None:  # hardly ever
        return (astuple(seen), own.started_at, own.rest, own.until, *early)
    # `astuple` makes deep copies, which takes ten times as long.
    failure = (
        seen.page_id,
        seen.polled_at,
        seen.outcome,
        seen.last_changed_at,
        seen.n_items,
        seen.cost,
        seen.reverted,
        None,
        seen.relevance,
    )
    return (failure, own.started_at, own.rest, own.until, *early)


def back_offs_of(rows: Sequence[Sequence[Any]]) -> dict[int, BackOff]:
    """The failed pages of the rows that `BackOffs.state` gives; errors of many kinds where they
    are none.
    """
    return dict(_restored(*row) for row in rows)


def _restored(
    failure: Sequence[Any],
    started_at: float,
    rest: float,
    until: float,
    ends_early: bool = False,
    let_off: bool = False,
) -> tuple[int, BackOff]:
    page_id, polled_at, outcome, *more = failure
    observation = Observation(int(page_id), float(polled_at), Outcome(outcome), *more)
    times = float(started_at), float(rest), float(until)
    return int(page_id), BackOff(observation, *times, bool(ends_early), bool(let_off))


def _evenly_spread(page_id: int) -> float:
    """A number in [0, 1): multiples of the golden ratio fall evenly (Knuth, TAOCP 6.4)."""
    return (page_id * 0x9E3779B97F4A7C15 % 2**64) / 2**64
