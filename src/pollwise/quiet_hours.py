"""Hours of the day in which nothing is polled, in the time zone of this machine."""

import os
import re
import time
import zoneinfo
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

from pollwise.errors import InputError
from pollwise.units import DAY

__all__ = ["QuietHours"]

_HOURS = re.compile(r"(\d{1,2}):(\d{2})-(\d{1,2}):(\d{2})", re.ASCII)
_MINUTES = 24 * 60
_UTC = ("", "UTC", "GMT")


class QuietHours:
    """Stretches of each day, such as 22:00-06:30; `InputError` for a text that is none."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._stretches = [_stretch(text) for text in texts]

    def end(self, now: float) -> float | None:
        """If it is quiet at a time: until when (both UTC seconds)."""
        until = now
        # One stretch may begin where another ends; all of them may be the whole day.
        while until < now + DAY and (left := self._left(until)):
            until = _when_clock_went_on(int(until), left)
        return until if until > now else None

    @property
    def doubt(self) -> str | None:
        """That these are hours in UTC as `TZ` names no time zone, in words; None: they are not."""
        name = os.environ.get("TZ", "")
        if not self._stretches or _is_zone(name.removeprefix(":")):
            return None
        return (
            f"TZ={name} is no time zone that is known here, so quiet hours are in UTC: name another"
            " one, or install its data (tzdata)"
        )

    def _left(self, now: float) -> int:
        """The seconds that a clock on the wall has to go to the end of a stretch; 0: of none."""
        local = time.localtime(now)
        minute = local.tm_hour * 60 + local.tm_min
        for begin, end in self._stretches:
            if (minute - begin) % _MINUTES < (end - begin) % _MINUTES:
                return (end - minute) % _MINUTES * 60 - local.tm_sec
        return 0


def _is_zone(name: str) -> bool:
    """Whether the C library knows a time zone, of whose name it says nothing if it does not."""
    if name in _UTC or time.timezone or time.daylight or re.search(r"\d", name):  # as in CET-1CEST
        return True
    return any(Path(folder, name).is_file() for folder in zoneinfo.TZPATH)


def _when_clock_went_on(now: int, seconds: int) -> float:
    """When a clock on the wall has gone on by so many seconds, or is set, as summer time begins or
    ends, before that.
    """
    end, offset = now + seconds, time.localtime(now).tm_gmtoff
    if time.localtime(end).tm_gmtoff == offset:
        return float(end)
    times = range(now, end)
    is_set = bisect_left(times, True, key=lambda at: time.localtime(at).tm_gmtoff != offset)
    return float(now + is_set)


def _stretch(text: str) -> tuple[int, int]:
    """The minutes of the day at which a stretch begins and ends."""
    found = _HOURS.fullmatch(text.strip())
    if found is not None:
        hours, minutes, end_hours, end_minutes = map(int, found.groups())
        begin, end = hours * 60 + minutes, end_hours * 60 + end_minutes
        if max(minutes, end_minutes) < 60 and max(begin, end) < _MINUTES and begin != end:
            return begin, end
    raise InputError(f"quiet {text!r}: expected times of the day such as 22:00-06:30, or none")
