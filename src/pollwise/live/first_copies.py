"""How long the first copies of pages take, told at the start of a watch."""

import math
from collections import Counter
from collections.abc import Mapping

from pollwise.scheduler.budgets import parse_budget
from pollwise.settings import WatchSettings
from pollwise.units import DAY, HOUR, MINUTE

__all__ = ["first_copies_told"]

_ANSWER = 0.2
"""Seconds that a host takes which answers soon."""
_SHORT = 10.0
"""Seconds of which nothing need be said."""
_UNITS = (("day", DAY), ("hour", HOUR), ("minute", MINUTE), ("second", 1.0))


def first_copies_told(
    watched: int, never_polled: Mapping[str, int], settings: WatchSettings
) -> str | None:
    """A line that says how long the pages never polled take; None: not long.

    `watched` is the number of all pages, `never_polled` those by their politeness scopes.

    >>> first_copies_told(0, {}, WatchSettings()) is None
    True
    """
    texts = settings.first_copies, settings.budget
    rate = max(parse_budget(text).total(watched) for text in texts) if watched else math.inf
    groups, limits = settings.shared_scopes(), settings.limit_rates()
    by_scope: Counter[str] = Counter()
    for scope, count in never_polled.items():
        by_scope[groups.get(scope, scope)] += count
    pages = by_scope.total()
    apart = settings.crawl_delay + _ANSWER
    busiest = max(
        (
            (count - 1) * max(apart, 1 / limits.get(scope, math.inf))
            for scope, count in by_scope.items()
        ),
        default=0.0,
    )
    seconds = max(pages / rate, busiest)
    if seconds <= _SHORT:
        return None
    return f"first copies of {pages:,d} pages: about {_in_words(seconds)}"


def _in_words(seconds: float) -> str:
    """Seconds in the largest unit of which there is most of one.

    >>> _in_words(47.0), _in_words(100.0), _in_words(10_000.0), _in_words(50.0 * 3600)
    ('1 minute', '2 minutes', '3 hours', '2 days')
    """
    unit, length = next(
        (unit, length) for unit, length in _UNITS if seconds >= 0.75 * length or length == 1.0
    )
    number = max(round(seconds / length), 1)
    return f"{number} {unit}" + ("s" if number > 1 else "")
