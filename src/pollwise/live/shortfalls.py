"""Tells the people who watch that hosts cannot take the budget."""

import math
from collections.abc import Callable, Generator
from time import monotonic

from pollwise.insight.capacity import shortfall_words
from pollwise.live.clock import Clock
from pollwise.live.progress import Progress
from pollwise.scheduler.capacity import Shortfall
from pollwise.scheduler.scheduler import Scheduler
from pollwise.units import HOUR

__all__ = ["ShortfallTeller"]

_ENOUGH = 0.95
"""The share of the budget that was spent if hosts need not be looked at."""
_FIRST_WAIT, _LONGEST_WAIT = 10.0, HOUR
"""Seconds between two looks, which take in proportion to the pages: ever more."""

_Look = Generator[None, None, Shortfall | None]


class ShortfallTeller:
    """Says that hosts cannot take the budget, once for each budget.

    That is known at the start as far as it is for their pauses; how long answers take is learned.
    `budget` gives the budget as people say it. Where pages are many, a look takes several turns, of
    each `look_for` seconds or little more.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        clock: Clock,
        *,
        budget: Callable[[], str],
        say: Callable[[str], None],
        look_for: float = 0.025,
    ) -> None:
        self._scheduler, self._clock = scheduler, clock
        self._look_for = look_for
        self._budget, self._say = budget, say
        self._told = ""
        # The look that is under way, and the budget for which it is.
        self._look: tuple[_Look, str] | None = None
        self._spent = 0.0
        self._looked_at = self._look_at = -math.inf
        self._wait = _FIRST_WAIT

    def note(self, progress: Progress) -> None:
        """Take in a turn of the loop."""
        self._spent += progress.cost
        self._look_on()
        now = self._clock()
        if now < self._look_at:
            return
        allowed = self._scheduler.budget.rate * (now - self._looked_at)
        if self._spent < _ENOUGH * allowed:
            self._look_anew()
        self._looked_at, self._spent = now, 0.0
        self._look_at = now + self._wait
        self._wait = min(2.0 * self._wait, _LONGEST_WAIT)

    def _look_anew(self) -> None:
        budget = self._budget()
        is_under_way = self._look is not None and self._look[1] == budget
        if budget != self._told and not is_under_way:
            self._look = self._scheduler.look_for_shortfall(), budget
            self._look_on()

    def _look_on(self) -> None:
        if self._look is None:
            return
        look, budget = self._look
        ends_at = monotonic() + self._look_for
        try:
            next(look)
            while monotonic() < ends_at:
                next(look)
        except StopIteration as end:
            self._look = None
            short: Shortfall | None = end.value
            if short is not None and budget == self._budget():
                self._told = budget
                self._say(shortfall_words(short, budget, short.budget_per_day))
