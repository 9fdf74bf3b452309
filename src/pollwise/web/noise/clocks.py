"""Clocks that stand still for a minute, or in a cache: the latest polls tell them from news.

Between two fetches a few seconds apart they hardly ever move. But while the page is polled again
and again they keep step with the polls: a time of day is always as far from that of the poll, but
for the zone, and so is a number of seconds since 1970. The time of an update is not; it lies
anywhere between two polls. Only what keeps step to a tenth of the time between the polls is a
clock, and that is seldom chance six times in a row.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from pollwise.types import Mask
from pollwise.web.noise.masks import (
    covered,
    covered_blocks,
    digest,
    neighbours,
    sample_of,
    shape_of,
)
from pollwise.web.noise.search import differences, leaves_words

__all__ = ["POLLS", "find_clocks"]

POLLS = 7
"""The polls in a row, all with different pages, that it takes."""

_LEAST_GAP = 600.0
"""Seconds between polls, below which a clock of minutes tells nothing."""
_TOLERANCE = 0.1
_DAY = 86_400
_MOST = 4

_TIME = re.compile(
    r"(?<!\d)(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d))?(?:\s?(?P<half>[ap])\.?m)?"
    r"|(?<!\d)(?P<epoch>1\d{9})(?:\d{3})?(?!\d)",
    re.IGNORECASE,
)


def find_clocks(
    pages: Sequence[Sequence[str]], polled_at: Sequence[float], known: Sequence[Mask] = ()
) -> tuple[Mask, ...]:
    """The masks for the clocks of a page, by the blocks of its latest polls, oldest first.

    `polled_at` has their times, in seconds. Empty if there are fewer than seven polls, or they are
    less than ten minutes apart.
    """
    gaps = [later - earlier for earlier, later in pairwise(polled_at)]
    if len(pages) < POLLS or min(gaps) < _LEAST_GAP:
        return ()
    latest = pages[-1]
    under = covered_blocks(latest, known)
    found = []
    for difference in differences(latest, pages[-2])[:_MOST]:
        begin, end = difference.begin, difference.end
        if end - begin != 1 or begin in under:
            continue
        before, after = neighbours(latest, begin, end)
        text = latest[begin]
        mask = Mask(before, after, digest(shape_of(text)), 1, 1, 2 * len(text), sample_of(text))
        if _keeps_step(_texts(pages, mask), polled_at, _TOLERANCE * min(gaps)):
            found.append(mask)
    return tuple(found) if leaves_words(latest, [*known, *found]) else ()


def _texts(pages: Sequence[Sequence[str]], mask: Mask) -> list[str]:
    """What a mask covers in each page; fewer if it does not cover one place in all."""
    texts = []
    for page in pages:
        [places] = covered(page, [mask])
        if len(places) == 1:
            texts.append(page[places[0][0]])
    return texts


def _keeps_step(texts: Sequence[str], polled_at: Sequence[float], tolerance: float) -> bool:
    times = [_time_in(text) for text in texts]
    if len(times) < len(polled_at):
        return False
    apart = []
    for time, at in zip(times, polled_at, strict=True):
        if time is None:
            return False
        apart.append((time - at) % _DAY)
    # Round the clock, from the first.
    turned = [(each - apart[0] + _DAY / 2) % _DAY - _DAY / 2 for each in apart]
    return max(turned) - min(turned) <= tolerance


def _time_in(text: str) -> float | None:
    """The first time in a text, in seconds of the day or since 1970; None: there is none."""
    match = _TIME.search(text)
    if match is None:
        return None
    if match["epoch"]:
        return float(match["epoch"])
    hour = int(match["hour"])
    if match["half"]:
        hour = hour % 12 + (12 if match["half"].lower() == "p" else 0)
    return 3600.0 * hour + 60.0 * int(match["minute"]) + float(match["second"] or 0)
