"""Counts, lengths of time and moments as a person would say them."""

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pollwise.units import DAY, HOUR, MINUTE

if TYPE_CHECKING:
    from pollwise.store.place import Place

__all__ = [
    "age",
    "all_paused",
    "count",
    "duration",
    "duration_unit",
    "in_time",
    "moment",
    "number",
    "worth",
]

_YEAR = 365.25 * DAY
_DURATIONS = (
    (_YEAR, 2 * _YEAR, "year"),
    (DAY, 2 * DAY, "day"),
    (HOUR, 2 * HOUR, "hour"),
    (MINUTE, 2 * MINUTE, "minute"),
)
"""Seconds of a unit, seconds from which on it is used, and its name."""
_BEGIN, _END = (
    datetime(1, 1, 1, tzinfo=UTC).timestamp(),
    datetime(9999, 12, 31, tzinfo=UTC).timestamp(),
)
"""Between which a time can be written."""
_LEAST, _MOST = 0.001, 1e12
"""Figures between which digits are told."""
_FRESH = 0.1
"""The share of the time since a change at most that is not worth telling."""


def all_paused(db: "Place | str") -> str:
    """Why nothing is foretold of a watch without any other page, and what helps."""
    # Here, because it loads numpy, and the words of every command are in this module.
    from pollwise.store.place import command

    resumes = command(db, "resume", "URL")
    return f"all pages are paused: `{resumes}` lets them be polled again"


def count(number: int, noun: str) -> str:
    """A number and what it counts, such as `1 poll` or `2,000 polls`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def number(figure: float) -> str:
    """A figure in two or three digits, never in powers of ten.

    >>> [number(figure) for figure in (0.0, 1e-7, 0.0123, 4.71, 10.0, 12_345.6)]
    ['0', 'less than 0.001', '0.012', '4.7', '10', '12,346']
    >>> number(1.234e9), number(1e30)
    ('1,200,000,000', 'more than 1,000,000,000,000')
    """
    if figure < 0:
        return f"-{number(-figure)}"
    if 0 < figure < _LEAST:
        return f"less than {_LEAST}"
    if _MOST < figure < math.inf:
        return f"more than {_MOST:,.0f}"
    if figure >= 1e9:
        figure = float(f"{figure:.2g}")
    return f"{figure:,.0f}" if figure >= 99.5 else f"{figure:.2g}"


def worth(figure: float) -> str:
    """A figure that is compared with others of its kind, which may all be tiny.

    >>> worth(0.5), worth(0.000_23), worth(4.1e-9), worth(0.0)
    ('0.5', '230 millionths', '4.1 billionths', '0')
    """
    if figure == 0 or abs(figure) >= _LEAST:
        return number(figure)
    size, name = (1e6, "millionths") if abs(figure) >= 1e-7 else (1e9, "billionths")
    return f"{number(figure * size)} {name}"


def duration(seconds: float) -> str:
    """A length of time.

    >>> [duration(seconds) for seconds in (4.71, 90.0, 3 * 86_400.0, math.inf)]
    ['4.7 s', '90 s', '3 days', 'for ever']
    """
    if math.isinf(seconds):
        return "for ever"
    size, unit = duration_unit(seconds)
    return f"{number(seconds / size)} {unit}"


def duration_unit(seconds: float) -> tuple[float, str]:
    """The seconds of the unit in which a person would say a length of time, and its name."""
    for size, least, name in _DURATIONS:
        if seconds >= least:
            return size, f"{name}s"
    return 1.0, "s"


def age(young: float, old: float) -> str:
    """How long ago something happened: between `young` and `old` seconds.

    >>> age(0.0, 7200.0), age(60.0, 7200.0), age(3 * 3600.0, 7 * 3600.0), age(3600.0, 259_200.0)
    ('in the last 2 hours', 'in the last 2 hours', '3 to 7 hours ago', 'in the last 3 days')
    >>> age(5400.0, 10_800.0)
    '90 minutes to 3 hours ago'
    """
    if young <= _FRESH * old:
        return f"in the last {duration(old)}"
    least, most = duration(young), duration(old)
    if least == most:
        return f"{most} ago"
    if least.partition(" ")[2] == most.partition(" ")[2]:
        least = least.partition(" ")[0]
    return f"{least} to {most} ago"


def in_time(what: str, seconds: float) -> str:
    """What happened within so many seconds.

    Of less than a second nothing is told: only times that were set back, as a clock was ahead, are
    as close as that.

    >>> in_time("changed", 90.0), in_time("changed", 0.001)
    ('changed in the 90 s before', 'changed')
    """
    return what if seconds < 1.0 else f"{what} in the {duration(seconds)} before"


def moment(seconds: float | None) -> str:
    """A time in UTC, or a dash."""
    if seconds is None or not _BEGIN <= seconds < _END:
        return "-"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
