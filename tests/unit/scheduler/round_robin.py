"""A policy that takes the pages in turn, and a world around its scheduler."""

import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import settings

from pollwise.events import Command, Event, Poll, Polled, Tick, WakeAt
from pollwise.policies.base import StateDict
from pollwise.scheduler.scheduler import Scheduler
from pollwise.types import Budget, Observation, Outcome, Page, Selection

steady = settings(derandomize=True, deadline=None, max_examples=60)

UNCHANGED, CHANGED, GONE, FAILED = (
    Outcome.UNCHANGED,
    Outcome.CHANGED,
    Outcome.GONE,
    Outcome.FAILED,
)


class RoundRobin:
    """Polls the pages in turn, and minds that the scheduler keeps to the contract."""

    def __init__(self) -> None:
        self.turns: dict[int, int] = {}
        self.turn = itertools.count()
        self.waiting: set[int] = set()
        self.held: dict[int, float] = {}
        self.leased: set[int] = set()
        self.told: list[Observation] = []
        self.asked = 0
        self.deferred = 0
        self.latest = -math.inf

    def add(self, pages: Sequence[Page]) -> None:
        for page in pages:
            assert page.id not in {*self.waiting, *self.held, *self.leased}
            self.turns[page.id] = next(self.turn)
            self.waiting.add(page.id)

    def discard(self, page_ids: Sequence[int]) -> None:
        for page_id in page_ids:
            self.waiting.discard(page_id)
            self.leased.discard(page_id)
            self.held.pop(page_id, None)

    def select(self, now: float, limit: int) -> Selection:
        assert now >= self.latest
        self.latest = now
        self.asked += 1
        for page_id in [page_id for page_id, until in self.held.items() if until <= now]:
            del self.held[page_id]
            self.waiting.add(page_id)
        chosen = heapq.nsmallest(limit, self.waiting, key=self.turns.__getitem__)
        self.waiting.difference_update(chosen)
        self.leased.update(chosen)
        return Selection(np.array(chosen, np.int64), min(self.held.values(), default=math.inf))

    def observe(self, observations: Sequence[Observation]) -> None:
        for observation in observations:
            self.told.append(observation)
            if observation.page_id in self.leased:
                self.leased.remove(observation.page_id)
                self.turns[observation.page_id] = next(self.turn)
                self.waiting.add(observation.page_id)

    def defer(self, page_ids: Sequence[int], until: float) -> None:
        for page_id in page_ids:
            self.leased.remove(page_id)
            self.held[page_id] = until
            self.deferred += 1

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        return {}

    def load_state_dict(self, state: StateDict) -> None:
        assert not state


def pages(count: int, *, scope: str = "", cost: float = 1.0) -> tuple[Page, ...]:
    return tuple(Page(n, scope=scope, cost=cost) for n in range(count))


def observed(
    page_id: int, polled_at: float, outcome: Outcome = UNCHANGED, cost: float = 1.0
) -> Observation:
    return Observation(page_id, polled_at, outcome, cost=cost)


def polled(now: float, page_id: int, outcome: Outcome = UNCHANGED, cost: float = 1.0) -> Polled:
    return Polled(now, (observed(page_id, now, outcome, cost),))


def started(commands: list[Command]) -> list[int]:
    """The pages of the polls that start; checks the form of the commands."""
    *polls, last = commands
    assert isinstance(last, WakeAt)
    assert all(isinstance(poll, Poll) for poll in polls)
    return [poll.page_id for poll in polls if isinstance(poll, Poll)]


def wake_at(commands: list[Command]) -> float:
    last = commands[-1]
    assert isinstance(last, WakeAt)
    return last.time


def scheduler(rate: float = 1.0, burst: float = 1.0, **options: float) -> Scheduler:
    return Scheduler(RoundRobin(), Budget(rate, burst), **options)


def policy_of(some: Scheduler) -> RoundRobin:
    assert isinstance(some.policy, RoundRobin)
    return some.policy


@dataclass
class World:
    """Obeys a scheduler: answers polls after a while, or never, and sends the ticks asked for."""

    scheduler: Scheduler
    answer: Callable[[int, float], tuple[float, Outcome] | None]
    """Seconds and outcome of a poll of this page begun now; None: it is lost."""
    events: list[Event] = field(default_factory=list)
    commands: list[list[Command]] = field(default_factory=list)
    polls: list[tuple[float, int]] = field(default_factory=list)
    order: itertools.count = field(default_factory=itertools.count)
    coming: list[tuple[float, int, int, Outcome]] = field(default_factory=list)

    def send(self, event: Event) -> None:
        commands = self.scheduler.handle(event)
        self.events.append(event)
        self.commands.append(commands)
        for page_id in started(commands):
            self.polls.append((event.now, page_id))
            answer = self.answer(page_id, event.now)
            if answer is not None:
                seconds, outcome = answer
                entry = event.now + seconds, next(self.order), page_id, outcome
                heapq.heappush(self.coming, entry)

    def run(self, until: float, most_events: int = 20_000) -> None:
        for _ in range(most_events):
            wake = wake_at(self.commands[-1])
            end = self.coming[0][0] if self.coming else math.inf
            if min(wake, end) > until:
                return
            if end <= wake:
                _, _, page_id, outcome = heapq.heappop(self.coming)
                self.send(polled(end, page_id, outcome))
            else:
                assert wake > self.events[-1].now, "the scheduler goes round in circles"
                self.send(Tick(wake))
        raise AssertionError("too many events")


def assert_within_budget(times: Sequence[float], rate: float, burst: float) -> None:
    """No window of time holds more polls than its share and a burst."""
    for first, begin in enumerate(times):
        for count, end in enumerate(times[first:], start=1):
            assert count <= rate * (end - begin) + burst + 1e-9


def at_once(page_id: int, now: float) -> tuple[float, Outcome]:
    return 0.0, UNCHANGED


def never(page_id: int, now: float) -> None:
    return None


def times_of(world: World, page_id: int) -> list[float]:
    return [time for time, polled_id in world.polls if polled_id == page_id]
