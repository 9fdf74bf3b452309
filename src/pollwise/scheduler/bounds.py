"""How often pages are polled at least and at most, whatever a policy thinks of them.

The bounds work with every policy. A page that is selected too soon after its latest poll is held
back until it may be polled; one that is overdue is polled ahead of the policy's choice.
"""

import heapq
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import require
from pollwise.errors import InputError
from pollwise.page_columns import Coded, SharedTerms, as_columns
from pollwise.scheduler.budgets import parse_interval
from pollwise.scheduler.overdue import OverduePages
from pollwise.scheduler.own_bounds import OwnBounds, OwnBoundsTable
from pollwise.scheduler.time_queue import TimeQueue
from pollwise.types import Outcome, Page
from pollwise.units import DAY

__all__ = [
    "ALWAYS",
    "MOST_DEMANDED",
    "BoundedPages",
    "Bounds",
    "longest_by_default",
    "read_bounds",
]

_DEFAULT_LONGEST = 30 * DAY
_ROUNDS = 10.0
"""Rounds of polls of all pages after which each is polled, if that takes longer than 30 days."""
_SHARE = 10
"""One poll in so many: the least that is left to the policy, and the most that defaults take."""
MOST_DEMANDED = 1.0 - 1.0 / _SHARE
"""The share of the budget that users' bounds can take while there are other pages to poll."""
ALWAYS = 12
"""Polls in a row that found a change, after which a page is taken to change whenever it is polled.
"""
_LOOKS = 2
_FEW = 20
"""Pages that are looked at one by one."""
_AT_ONCE = 100_000
"""Rows that are worked out together: those of ten million would take a gigabyte more meanwhile."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most and the least seconds between two polls of every page that says nothing else itself.

    `automatic` adds two bounds that nobody has to ask for. Where no longest interval is given it is
    that of `longest_by_default`. And a page that has changed at twelve polls in a row is polled at
    most once a round, that is, as often as if all pages were polled equally often.

    `InputError` if `shortest` is not finite and at least 0, or `longest` is less.
    """

    longest: float = math.inf
    shortest: float = 0.0
    automatic: bool = False

    def __post_init__(self) -> None:
        fits = 0 <= self.shortest < math.inf
        require("Bounds: shortest", self.shortest, fits, "finite and at least 0")
        fits = self.longest > 0 and self.longest >= self.shortest
        require("Bounds: longest", self.longest, fits, f"above 0, at least {self.shortest}")


def read_bounds(at_least: str | None, at_most: str | None) -> tuple[float | None, float | None]:
    """The most and the least seconds between two polls, from frequencies as people write them.

    None: not told. `InputError` for a text that is no frequency, or for more at least than at most.

    >>> read_bounds("1/day", None)
    (86400.0, None)
    """
    longest = None if at_least is None else parse_interval("at-least", at_least)
    shortest = None if at_most is None else parse_interval("at-most", at_most)
    if longest is not None and shortest is not None and longest < shortest:
        raise InputError(
            f"at-least {at_least} asks for more polls than at-most {at_most} allows:"
            " change one of them"
        )
    return longest, shortest


def longest_by_default(round_time: float) -> float:
    """The most seconds between two polls of a page where nobody asks for less.

    `round_time` is the seconds that one poll of every page takes. A tenth of the budget is enough
    for that.
    """
    return max(_DEFAULT_LONGEST, _ROUNDS * round_time)


_NO_PAGES = OwnBoundsTable()
_NO_PAGES.extend(as_columns([Page(0)]), np.array([-math.inf]))
_UNBOUNDED = OwnBounds(_NO_PAGES, 0)
"""To be read."""


class BoundedPages:
    """The pages of a scheduler that have bounds, with their latest polls and deadlines.

    Of others, such as those of a collection, nothing is kept.

    Of contradicting bounds that of the page itself holds. Where more polls are overdue than the
    budget allows, the earliest deadline comes first, and one poll in ten is left to the policy:
    pages without bounds, perhaps without a copy, must not wait for ever. Those that are overdue by
    default take at most one poll in ten while there are others to make: after a long pause, or a
    first round, very many may be overdue at once.

    No page gains by not being polled: a page that was never polled counts from when it was added, a
    failed poll counts as any other, and one that rests is not overdue before that ends.
    """

    def __init__(self, bounds: Bounds, rate: float) -> None:
        self._bounds = bounds
        self._for_all = bounds != Bounds()
        self.rate = rate
        """The budget in cost units a second."""
        self._pages = OwnBoundsTable()
        self._costs = 0.0
        """Cost units that one poll of every page takes that is not paused."""
        # When to look at deadlines, and a heap of pages that are held, (time, page id); outdated
        # entries are dropped late.
        self._looks = TimeQueue()
        self._held: list[tuple[float, int]] = []
        self._demanded = OverduePages()
        self._by_default = OverduePages()
        self._others = 0
        """Polls since the latest one that was overdue by default."""
        self._demanded_in_row = 0
        """Polls since the latest one that no user's bound demanded."""
        self._taken = -1
        """The page that is to be polled next as a user's bound demands it."""
        self._once_from = math.inf
        """The time from which on each page is polled once at most."""

    def add(self, pages: Sequence[Page], now: float) -> None:
        """New pages; `now` is -inf before `begin`."""
        columns = as_columns(pages)
        if not self._for_all:
            columns = columns.only(columns.terms.array(_is_bounded, np.bool_))
        has_begun = now > -math.inf
        polled_at = np.where(np.isnan(columns.seen_at), -math.inf, columns.seen_at)
        rows = self._pages.extend(columns, np.minimum(polled_at, now) if has_begun else polled_at)
        own = self._pages.columns
        for some in _parts(rows):
            # One after the other, as a sum of floats depends on the order.
            costs = np.where(own["paused"][some], 0.0, own["cost"][some])
            self._costs = float(np.add.accumulate(np.append(self._costs, costs))[-1])
        if has_begun:
            self._begin(rows, now)

    def each_once(self, now: float) -> None:
        """From now on, no page is polled more than once."""
        self._once_from = now

    def remove(self, page_id: int) -> None:
        """Forget a page."""
        if (own := self._pages.get(page_id)) is not None:
            self._pages.remove(own)
            self._costs -= own.round_cost

    def update(self, page: Page, now: float) -> None:
        """Users want something else of a page."""
        own = self._pages.get(page.id)
        if own is None:
            self.add([page], now)
            return
        was_demanded = self._is_demanded(own)
        self._costs -= own.round_cost
        own.want(page)
        self._costs += own.round_cost
        if own.held_until > -math.inf:
            self.hold(page.id, now)
        if own.looks_at == -math.inf and self._is_demanded(own) and not was_demanded:
            # It is overdue by default, and need not wait there any more.
            self._demanded.add(own.scope, self._deadline(own), page.id)
        self._look(page.id, own)

    def begin(self, now: float, rests: Iterable[tuple[int, float, float]]) -> None:
        """The run begins; `rests` are pages with start of the latest poll and end of the rest."""
        for page_id, started_at, until in rests:
            if (own := self._pages.get(page_id)) is not None:
                own.polled_at = max(own.polled_at, started_at)
                own.not_before = until
        # A clock that was ahead must not hold a page back.
        polled_at = self._pages.columns["polled_at"]
        np.minimum(polled_at, now, out=polled_at)
        self._pages.let_go()
        self._begin(self._pages.rows(), now)

    def _begin(self, rows: NDArray[np.int64], now: float) -> None:
        """Plan the first looks at the deadlines of pages, of which none is planned yet."""
        if len(rows) < _FEW:
            for row in rows.tolist():
                self._begin_one(OwnBounds(self._pages, row), now)
            return
        columns = self._pages.columns
        looks = []
        for some in _parts(rows):
            longest, most_waits = self._longest_waits(some)
            not_before = columns["not_before"][some]
            is_new = columns["polled_at"][some] == -math.inf
            not_before[is_new] = np.maximum(not_before[is_new], now + longest[is_new])
            columns["not_before"][some] = not_before
            looks.append(self._planned_looks(some, self._deadlines(some, most_waits)))
        self._looks.extend(*map(np.concatenate, zip(*looks, strict=True)))

    def _deadlines(
        self, rows: NDArray[np.int64], most_waits: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """`_deadline` of pages that are overdue after these waits."""
        columns = self._pages.columns
        polled_at = columns["polled_at"][rows]
        endless = most_waits == math.inf
        waited = polled_at + np.where(endless, 0.0, most_waits)
        deadlines: NDArray[np.float64] = np.maximum(waited, columns["not_before"][rows])
        has_none = columns["paused"][rows] | (polled_at >= self._once_from)
        deadlines[has_none | endless] = math.inf
        return deadlines

    def _planned_looks(
        self, rows: NDArray[np.int64], deadlines: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Note when to look at the deadlines of pages, of which no look is planned.

        Gives those times, with the ids of the pages.
        """
        planned = deadlines < math.inf
        rows, deadlines = rows[planned], deadlines[planned]
        self._pages.columns["looks_at"][rows] = deadlines
        return deadlines, self._pages.columns["page_id"][rows]

    def _begin_one(self, own: OwnBounds, now: float) -> None:
        """The same as `_begin` of a page."""
        if own.polled_at == -math.inf:
            own.not_before = max(own.not_before, now + self._intervals(own)[1])
        self._look(own.page_id, own)

    def _longest_waits(
        self, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of pages, the longest interval, and that after which they are overdue."""
        distinct, numbers = self._distinct(rows)
        waits = np.zeros((len(distinct), 2))
        for number, one in enumerate(distinct):
            waits[number] = self._intervals(one)[1], self._most_wait(one)
        longest, most_waits = waits[numbers].T
        return longest, most_waits

    def _distinct(self, rows: NDArray[np.int64]) -> tuple[list[OwnBounds], NDArray[np.int64]]:
        """Pages that differ in what intervals depend on, and of each row the number of its like.

        That are few values, which most pages have in common.
        """
        columns = self._pages.columns
        own = [columns[name][rows] for name in ("longest", "shortest", "changes")]
        first, numbers = _distinct(own)
        return [OwnBounds(self._pages, row) for row in rows[first].tolist()], numbers

    def started(self, page_id: int) -> None:
        """A poll of a page has begun."""
        # As a rule none is held.
        if self._held and (own := self._pages.get(page_id)) is not None:
            own.held_until = -math.inf
        self._others += 1
        if page_id != self._taken:
            self._demanded_in_row = 0
        self._taken = -1

    def answered(self, page_id: int, outcome: Outcome, now: float, *, counts: bool = True) -> None:
        """The poll of a page found it, CHANGED or UNCHANGED.

        `counts`: whether that is one more poll in a row that found a change.
        """
        own = self._pages.get(page_id)
        if own is None:
            return
        if outcome is Outcome.UNCHANGED:
            if own.changes:
                own.changes = 0
        elif counts:
            own.changes += own.seen  # a first copy is no change
        if not own.seen:
            own.seen = True
        self._polled(page_id, own, now, -math.inf)

    def failed(self, page_id: int, now: float, until: float) -> None:
        """The poll of a page failed, so that it rests until a time."""
        if (own := self._pages.get(page_id)) is not None:
            self._polled(page_id, own, now, until)

    def postponed(self, page_id: int, until: float) -> None:
        """The poll of a page was not made; it is not overdue before a time."""
        if (own := self._pages.get(page_id)) is not None:
            own.not_before = until
            self._look(page_id, own)

    def _polled(self, page_id: int, own: OwnBounds, now: float, until: float) -> None:
        own.polled_at = now
        if own.not_before != until:
            own.not_before = until
        self._look(page_id, own)

    def is_slowed(self, page_id: int) -> bool:
        """Whether a page is polled at most once a round, as it changes whenever it is polled."""
        own = self._of(page_id)
        return self._always_changes(own) and own.shortest is None

    def is_demanded(self, page_id: int) -> bool:
        """Whether it is a user who wants a page to be polled at least so often."""
        return self._is_demanded(self._of(page_id))

    def earliest(self, page_id: int) -> float:
        """From when on a page may be polled; -inf: any time. Infinite: it is paused."""
        own = self._of(page_id)
        is_held = own.paused or own.polled_at >= self._once_from
        return math.inf if is_held else own.polled_at + self._shortest(own)

    def is_paused(self, page_id: int) -> bool:
        """Whether a page is not to be polled."""
        return self._of(page_id).paused

    def deadline(self, page_id: int) -> float:
        """When a page is to be polled at the latest; infinite: there is no such time."""
        return self._deadline(self._of(page_id))

    def intervals(self, page_id: int, rate: float | None = None) -> tuple[float, float]:
        """The least and the most seconds between two polls of a page.

        `rate`: under another budget, in cost units a second; None: under the present one.
        """
        return self._intervals(self._of(page_id), rate)

    def intervals_of(
        self, page_ids: Sequence[int]
    ) -> Callable[[float], tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """A function that gives `intervals` of these pages under a budget, as long as none changes.

        The same as to ask for them page by page, and much faster for many.
        """
        rows = self._pages.rows_of(page_ids)
        kept = rows >= 0
        distinct, numbers = self._distinct(rows[kept])

        def under(rate: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            intervals = np.full((len(rows), 2), self._intervals(_UNBOUNDED, rate))
            if distinct:
                own = np.array([self._intervals(one, rate) for one in distinct])
                intervals[kept] = own[numbers]
            shortest, longest = intervals.T
            return shortest, longest

        return under

    def demanded(self) -> float:
        """Cost units a second that it takes to poll pages as often as users want at least."""
        rows = self._pages.rows()
        columns = self._pages.columns
        if self._bounds.longest == math.inf:
            rows = rows[columns["longest"][rows] >= 0]
        rows = rows[~columns["paused"][rows]]
        longest, _ = self._longest_waits(rows)
        return float(np.sum(columns["cost"][rows] / longest))

    def hold(self, page_id: int, now: float) -> None:
        """The policy selected a page too soon: keep it until it may be polled.

        `KeyError` for a page of which nothing is kept: it may be polled at any time.
        """
        own = self._pages.get(page_id)
        if own is None:
            raise KeyError(page_id)
        own.held_until = max(self.earliest(page_id), now)
        heapq.heappush(self._held, (own.held_until, page_id))

    def is_held(self, page_id: int) -> bool:
        """Whether a page is kept, which the policy believes to be polled."""
        return self._of(page_id).held_until > -math.inf

    def released(self, now: float) -> list[tuple[int, float]]:
        """The pages that were held and may be polled now, with the times of their latest polls."""
        free = []
        while self._held and self._held[0][0] <= now:
            until, page_id = heapq.heappop(self._held)
            own = self._pages.get(page_id)
            if own is not None and own.held_until == until:
                own.held_until = -math.inf
                free.append((page_id, own.polled_at))
        return free

    @property
    def first_release(self) -> float:
        """When to ask for `released` again; infinite: no page is held."""
        return self._held[0][0] if self._held else math.inf

    def take_overdue(
        self, now: float, free_at: Callable[[str], float], *, spare: bool
    ) -> int | None:
        """An overdue page whose host is free; None: there is none.

        `spare`: nobody else wants this poll. The caller polls the page, or calls `postponed`.
        """
        self._note_overdue(now)
        if spare or self._demanded_in_row < _SHARE - 1:
            while (page_id := self._demanded.take(now, free_at)) is not None:
                if self._is_overdue(page_id, now):
                    self._demanded_in_row += 1
                    self._taken = page_id
                    return page_id
        if not spare and self._others < _SHARE - 1:
            return None
        while (page_id := self._by_default.take(now, free_at)) is not None:
            if self._is_overdue(page_id, now):
                self._others = -1
                return page_id
        return None

    @property
    def is_any_overdue(self) -> bool:
        """Whether any page was found to be overdue that was not taken yet."""
        return bool(self._demanded or self._by_default)

    @property
    def first_overdue(self) -> float:
        """When to ask for overdue pages again, if there was none now."""
        return min(self._looks.first, self._demanded.first_free, self._by_default.first_free)

    @property
    def awaited(self) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """By scopes for which overdue pages wait to be free, when to look at them again."""
        return self._demanded.awaited, self._by_default.awaited

    def host_freed(self, scope: str, free_at: float) -> None:
        """A scope may be polled again from this time on, as it was polled or asks for less."""
        self._demanded.look_again(scope, free_at)
        self._by_default.look_again(scope, free_at)

    def _of(self, page_id: int) -> OwnBounds:
        """What is kept of a page, to be read."""
        return self._pages.get(page_id) or _UNBOUNDED

    def _is_demanded(self, own: OwnBounds) -> bool:
        return (self._bounds.longest if own.longest is None else own.longest) < math.inf

    def _intervals(self, own: OwnBounds, rate: float | None = None) -> tuple[float, float]:
        bounds = self._bounds
        longest = bounds.longest if own.longest is None else own.longest
        shortest = bounds.shortest if own.shortest is None else own.shortest
        if shortest > longest:
            if own.longest is None:
                longest = shortest
            else:
                shortest = longest
        if bounds.automatic:
            round_time = self._costs / (rate or self.rate)
            if longest == math.inf:
                longest = max(longest_by_default(round_time), shortest)
            if own.shortest is None and own.changes >= ALWAYS and not _is_looked_at(own):
                shortest = max(shortest, min(round_time, longest))
        return shortest, longest

    def _shortest(self, own: OwnBounds) -> float:
        """The least seconds between two polls of a page: mostly there is no such bound."""
        told = self._bounds.shortest if own.shortest is None else own.shortest
        return self._intervals(own)[0] if told > 0 or own.changes >= ALWAYS else 0.0

    def _always_changes(self, own: OwnBounds) -> bool:
        return self._bounds.automatic and own.changes >= ALWAYS

    def _deadline(self, own: OwnBounds) -> float:
        most_wait = self._most_wait(own)
        if own.paused or most_wait == math.inf or own.polled_at >= self._once_from:
            return math.inf
        deadline = own.polled_at + most_wait
        return deadline if deadline > own.not_before else own.not_before

    def _most_wait(self, own: OwnBounds) -> float:
        """The seconds after its latest poll from which on a page is overdue."""
        shortest, longest = self._intervals(own)
        if own.changes < ALWAYS:  # as a rule
            return longest
        return shortest if self._always_changes(own) and _is_looked_at(own) else longest

    def _look(self, page_id: int, own: OwnBounds) -> None:
        """Look at the deadline of a page in time. Mostly it is only put off: then the look that is
        planned already comes first, and plans the next one.
        """
        deadline = self._deadline(own)
        if deadline < own.looks_at and own.looks_at > -math.inf:
            own.looks_at = deadline
            self._looks.push(deadline, page_id)

    def _note_overdue(self, now: float) -> None:
        if self._looks.first <= now and (many := self._looks.pop_many(now)) is not None:
            self._note_many_overdue(*many, now)
        while self._looks.first <= now:
            time, page_id = self._looks.pop()
            own = self._pages.get(page_id)
            if own is None or own.looks_at != time:
                continue
            own.looks_at = math.inf
            deadline = self._deadline(own)
            if deadline > now:
                self._look(page_id, own)
                continue
            own.looks_at = -math.inf
            queue = self._demanded if self._goes_ahead(own) else self._by_default
            queue.add(own.scope, deadline, page_id)

    def _note_many_overdue(
        self, times: NDArray[np.float64], page_ids: NDArray[np.int64], now: float
    ) -> None:
        """The same of very many, as after a long time without a run; they are in order."""
        self._pages.let_go()
        columns, rows = self._pages.columns, self._pages.rows_of(page_ids)
        first = np.append(True, (times[1:] > times[:-1]) | (page_ids[1:] > page_ids[:-1]))
        rows = rows[first & (rows >= 0) & (columns["looks_at"][rows] == times)]
        distinct, numbers = self._distinct(rows)
        most_waits = np.array([self._most_wait(one) for one in distinct], np.float64)[numbers]
        goes_ahead = np.array([self._goes_ahead(one) for one in distinct], np.bool_)[numbers]
        deadlines = self._deadlines(rows, most_waits)
        is_overdue = deadlines <= now
        columns["looks_at"][rows] = np.where(is_overdue, -math.inf, math.inf)
        self._looks.extend(*self._planned_looks(rows[~is_overdue], deadlines[~is_overdue]))
        for queue, those in (
            (self._demanded, is_overdue & goes_ahead),
            (self._by_default, is_overdue & ~goes_ahead),
        ):
            own = rows[those]
            if len(own):
                scopes = Coded(self._pages.scopes.keys, columns["scope"][own])
                queue.extend(scopes, deadlines[those], columns["page_id"][own])

    def _goes_ahead(self, own: OwnBounds) -> bool:
        """Whether a page that is overdue is polled ahead of those that are so by default."""
        return self._is_demanded(own) or (self._always_changes(own) and _is_looked_at(own))

    def _is_overdue(self, page_id: int, now: float) -> bool:
        """Whether a page that was overdue, and leaves the queue, still is."""
        own = self._pages.get(page_id)
        if own is None or own.looks_at > -math.inf:  # it was in both queues
            return False
        own.looks_at = math.inf
        if self._deadline(own) <= now:
            return True
        self._look(page_id, own)
        return False


def _parts(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The rows, so many at a time that what is worked out of them takes little memory; at least one
    part.
    """
    return [rows[begin : begin + _AT_ONCE] for begin in range(0, max(len(rows), 1), _AT_ONCE)]


def _distinct(columns: Sequence[NDArray[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places where each combination of values is first, and of all places their combinations."""
    numbers = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        if len(column) and (column != column[0]).any():
            values, own = _numbered(column)
            numbers = _numbered(numbers * len(values) + own)[1]
    first = np.zeros(int(numbers.max(initial=-1)) + 1, np.int64)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]  # the last one written stays
    return first, numbers


def _numbered(column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct values, of which there are few, and for each one that of its number.

    As `np.unique` gives both, in a third of the time.
    """
    values = np.unique(column)
    return values, np.searchsorted(values, column)


def _is_bounded(terms: SharedTerms) -> bool:
    return terms.paused or (terms.longest_interval, terms.shortest_interval) != (None, None)


def _is_looked_at(own: OwnBounds) -> bool:
    """Whether a page that always changes is polled once more at once.

    A page that changes whenever it is asked for, such as one that shows the time, has then changed
    again; one that has much news has not, and is free again. In case it did by chance that is done
    twice, and again after twice as many polls.
    """
    times, rest = divmod(own.changes, ALWAYS)
    return rest < _LOOKS and times & (times - 1) == 0
