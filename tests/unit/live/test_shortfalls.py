"""People are told once that hosts cannot take the budget."""

from pollwise.events import Added, HostPaced
from pollwise.live.loop import Progress
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
            self.scheduler, lambda: self.now, budget=lambda: self.budget, say=self.said.append
        )

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
