"""How much of what happened a store keeps: of the event log, and which versions of pages."""

import re
from dataclasses import dataclass

from pollwise.errors import InputError
from pollwise.units import DAY, HOUR, WEEK

__all__ = [
    "AGES_COUNT_AFTER",
    "KEEP_ALL",
    "KEPT_POLLS",
    "LONG_AWAY",
    "MOST_EVENT_BYTES",
    "Retention",
    "parse_retention",
]

MOST_EVENT_BYTES = 300_000_000
"""Of the event log: of the latest three million polls of a watch, or so."""

LONG_AWAY = 30 * DAY
"""Seconds for which nothing happened in a store, after which the clock may be the reason."""
AGES_COUNT_AFTER = WEEK
"""Seconds after which that clock is believed, and versions are dropped for their ages."""

KEPT_POLLS = 50
"""Polls of each page that are kept for explanations; the event log has them all."""

_UNITS = {"h": HOUR, "d": DAY, "w": WEEK}
_PATTERN = re.compile(r"(?P<number>\d{1,9})(?P<unit>[a-z]?)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Retention:
    """The newest `versions` of a page (at least 1), and those first seen at most `age` seconds ago.

    None: any. The newest version of a page is kept, however old it is.
    """

    versions: int | None = None
    age: float | None = None

    def __str__(self) -> str:
        if self.versions is not None:
            return f"the newest {self.versions:,} of each page"
        if self.age is not None:
            return f"{self.age / _UNITS['d']:g} days"
        return "all"


KEEP_ALL = Retention()


def parse_retention(text: str) -> Retention:
    """Read `all`, a number of versions such as 20, or an age such as 12h, 90d or 8w.

    `InputError` for other text.

    >>> parse_retention("20")
    Retention(versions=20, age=None)
    >>> parse_retention("90d").age
    7776000.0
    >>> str(parse_retention("8w"))
    '56 days'
    """
    if text.strip() == "all":
        return KEEP_ALL
    found = _PATTERN.fullmatch(text.strip())
    number = int(found["number"]) if found else 0
    unit = found["unit"] if found else ""
    if number < 1 or (unit and unit not in _UNITS):
        raise InputError(
            f"keep {text!r}: expected a number of versions of each page, such as 20, or an age in"
            f" hours, days or weeks, such as 12h, 90d or 8w, or 'all'"
        )
    return Retention(age=number * _UNITS[unit]) if unit else Retention(versions=number)
