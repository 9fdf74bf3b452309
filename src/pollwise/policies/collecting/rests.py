"""How long a held page rests after a poll: it is not looked at again before it may have changed.

What was unchanged for long mostly stays so. A page that was seen to be unchanged for A seconds is
taken to change at a rate of Gamma(1, A/p): with the probability p within A seconds more, p =
`_LEAST_CHANCE`. The evidence of the collection, k changes of pages of that age in E seconds of
watching them, makes that Gamma(1 + k, A/p + E), and the page rests until its expected changes
reach p, for

    (A + p E) / (1 + k)  seconds.

So without any change seen, a page rests for at least as long as it was seen to be unchanged (and
always for `FIRST` seconds): n looks that find nothing reach 2^n times as far.
Where pages change, (A + p E)/(1 + k) soon is p times their mean time between changes. What the page
itself shows counts the same way, and the shorter rest holds.

A rest is a floor on the index. That of freshness is (r/λ) w(a) with a = λτ, so w is p²/2 at least:
a look below that gains next to nothing, whatever is left of the budget.

Evidence is kept by octaves of the age, as a piecewise constant hazard (D. R. Cox, D. Oakes:
Analysis of Survival Data, 1984). That of younger pages counts less, and so does that of a page that
has changed often: one busy page says little of the others.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["FIRST", "Past", "Rests"]

FIRST = 60.0
"""Seconds that a page rests at first."""
_LEAST_CHANCE = 0.02
_OF_YOUNGER = 0.7
"""How much evidence counts at the next octave of the age."""
_LATEST = 4.0
"""How many rests a page is taken to have been watched for since its last poll, at most."""
_OCTAVES = 32


class Past(NamedTuple):
    """What polls told of a page: times (UTC seconds) when it was first seen, and since when it has
    been as it is now, and the number of changes between the two.
    """

    first_at: float
    since: float
    changes: float = 0.0

    def changed(self, now: float) -> "Past":
        """The same after one more change."""
        return Past(self.first_at, now, self.changes + 1.0)


class Rests:
    """Learns how soon pages change that have been unchanged for some time.

    >>> rests, page = Rests(), Past(first_at=0.0, since=0.0)
    >>> rests.end(page, 0.0), rests.end(page, 1000.0)
    (60.0, 2000.0)
    >>> rests.note(page, 1000.0, 2000.0, changed=True)
    >>> rests.end(page, 1000.0)
    1510.0
    """

    def __init__(self) -> None:
        self._changes = [0.0] * _OCTAVES
        self._watched = [0.0] * _OCTAVES

    def note(self, past: Past, polled_at: float, now: float, changed: bool) -> None:
        """A page with this past when it was last polled, at `polled_at`, was polled again.

        Of a poll that comes much later than its rest asked for, the clock may have jumped.
        """
        octave, weight = _octave(polled_at - past.since), 1.0 / (1.0 + past.changes)
        longest = _LATEST * (self.end(past, polled_at) - polled_at)
        self._changes[octave] += changed * weight
        self._watched[octave] += min(now - polled_at, longest) * weight

    def end(self, past: Past, polled_at: float) -> float:
        """Until when a page with this past rests, which was polled last at `polled_at`."""
        age = polled_at - past.since
        changes = watched = 0.0
        for octave in range(_octave(age) + 1):
            changes = _OF_YOUNGER * changes + self._changes[octave]
            watched = _OF_YOUNGER * watched + self._watched[octave]
        rest = _rest(age, changes, watched)
        if past.changes:
            rest = min(rest, _rest(age, past.changes, polled_at - past.first_at))
        return polled_at + rest

    def state(self) -> NDArray[np.float64]:
        """All that was learned."""
        return np.array([*self._changes, *self._watched])

    def load(self, state: Sequence[float]) -> None:
        """Put back what `state` gave."""
        self._changes, self._watched = [*state[:_OCTAVES]], [*state[_OCTAVES:]]


def _rest(age: float, changes: float, watched: float) -> float:
    return max((max(age, FIRST) + _LEAST_CHANCE * watched) / (1.0 + changes), FIRST)


def _octave(age: float) -> int:
    """0 below `FIRST`, then one more for each doubling."""
    return 0 if age < FIRST else min(1 + int(math.log2(age / FIRST)), _OCTAVES - 1)
