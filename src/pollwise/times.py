"""Times as people and tables give them, turned into UTC seconds since 1970.

A time may be a number of seconds, a `datetime` with a time zone, a `numpy.datetime64`, a timestamp
of pandas, or ISO 8601 text. As in numpy and pandas, text and timestamps that name no time zone are
UTC. A `datetime` without one is refused: Python takes it for local time.
"""

import math
import re
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import is_finite, is_real, shown
from pollwise.errors import InputError
from pollwise.units import DAY, HOUR, MINUTE, WEEK

__all__ = [
    "LATEST",
    "Moment",
    "no_seconds",
    "parse_age",
    "parse_time",
    "require_seconds",
    "seconds_of_dates",
    "time_of",
    "times_of",
]

Moment = float | str | datetime | np.datetime64
"""A time as people give it."""

LATEST = 1e11
"""The year 5138. Milliseconds, microseconds and nanoseconds since 1970 are above it since 1973."""
_UNITS = (
    (3e13, "milliseconds", "1000"),
    (3e16, "microseconds", "1e6"),
    (math.inf, "nanoseconds", "1e9"),
)
_WRAPPING = {"Y", "M", "W", "D", "h", "m", "s", "ms"}
"""Units of numpy whose dates may be too far off for microseconds, in which they would wrap."""
_USABLE_YEARS = np.datetime64("-1300", "Y"), np.datetime64("5200", "Y")
_AGES = {"m": MINUTE, "h": HOUR, "d": DAY, "w": WEEK}
_AGE = re.compile(r"(?P<number>\d{1,6})(?P<unit>[mhdw])", re.ASCII)
_WANTED = (
    "a time: UTC seconds, a datetime with a time zone, or ISO 8601 such as 2024-05-01T12:00:00Z"
)


def time_of(name: str, value: object) -> float:
    """The UTC seconds of one time; `InputError`, which calls it `name`, for anything else.

    >>> time_of("now", "2024-05-01T12:00:00Z"), time_of("now", np.datetime64("2024-05-01"))
    (1714564800.0, 1714521600.0)
    >>> time_of("now", 1714564800000)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    pollwise.errors.InputError: now=1714564800000 is too large for UTC seconds: divide millisec...
    """
    seconds = math.nan
    moment = value.to_datetime64() if hasattr(value, "to_datetime64") else value  # of pandas
    if is_finite(moment):
        seconds = float(moment)
    elif isinstance(moment, str):
        seconds = parse_time(moment)
    elif isinstance(moment, np.datetime64):
        seconds = float(seconds_of_dates(np.array([moment]))[0])
    elif isinstance(moment, datetime):
        if moment.utcoffset() is None:
            raise InputError(
                f"{name}={moment.isoformat()} has no time zone: give one, such as datetime.now(UTC)"
            )
        seconds = moment.timestamp()
    if not math.isfinite(seconds):
        raise InputError(f"{name}={shown(value)} must be {_WANTED}")
    if complaint := no_seconds(seconds):
        raise InputError(f"{name}={shown(value)} {complaint}")
    return seconds


def times_of(name: str, values: object, *, endless: bool = False) -> NDArray[np.float64]:
    """The UTC seconds of a list, an array or a column of a table.

    `endless`: a time may be infinite. `InputError`, which calls them `name`, for anything else.

    >>> times_of("changes", ["2024-05-01", "2024-05-02T06:00"]).tolist()
    [1714521600.0, 1714629600.0]
    """
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError):  # such as lists of several lengths
        array = np.empty(())
    if array.ndim != 1:
        raise InputError(f"{name}={shown(values)} must be a list of times, or one column of them")
    if array.dtype.kind == "M":
        seconds = seconds_of_dates(array)
    elif array.dtype.kind in "iuf":
        seconds = array.astype(np.float64)
    else:
        # An array of text and numbers would have turned the numbers into text.
        each = values if isinstance(values, list | tuple) else list(array)
        told = [v if endless and is_real(v) and v == math.inf else time_of(name, v) for v in each]
        return np.array(told, np.float64)
    usable = (np.abs(seconds) <= LATEST) | (endless & (seconds == np.inf))
    for bad in array[~usable][:1]:
        time_of(name, bad if array.dtype.kind == "M" else bad.item())
    return seconds


def require_seconds(name: str, value: object) -> None:
    """`InputError` unless it is a number of UTC seconds, where nothing else is understood."""
    if type(value) is float and -LATEST <= value <= LATEST:  # nearly always, and often
        return
    if not is_finite(value):
        raise InputError(f"{name}={shown(value)} must be finite, a number of UTC seconds")
    if complaint := no_seconds(float(value)):
        raise InputError(f"{name}={shown(value)} {complaint}")


def no_seconds(number: float) -> str | None:
    """Why a number can be no time in seconds; None: it can."""
    if abs(number) <= LATEST:
        return None
    unit, divisor = next((unit, by) for limit, unit, by in _UNITS if abs(number) < limit)
    return f"is too large for UTC seconds: divide {unit} by {divisor}"


def parse_age(text: str) -> float:
    """The seconds of 30m, 12h, 1d or 2w; NaN: it is nothing like that."""
    found = _AGE.fullmatch(text.strip())
    return int(found["number"]) * _AGES[found["unit"]] if found else math.nan


def parse_time(text: str) -> float:
    """The UTC seconds of ISO 8601 text, UTC if it names no time zone; NaN: it is none."""
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return math.nan


def seconds_of_dates(dates: NDArray[np.datetime64]) -> NDArray[np.float64]:
    """The UTC seconds of numpy's dates; NaN where there is none, -inf for those out of range."""
    held, fits = dates, np.ones(dates.shape, np.bool_)
    if np.datetime_data(dates.dtype)[0] in _WRAPPING:
        earliest, latest = (year.astype(dates.dtype) for year in _USABLE_YEARS)
        fits = (earliest <= dates) & (dates <= latest)
        held = np.where(fits, dates, np.array("NaT", dates.dtype))
    seconds = held.astype("datetime64[us]").astype(np.int64) / 1e6
    return np.select([np.isnat(dates), ~fits], [np.nan, -np.inf], seconds)
