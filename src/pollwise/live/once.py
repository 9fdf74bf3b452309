"""`pollwise watch --once`: how much one call may spend, and when it is over."""

import math
from collections.abc import Awaitable, Callable, Iterable

from pollwise.events import SavedUp
from pollwise.live.clock import Clock
from pollwise.live.progress import Progress
from pollwise.scheduler.scheduler import Scheduler
from pollwise.types import Page

__all__ = ["Once"]

_MANY = 1_000_000
_PATIENCE = 60.0
"""Seconds that a call waits for a host, or for a page that is due soon."""
_SILENT = 5.0
"""Seconds that it waits without a word."""


class Once:
    """Spends what the budget allowed since the last run ended, at most one poll of every page.

    First copies go at their own rate besides; where the budget holds for them too, it allows as
    many as wait. None begins in the first turn, which takes in what has waited for the call, such
    as signals. `scheduler` has been restored and has had no event yet. `say` is told of a wait.
    `staffed` gives how many polls may be under way (None: any number).
    """

    def __init__(
        self,
        scheduler: Scheduler,
        pages: Iterable[Page],
        clock: Clock,
        say: Callable[[str], None],
        staffed: Callable[[], int] | None = None,
    ) -> None:
        self._scheduler = scheduler
        self._clock = clock
        self._say = say
        self._staffed = staffed
        self._waits_until = -math.inf
        self._is_first_turn = True
        self._spent = 0.0
        wanted = [page for page in pages if not page.paused]
        now, rate = clock(), scheduler.budget.rate
        # What was not used before the last run ended is lost, and what it owes is paid first.
        since = max(scheduler.budget_free_at, scheduler.saved_at)
        saved = (now - since) * rate + 1.0 if math.isfinite(since) else 1.0
        if scheduler.first_copies_wait_for_budget:
            saved = max(saved, sum(page.cost for page in wanted if page.seen_at is None))
        self._allowed = min(saved, sum(page.cost for page in wanted))
        # One poll may begin at once in any case.
        self.event = SavedUp(now, max(self._allowed - 1.0, 0.0) / rate)
        """To be told to the scheduler in the first turn."""

    def recording(
        self, record: Callable[[Progress], Awaitable[None]]
    ) -> Callable[[Progress], Awaitable[None]]:
        """Counts the polls of a turn before it is recorded."""

        def counted(turn: Progress) -> Awaitable[None]:
            self._spent += sum(
                report.result.observation.cost
                for report in turn.reports
                if report.result.observation.page_id not in turn.first_copies
            )
            return record(turn)

        return counted

    def staff(self) -> int:
        """How many polls may be under way now; none when all is spent."""
        if self._is_first_turn or self.is_spent():
            return 0
        return _MANY if self._staffed is None else self._staffed()

    def is_spent(self) -> bool:
        """Whether no poll is to begin any more."""
        now = self._clock()
        is_spent = self._spent >= self._allowed or self._scheduler.budget_free_at > now
        return is_spent and self._scheduler.first_copy_at > now + _PATIENCE

    def is_over(self, wake_at: float) -> bool:
        """While no poll is under way, whether none will be before long.

        `wake_at` is when the scheduler wants to be asked again (UTC seconds).
        """
        was_first_turn, self._is_first_turn = self._is_first_turn, False
        if was_first_turn and self.staff() > 0:
            return False
        wait = wake_at - self._clock()
        if self.is_spent() or wait > _PATIENCE:
            return True
        if wait > _SILENT and wake_at > self._waits_until:
            self._waits_until = wake_at
            self._say(f"waiting {wait:.0f} s, until a host is free or a page may be polled again")
        return False
