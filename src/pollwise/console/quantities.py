"""Durations, rates and forecast figures in the units that a person would use."""

import math

from pollwise.insight.forecasts import Interval
from pollwise.insight.words import count, duration, duration_unit, number, worth
from pollwise.units import DAY, HOUR, MINUTE

__all__ = [
    "between",
    "count",
    "duration",
    "durations",
    "not_known",
    "number",
    "percent",
    "rate",
    "rate_between",
    "storage",
    "unit_of",
    "worth",
]

_SECOND = 1.0
_YEAR = 365.25 * DAY
_RATES = ((_SECOND, "second"), (MINUTE, "minute"), (HOUR, "hour"), (DAY, "day"))
_RAREST = 10 * _YEAR
"""Seconds between what happens hardly ever."""
_FAR_APART = 100.0
"""Times the lower of two rates or lengths of time, the higher."""
_FEWEST = 2.0
"""So many a unit of time at least, or a longer unit is used."""


def durations(seconds: Interval) -> str:
    """A forecast length of time and its interval; `never` if it is infinite.

    All is in one unit unless that would make long numbers.

    >>> durations(Interval(7200.0, 3600.0, 10_800.0)), durations(Interval(2.0, 1.0, 7200.0))
    ('2 hours (1–3)', '2 s (1 s–2 hours)')
    """
    if not math.isfinite(seconds.mean):
        return "never"
    if seconds.high > _FAR_APART * seconds.mean:
        return f"{duration(seconds.mean)} ({duration(seconds.low)}–{duration(seconds.high)})"
    size, unit = duration_unit(seconds.mean)
    mean, _, ends = between(seconds / size).partition(" (")
    return f"{mean} {unit} ({ends}"


def between(figure: Interval) -> str:
    """A forecast figure and its interval, in three digits.

    >>> between(Interval(426_764.0, 357_297.0, 491_755.0))
    '427,000 (357,000–492,000)'
    """
    mean, low, high = (number(float(f"{x:.3g}")) for x in (figure.mean, figure.low, figure.high))
    return f"{mean} ({low}–{high})"


def percent(share: Interval) -> str:
    """A forecast share and its interval.

    >>> percent(Interval(0.5, 0.25, 1.0))
    '50 % (25–100)'
    """
    return f"{100 * share.mean:.0f} % ({100 * share.low:.0f}–{100 * share.high:.0f})"


def rate(per_day: float) -> str:
    """How often something happens that happens so many times a day.

    >>> [rate(per_day) for per_day in (0.0, 1 / 3, 1.0, 4.71, 400.0)]
    ['hardly ever', 'every 3 days', 'every 24 hours', '4.7 a day', '17 an hour']
    """
    if per_day * _RAREST < DAY:
        return "hardly ever"
    if per_day < _FEWEST:
        return f"every {duration(DAY / per_day)}"
    size, unit = unit_of(per_day)
    return f"{number(per_day * size / DAY)} {unit}"


def rate_between(per_day: float, low: float, high: float, chance: str) -> str:
    """How often something happens, and between which rates that lies with a `chance`.

    Of rates that are far apart, their mean would say nothing.

    >>> rate_between(4.71, 3.0, 6.0, "90 %"), rate_between(0.1, 0.01, 3.0, "90 %")
    ('4.7 a day (90 %: 3–6)', 'every 100 days to 3 a day (90 %)')
    >>> rate_between(0.1, 0.05, 1.0, "90 %")
    'every 10 days (90 %: every 20 days to every 24 hours)'
    >>> rate_between(0.99, 0.98, 1.0, "90 %")
    'every 24 hours (90 %)'
    """
    if high > _FAR_APART * low:
        return f"{rate(low)} to {rate(high)} ({chance})"
    if rate(low) == rate(high):
        return f"{rate(per_day)} ({chance})"
    if per_day < _FEWEST:
        return f"{rate(per_day)} ({chance}: {rate(low)} to {rate(high)})"
    size, _ = unit_of(per_day)
    return f"{rate(per_day)} ({chance}: {number(low * size / DAY)}–{number(high * size / DAY)})"


def storage(size: float) -> str:
    """An amount of bytes.

    >>> [storage(size) for size in (17, 17.4, 2_345, 12_000_000)]
    ['17 bytes', '17 bytes', '2.3 kB', '12 MB']
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{number(size / unit)} {name}"
    return count(round(size), "byte")


def unit_of(per_day: float) -> tuple[float, str]:
    """The seconds and the name, such as `a day`, of the unit of time in which to tell a rate.

    >>> unit_of(0.5), unit_of(100.0)
    ((604800.0, 'a week'), (3600.0, 'an hour'))
    """
    for size, name in _RATES:
        if per_day * size / DAY >= _FEWEST:
            return size, f"{'an' if name == 'hour' else 'a'} {name}"
    return 7 * DAY, "a week"


def not_known(polls: int, needed: int) -> str:
    """What stands in the place of a figure for which there are too few polls."""
    return f"not known yet ({count(polls, 'poll')} that told something; about {needed:,} needed)"
