"""People are told once that hosts cannot take the budget."""

from pollwise.events import Added, HostPaced, Removed
from pollwise.live.progress import Progress
from pollwise.live.shortfalls import ShortfallTeller
from pollwise.policies.awaited import AwaitedPolicy
from pollwise.scheduler.scheduler import Scheduler
from pollwise.types import Budget, Page


class Telling:
    """A teller, what it said, and the time."""

    def __init__(self, rate: float) -> None:
        self.now, self.budget, self.said = 0.0, "a budget", []
        self.scheduler = Scheduler(AwaitedPolicy(), Budget(rate), crawl_delay=1.0)
        self.scheduler.handle(Added(0.0, (Page(0, scope="h", seen_at=0.0),)))
        self._teller = ShortfallTeller(
            self.scheduler,
            lambda: self.now,
            budget=lambda: self.budget,
            say=self.said.append,
            look_for=0.0,
        )

    def look_at_many(self, pages: int) -> list[int]:
        """Let there be so many pages, all of one host; gets the pages looked at."""
        added = tuple(Page(n, scope="h", seen_at=0.0) for n in range(1, pages))
        self.scheduler.handle(Added(0.0, added))
        looked_at: list[int] = []
        is_paused = self.scheduler.bounds.is_paused

        def counted(page_id: int) -> bool:
            looked_at.append(page_id)
            return is_paused(page_id)

        self.scheduler.bounds.is_paused = counted
        return looked_at

    def at(self, now: float) -> int:
        """How often something was said by then."""
        self.now = now
        self._teller.note(Progress((), ()))
        return len(self.said)


def test_it_is_told_at_the_start_and_but_once():
    telling = Telling(rate=2.0)
    assert [telling.at(now) for now in (0.0, 11.0, 1000.0, 1e5)] == [1, 1, 1, 1]
    assert "50 % of the budget of a budget; a larger" in telling.said[0]


def test_it_is_told_when_it_turns_out():
    telling = Telling(rate=0.5)
    assert telling.at(0.0) == 0
    telling.scheduler.handle(HostPaced(1.0, "h", 4.0))
    assert [telling.at(now) for now in (2.0, 9.0, 11.0)] == [0, 0, 1]


def test_another_budget_is_told_of_again():
    telling = Telling(rate=2.0)
    assert telling.at(0.0) == 1
    telling.scheduler.change_budget(Budget(4.0))
    telling.budget = "a larger one"
    assert telling.at(11.0) == 2
    assert "25 % of the budget of a larger one" in telling.said[1]


def test_of_very_many_pages_a_turn_looks_at_some():
    telling = Telling(rate=2.0)
    looked_at = telling.look_at_many(3500)
    counts = []
    for turn in range(3):
        assert telling.at(20.0 * turn) == 0
        counts.append(len(looked_at))
    telling.scheduler.handle(Removed(50.0, (3400,)))
    assert telling.at(60.0) == 1
    assert counts == [1000, 2000, 3000]
    assert looked_at == [*range(3400), *range(3401, 3500)]
    assert "50 % of the budget of a budget; a larger" in telling.said[0]


def test_a_look_is_of_no_use_for_another_budget():
    telling = Telling(rate=2.0)
    telling.look_at_many(1500)
    assert telling.at(0.0) == 0
    telling.scheduler.change_budget(Budget(4.0))
    telling.budget = "a larger one"
    assert [telling.at(now) for now in (1.0, 11.0, 12.0)] == [0, 0, 1]
    assert "25 % of the budget of a larger one" in telling.said[0]
