"""Hours of the day in which nothing is polled, in the time zone of this machine."""

import re
import time
from bisect import bisect_left
from collections.abc import Sequence

from pollwise.errors import InputError
from pollwise.units import DAY

__all__ = ["QuietHours"]

_HOURS = re.compile(r"(\d{1,2}):(\d{2})-(\d{1,2}):(\d{2})", re.ASCII)
_MINUTES = 24 * 60


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

    def _left(self, now: float) -> int:
        """The seconds that a clock on the wall has to go to the end of a stretch; 0: of none."""
        local = time.localtime(now)
        minute = local.tm_hour * 60 + local.tm_min
        for begin, end in self._stretches:
            if (minute - begin) % _MINUTES < (end - begin) % _MINUTES:
                return (end - minute) % _MINUTES * 60 - local.tm_sec
        return 0


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
