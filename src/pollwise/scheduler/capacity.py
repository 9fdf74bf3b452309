"""How many polls the hosts take, whatever the budget is."""

import heapq
import math
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from pollwise.scheduler.politeness import Turn
from pollwise.units import DAY

__all__ = [
    "Shortfall",
    "SlowHost",
    "WantedPage",
    "look_for_shortfall",
    "rate_taken",
    "shortfall_of",
]

_ENOUGH = 0.95
"""The share of a budget that hosts take if they take all that matters."""
_MOST_NAMED = 10
_AT_ONCE = 1000
"""Pages, or hosts, that are looked at in a few milliseconds."""


class WantedPage(NamedTuple):
    """A page to be polled: its politeness scope, the cost of a poll, and the least seconds that
    are to lie between two polls.
    """

    scope: str
    cost: float
    apart: float


@dataclass(frozen=True, slots=True)
class SlowHost:
    """A host (or several that share a politeness scope) that takes so many polls a day at most.

    Each of them takes `answers_in` seconds (0: none was measured) and is followed by a `pause`
    (seconds).
    """

    host: str
    pages: int
    polls_per_day: float
    pause: float
    answers_in: float


@dataclass(frozen=True, slots=True)
class Shortfall:
    """That hosts take only a `share` of a budget (0 to 1), however large it is.

    They take `polls_per_day` together, or `taken_per_day` of the `budget_per_day` (cost units).
    That is because of `slow` hosts, of which `hosts` names up to ten: those with the most pages for
    what they take.
    """

    budget_per_day: float
    taken_per_day: float
    polls_per_day: float
    share: float
    slow: int
    hosts: tuple[SlowHost, ...]


def shortfall_of(
    pages: Iterable[WantedPage], turn_of: Callable[[str], Turn], budget: float
) -> Shortfall | None:
    """What the hosts of these pages cannot take of a budget (cost units a second).

    None: they take it, but for a twentieth, or what holds it back is how far polls of a page are to
    be apart. `turn_of` gives what a poll takes of the time of a scope. Of the pages of a slow host
    none is taken to be polled more than another.

    >>> some = [WantedPage("a.example", 1.0, 0.0), WantedPage("b.example", 1.0, 0.0)]
    >>> short = shortfall_of(some, lambda scope: Turn(pause=4.0, answers_in=1.0), 1.0)
    >>> short.share, [host.polls_per_day for host in short.hosts]
    (0.4, [17280.0, 17280.0])
    """
    look = look_for_shortfall(pages, turn_of, budget)
    while True:
        try:
            next(look)
        except StopIteration as end:
            found: Shortfall | None = end.value
            return found


def look_for_shortfall(
    pages: Iterable[WantedPage], turn_of: Callable[[str], Turn], budget: float
) -> Generator[None, None, Shortfall | None]:
    """The same a few milliseconds at a time, for who has other things to do in between."""
    asked: dict[str, list[float]] = {}
    for number, (scope, cost, apart) in enumerate(pages, start=1):
        own = asked.setdefault(scope, [0, 0.0, 0.0])
        own[0] += 1
        own[1] += cost
        own[2] += 1.0 / apart if apart > 0 else math.inf
        if number % _AT_ONCE == 0:
            yield
    polls = taken = 0.0
    count_slow, slow = 0, []
    for number, (scope, (count, costs, wanted)) in enumerate(asked.items(), start=1):
        turn = turn_of(scope)
        if turn.most_polls < wanted:
            count_slow += 1
            slow.append(SlowHost(scope, int(count), turn.most_polls * DAY, *turn))
        most = min(turn.most_polls, wanted)
        polls += most
        taken += most * costs / count
        if taken >= _ENOUGH * budget:
            return None
        if number % _AT_ONCE == 0:
            slow = heapq.nsmallest(_MOST_NAMED, slow, key=_place)
            yield
    if count_slow == 0:
        return None
    return Shortfall(
        budget_per_day=budget * DAY,
        taken_per_day=taken * DAY,
        polls_per_day=polls * DAY,
        share=taken / budget,
        slow=count_slow,
        hosts=tuple(heapq.nsmallest(_MOST_NAMED, slow, key=_place)),
    )


def _place(host: SlowHost) -> tuple[float, str]:
    """Those with the most pages for what they take come first."""
    return -host.pages / host.polls_per_day, host.host


def rate_taken(scopes: Iterable[str], delay_of: Callable[[str], float], enough: float) -> float:
    """The polls a second that these politeness scopes take at most, or `enough` if that is less.

    `delay_of` gives the seconds between two polls of a scope. It is asked for as many scopes as it
    takes to come to `enough`.

    >>> rate_taken(["a.example", "b.example"], lambda scope: 0.5, 50.0)
    4.0
    """
    taken = 0.0
    for scope in scopes:
        delay = delay_of(scope)
        if delay <= 0 or taken + 1.0 / delay >= enough:
            return enough
        taken += 1.0 / delay
    return taken
