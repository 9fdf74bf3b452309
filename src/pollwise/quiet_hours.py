"""Hours of the day in which nothing is polled, in the time zone of this machine."""

import re
import time
from collections.abc import Sequence

from pollwise.errors import InputError
from pollwise.units import HOUR

__all__ = ["QuietHours"]

_HOURS = re.compile(r"(\d{1,2}):(\d{2})-(\d{1,2}):(\d{2})", re.ASCII)
_MINUTES = 24 * 60


class QuietHours:
    """Stretches of each day, such as 22:00-06:30; `InputError` for a text that is none."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._stretches = [_stretch(text) for text in texts]

    def end(self, now: float) -> float | None:
        """If it is quiet at a time: until when (both UTC seconds)."""
        until = None
        for _ in self._stretches:  # one may begin where another ends
            later = self._end_of_stretch(now if until is None else until)
            if later is None:
                break
            until = later
        return until

    def _end_of_stretch(self, now: float) -> float | None:
        local = time.localtime(now)
        minute = local.tm_hour * 60 + local.tm_min
        for begin, end in self._stretches:
            if (minute - begin) % _MINUTES < (end - begin) % _MINUTES:
                day = local.tm_mday + (end <= minute)
                date = (local.tm_year, local.tm_mon, day, end // 60, end % 60, 0, 0, 0, -1)
                until = time.mktime(date)
                # An hour that comes twice, as summer time ends, may be meant the first time.
                return until if until > now else until + HOUR
        return None


def _stretch(text: str) -> tuple[int, int]:
    """The minutes of the day at which a stretch begins and ends."""
    found = _HOURS.fullmatch(text.strip())
    if found is not None:
        hours, minutes, end_hours, end_minutes = map(int, found.groups())
        begin, end = hours * 60 + minutes, end_hours * 60 + end_minutes
        if max(minutes, end_minutes) < 60 and max(begin, end) < _MINUTES and begin != end:
            return begin, end
    raise InputError(f"quiet {text!r}: expected times of the day such as 22:00-06:30, or none")
