"""Budgets, their shares and frequencies as people write them: 500/hour, shop=30%, 1/week."""

import math
import re
from collections.abc import Container, Iterable
from dataclasses import dataclass

from pollwise.checks import require_shares
from pollwise.errors import InputError
from pollwise.texts import plain
from pollwise.types import Budget
from pollwise.units import DAY, HOUR, MINUTE, WEEK

__all__ = [
    "BudgetText",
    "frequency",
    "parse_budget",
    "parse_interval",
    "parse_shares",
    "shared_tag",
]

_UNITS = {
    "second": 1.0,
    "minute": MINUTE,
    "hour": HOUR,
    "day": DAY,
    "week": WEEK,
}
_SYMBOLS = {"s": "second", "min": "minute", "h": "hour", "d": "day"}
_LEAST, _MOST = 1e-30, 1e30
"""Cost units a second: what is reckoned with them stays a number."""
_MOST_POLLS = 100_000_000
"""Of one replay: so many take 16 bytes each, and a minute or more."""
_LONGEST_INTERVAL = 10 * 365.25 * _UNITS["day"]
_PERCENT = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*%\s*", re.ASCII)
_EXPECTED = (
    f"expected a number above 0, '/' and one of {', '.join(_UNITS)} (or {', '.join(_SYMBOLS)})"
)
_PATTERN = re.compile(
    r"(?P<number>[0-9.]+(e[-+]?[0-9]+)?)/(?P<unit>[a-z]+)(?P<per_page>/page)?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class BudgetText:
    """A budget in cost units per second, in all or for every page."""

    rate: float
    per_page: bool

    def total(self, pages: int) -> float:
        """Cost units per second for so many pages."""
        return self.rate * pages if self.per_page else self.rate

    def budget(self, pages: int) -> Budget:
        """The budget for so many pages.

        The polls of one second may come at once, as a loop is too slow to use each slot in time.
        """
        rate = self.total(pages)
        return Budget(rate, burst=max(1.0, rate))

    def __str__(self) -> str:
        return f"{plain(self.rate * _UNITS['day'], 6)}/day{'/page' if self.per_page else ''}"

    def require_replayable(self, pages: int, seconds: float) -> None:
        """`InputError` if a history of so many pages and seconds cannot use up this budget."""
        total = self.total(pages)
        if total > pages:
            raise InputError(
                f"budget {self} is more than one poll a second for every page, and recorded"
                " histories tell no times finer than a second; give at most"
                f" {BudgetText(1.0 if self.per_page else float(pages), self.per_page)}"
            )
        if total * seconds > _MOST_POLLS:
            raise InputError(
                f"budget {self} makes {total * seconds:.3g} polls of this history, more than"
                f" {_MOST_POLLS:,d}; give at most a {math.ceil(total * seconds / _MOST_POLLS)}th"
            )


def parse_budget(text: str, name: str = "budget") -> BudgetText:
    """Read a budget: a number above 0, a slash, a unit of time or its symbol, perhaps `/page`.

    The symbols are s, min, h and d. One poll costs one unit, unless its page has another cost.
    `InputError`, which calls it `name`, for other text.

    >>> parse_budget("360/hour")
    BudgetText(rate=0.1, per_page=False)
    >>> parse_budget("86.4/day/page").total(pages=100)
    0.1
    """
    read = _read(text)
    if read is None:
        raise InputError(f"{name} {text!r}: {_EXPECTED}, such as 500/hour or 0.2/day/page")
    return read


def parse_interval(name: str, text: str) -> float:
    """The seconds between two polls at a frequency: a number above 0, a slash, a unit of time.

    `InputError`, which calls it `name`, for other text, and for less than a poll in ten years.

    >>> parse_interval("at-most", "2/minute")
    30.0
    """
    read = _read(text)
    if read is None or read.per_page:
        raise InputError(f"{name} {text!r}: {_EXPECTED}, such as 1/minute or 2/week")
    interval = 1.0 / read.rate
    if interval > _LONGEST_INTERVAL:
        raise InputError(f"{name} {text!r} is less than one poll in ten years: give more")
    return interval


def frequency(interval: float) -> str:
    """The shortest text of which `parse_interval` makes this interval (seconds) again.

    If none makes it to the last bit, one that comes next to it.

    >>> [frequency(interval) for interval in (86_400.0, 0.5, 86_400 * 3.0)]
    ['1/day', '2/second', '0.3333333333333333/day']
    """
    found = []
    for unit, seconds in _UNITS.items():
        exact = seconds / interval
        for number in (*(float(f"{exact:.{n}g}") for n in (1, 3, 6, 12)), exact):
            near = (math.nextafter(number, -math.inf), number, math.nextafter(number, math.inf))
            found += [f"{plain(n)}/{unit}" for n in near if 1.0 / (n / seconds) == interval]
    return min(found, key=len, default=f"{plain(DAY / interval)}/day")


def parse_shares(texts: Iterable[str], option: str = "--share") -> dict[str, float]:
    """The shares of the budget by tag (0 to 1), of texts such as shop=30%.

    `InputError`, which names the `option`, for other texts, a tag named twice, and shares of which
    not all can be given.

    >>> parse_shares(["shop=30%", "news=12.5%"])
    {'shop': 0.3, 'news': 0.125}
    """
    shares: dict[str, float] = {}
    for text in texts:
        tag, _, percent = text.rpartition("=")
        found = _PERCENT.fullmatch(percent)
        if len(tag.split()) != 1 or "," in tag or found is None or not 0 < float(found[1]) <= 100:
            raise InputError(
                f"{option} {text!r}: expected a tag, '=' and a share of the budget, such as"
                " shop=30%"
            )
        if tag.strip() in shares:
            raise InputError(f"{option} {text!r}: {tag.strip()} has a share already; give one")
        shares[tag.strip()] = float(found[1]) / 100.0
    require_shares(option, shares)
    return shares


def shared_tag(shares: Iterable[str], tags: Container[str]) -> str | None:
    """Of the tags that have shares of the budget, in their order, the first of a page's `tags`."""
    return next((tag for tag in shares if tag in tags), None)


def _read(text: object) -> BudgetText | None:
    found = _PATTERN.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        return None
    unit = _UNITS.get(_SYMBOLS.get(found["unit"], found["unit"]))
    if unit is None:
        return None
    try:
        rate = float(found["number"]) / unit
    except ValueError:
        return None
    return BudgetText(rate, found["per_page"] is not None) if _LEAST <= rate <= _MOST else None
