"""Hours of the day in which nothing is polled, in the time zone of this machine."""

import re
import time
from collections.abc import Sequence

from pollwise.errors import InputError

__all__ = ["QuietHours"]

_HOURS = re.compile(r"(\d{1,2}):(\d{2})-(\d{1,2}):(\d{2})", re.ASCII)
_MINUTES = 24 * 60


class QuietHours:
    """Stretches of each day, such as 22:00-06:30; `InputError` for a text that is none.

    >>> QuietHours(["22:00-06:30"]).end_at_minute(23 * 60)
    '06:30'
    >>> QuietHours(["22:00-06:30"]).end_at_minute(12 * 60) is None
    True
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._stretches = [_stretch(text) for text in texts]

    def end(self, now: float) -> str | None:
        """If it is quiet at a time (UTC seconds): until what time of the day, such as 06:30."""
        local = time.localtime(now)
        return self.end_at_minute(local.tm_hour * 60 + local.tm_min)

    def end_at_minute(self, minute: int) -> str | None:
        """`end`, at a minute of the day."""
        for begin, end in self._stretches:
            if (minute - begin) % _MINUTES < (end - begin) % _MINUTES:
                return f"{end // 60:02d}:{end % 60:02d}"
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
