"""How times, rates, shares and outcomes are said in pages: the filters of the templates."""

import math
import time
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from markupsafe import Markup, escape

from pollwise.console.conditions import standing_told
from pollwise.console.quantities import (
    count,
    duration,
    durations,
    number,
    rate,
    storage,
    unit_of,
)
from pollwise.insight.capacity import shortfall_words
from pollwise.insight.changes import happened
from pollwise.insight.forecasts import Interval
from pollwise.insight.words import moment
from pollwise.scheduler.budgets import parse_budget
from pollwise.store.place import db_option
from pollwise.texts import plain, printable
from pollwise.types import Outcome
from pollwise.units import DAY, HOUR, MINUTE, WEEK

__all__ = [
    "FILTERS",
    "again",
    "ago",
    "bare",
    "budget_text",
    "days",
    "interval",
    "of_price",
    "outcome",
    "outward",
    "per_time",
    "share",
    "shares",
    "when",
]

_NOW = 1.0
"""Seconds; less is said as `just now`."""
"""From this distance on, a date says more."""
_FAR_APART = 100.0
"""Times the lower of two rates, the higher: their mean would say nothing."""
_FEWEST = 2.0
_WEB = ("http", "https")


def when(seconds: float | None, now: float | None = None, never: str = "never") -> Markup:
    """A time (UTC seconds) as `<time>`: how far it is from now, with all of it as the title."""
    whole = moment(seconds)
    if seconds is None or whole == "-":
        return escape(never)
    text = ago(seconds, time.time() if now is None else now)
    stamp = datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Markup('<time datetime="{}" title="{} UTC">{}</time>').format(stamp, whole, text)


def again(seconds: float | None) -> Markup:
    """When a receiver of notices is tried again; once that is past, a watch has yet to do it.

    >>> again(60.0)
    Markup('due to be tried again')
    """
    if seconds is not None and seconds <= time.time():
        return Markup("due to be tried again")
    return Markup("tried again {}").format(when(seconds))


def ago(seconds: float, now: float) -> str:
    """A time as people say it; both are UTC seconds.

    >>> [ago(at, 1000.0) for at in (999.7, 940.0, 1000.2, 1005.0)]
    ['just now', '60 s ago', 'now', 'in 5 s']
    """
    gone = now - seconds
    if abs(gone) < _NOW:
        return "just now" if gone > 0 else "now"
    if abs(gone) >= WEEK:
        here, there = (datetime.fromtimestamp(at, UTC) for at in (now, seconds))
        day = f"{there.day} {there:%b}"
        return day if here.year == there.year else f"{day} {there.year}"
    length = _whole(abs(gone))
    return f"{length} ago" if gone > 0 else f"in {length}"


def _whole(seconds: float) -> str:
    """A length of time without fractions, which nobody says of a distance from now."""
    for size, unit in ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")):
        if seconds >= 2 * size:
            return count(int(seconds / size), unit)
    return f"{int(seconds)} s"


def per_time(per_day: float | None, between: tuple[float, float] | None = None) -> str:
    """How often something happens, with the ends of its interval if there is one.

    >>> per_time(3.1, (2.0, 4.5)), per_time(1 / 3, (0.1, 1.0))
    ('3.1 (2 to 4.5) a day', 'every 3 days (every 10 days to every 24 hours)')
    >>> per_time(1.0, (0.01, 3.0)), per_time(None)
    ('every 100 days to 3 a day', 'not known yet')
    """
    if per_day is None:
        return "not known yet"
    if between is None:
        return rate(per_day)
    low, high = between
    if high > _FAR_APART * low:
        return f"{rate(low)} to {rate(high)}"
    if per_day < _FEWEST:
        ends = f"{rate(low)} to {rate(high)}"
        return rate(per_day) if rate(low) == rate(high) else f"{rate(per_day)} ({ends})"
    size, unit = unit_of(per_day)
    least, mean, most = (number(figure * size / DAY) for figure in (low, per_day, high))
    return f"{mean} ({least} to {most}) {unit}"


def interval(figure: Interval, unit: float = 1.0) -> Markup:
    """A forecast figure in this unit, and its interval, which is said more quietly."""
    mean, low, high = (_three(part / unit) for part in (figure.mean, figure.low, figure.high))
    return Markup('{} <span class="between">({} to {})</span>').format(mean, low, high)


def days(figure: Interval) -> str:
    """A forecast length of time, which is given in days, and its interval.

    >>> days(Interval(2.0, 1.5, 3.0))
    '2 days (1.5–3)'
    """
    return durations(figure * DAY)


def shares(figure: Interval) -> Markup:
    """A forecast share in percent, and its interval."""
    low, high = (f"{100 * part:.0f}" for part in (figure.low, figure.high))
    return Markup('{} <span class="between">({} to {})</span>').format(
        share(figure.mean), low, high
    )


def share(part: float | None) -> str:
    """A share (0 to 1) in percent; small ones with a digit more.

    >>> share(0.5), share(0.031), share(1e-9), share(0.0), share(None)
    ('50 %', '3.1 %', 'less than 0.1 %', '0 %', 'not known yet')
    """
    if part is None:
        return "not known yet"
    percent = 100 * part
    if 0 < percent < 0.1:
        return "less than 0.1 %"
    return f"{percent:.1f} %" if 0 < percent < 10 else f"{percent:.0f} %"


def _three(figure: float) -> str:
    return "∞" if math.isinf(figure) else number(float(f"{figure:.3g}"))


def budget_text(per_day: float, like: str, pages: int) -> str:
    """A budget in two digits, as the options and forms read it, for so many cost units a day.

    It is in the unit of the budget `like`, which may be told for each of so many pages.

    >>> budget_text(1234.0, "60/hour", 12), budget_text(5760.0, "1/day/page", 12)
    ('51/hour', '480/day/page')
    """
    unit = like.strip().partition("/")[2]
    one = parse_budget(f"1/{unit}").total(max(pages, 1))
    return f"{plain(per_day / DAY / one, 2)}/{unit}"


def of_price(index: float | None, price: float | None) -> str:
    """How far the index of a page is on its way to the price, which may be infinite.

    >>> of_price(0.31, 1.0), of_price(1e-9, 1.0), of_price(0.7, 0.000_394)
    ('31 % of the price', 'less than 0.1 % of the price', '1,777 times the price')
    >>> of_price(math.inf, 1.0), of_price(2.0, 0.0), of_price(2.0, None)
    ('before all others', 'above the price', 'not known yet')
    """
    if index is None or price is None:
        return "not known yet"
    if math.isinf(index):
        return "before all others"
    if price <= 0:
        return "above the price"
    ratio = index / price
    return f"{share(ratio)} of the price" if ratio < 1 else f"{number(ratio)} times the price"


def outcome(found: Outcome | None, *, reverted: bool = False, first_copy: bool = False) -> str:
    """What a poll came to; what found no version, or none that is new, is no `first_copy`."""
    if found is None:
        return "not polled yet"
    if first_copy and found is Outcome.CHANGED:
        return "first copy"
    return "changed back" if reverted else found.name.lower()


def outward(url: str) -> str:
    """A URL of a stranger, if it may be a link; else nothing: a link may run scripts."""
    try:
        return url if urlsplit(url).scheme.lower() in _WEB else ""
    except ValueError:
        return ""


def bare(url: str) -> str:
    """A URL as it is read: without what nearly all begin with."""
    return printable(url).removeprefix("https://").removeprefix("http://")


FILTERS = {
    "when": when,
    "again": again,
    "per_time": per_time,
    "interval": interval,
    "share": share,
    "shares": shares,
    "storage": storage,
    "duration": duration,
    "days": days,
    "number": number,
    "of_price": of_price,
    "counted": count,
    "outcome": outcome,
    "standing": standing_told,
    "happened": lambda change: happened(change.kind, change.status),
    "outward": outward,
    "bare": bare,
    "printable": printable,
    "budget_text": budget_text,
    "shortfall_words": shortfall_words,
    # Of a file, those who look are not told the folder.
    "db_option": lambda place: db_option(place.name if isinstance(place, Path) else place),
}
"""By their names in templates."""
