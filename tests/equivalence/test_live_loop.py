"""The loop of the live web under a made-up clock: as in the simulator, and as in its own log."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from pollwise.events import Command, Event, HostBlocked, Poll, Polled, Unanswered
from pollwise.live.journal import rerun
from pollwise.live.loop import run
from pollwise.live.session import Session
from pollwise.objectives import Detection, Freshness
from pollwise.policies.base import Policy
from pollwise.policies.catalogue import WATCHING, Setting
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.scheduler.scheduler import Scheduler
from pollwise.settings import WatchSettings
from pollwise.simulation.loop import simulate
from pollwise.simulation.worlds.zipf import Zipf
from pollwise.store import Store
from pollwise.store.records import (
    NewPage,
    PollResult,
)
from pollwise.testing.fake_clock import FakeClock
from pollwise.types import Budget, Observation, Outcome, Page, PageMemory
from pollwise.watched_pages import Watched
from pollwise.web.poll_reports import PollReport

TWO_PAGE_POLICIES = ("ucb1", "ucb1-raw", "ts", "gp-ucb")

POLLS = 500


class WorldPoller:
    """Polls a simulated world, at once."""

    def __init__(self, world: Zipf, clock: FakeClock) -> None:
        self.world, self.clock = world, clock
        self.polled: list[tuple[int, float]] = []

    async def poll(self, page: Page, memory: PageMemory) -> PollReport:
        now = self.clock()
        self.polled.append((page.id, now))
        [observation] = self.world.poll([page.id], now)
        return PollReport(PollResult(observation, memory))


async def no_record(progress: object) -> None:
    pass


@pytest.mark.parametrize("name", WATCHING.names)
async def test_serve_polls_as_simulate_does(name):
    pages = 2 if name in TWO_PAGE_POLICIES else 40
    world = Zipf(pages=pages, alpha=0.5, beta=1.0)
    world.reset(seed=6, duration=POLLS + 1.0)
    setting = Setting(Detection(), budget=1.0, pages=pages, rates=world.rates)
    simulated = simulate(WATCHING.choose(name).make(setting), world, polls=POLLS, seed=6)

    world.reset(seed=6, duration=POLLS + 1.0)
    clock, stop = FakeClock(), asyncio.Event()
    end = POLLS - 0.5
    clock.stop_at(end, stop)
    poller = WorldPoller(world, clock)
    scheduler = Scheduler(WATCHING.choose(name).make(setting), Budget(1.0))
    scheduler.restore(world.pages, None)
    await run(
        scheduler,
        poller,
        watched={page.id: Watched(page, PageMemory()) for page in world.pages},
        clock=clock,
        record=no_record,
        stop=stop,
    )
    expected = zip(simulated.page_ids.tolist(), simulated.times.tolist(), strict=True)
    assert poller.polled == [(page_id, time) for page_id, time in expected if time < end]
    assert len(poller.polled) > 400


class Troubled(WorldPoller):
    """Polls take seconds; some fail, some hosts ask for a rest, some servers date the change.

    `silent`: others that fail had no answer.
    """

    def __init__(self, world: Zipf, clock: FakeClock, *, silent: bool) -> None:
        super().__init__(world, clock)
        self.silent = silent

    async def poll(self, page: Page, memory: PageMemory) -> PollReport:
        number, begun_at = len(self.polled), self.clock()
        self.polled.append((page.id, begun_at))
        await self.clock.sleep(number % 4)
        now = self.clock()
        if number % 13 == 0:
            outcome = (Outcome.FAILED, Outcome.GONE, Outcome.POSTPONED)[number // 13 % 3]
            blocked = HostBlocked(now, page.scope, now + 20.0)
            others = (Unanswered(now, page.id),) if self.silent else ()
            notices = (blocked,) if number % 26 == 0 else others
            return PollReport(
                PollResult(Observation(page.id, now, outcome), memory), notices=notices
            )
        [observation] = self.world.poll([page.id], now)
        changed_at = now - 0.5 if observation.outcome and page.id % 3 == 0 else None
        cost = 1.0 if observation.outcome else 0.25
        observation = Observation(page.id, now, observation.outcome, changed_at, cost=cost)
        return PollReport(PollResult(observation, PageMemory(etag=str(number))))


class Recorder(Scheduler):
    """Keeps what it was told and what it said."""

    def __init__(self, *args, **options) -> None:
        super().__init__(*args, **options)
        self.told: list[Event] = []
        self.said: list[list[Command]] = []

    def handle(self, event: Event) -> list[Command]:
        commands = super().handle(event)
        if isinstance(event, Polled):
            self.learned = self.policy.state_dict()
        self.told.append(event)
        self.said.append(commands)
        return commands


MAKERS: dict[str, Callable[[], Policy]] = {
    "bayes-index": BayesianIndex,
    "bayes-index for freshness": lambda: BayesianIndex(objective=Freshness()),
    **{
        name: lambda name=name: WATCHING.choose(name).make(
            Setting(Detection(), budget=0.5, pages=30)
        )
        for name in ("fixed", "uniform")
    },
}


class Runs:
    """Runs of `watch` on one store and one world, one after the other."""

    def __init__(self, store: Store, make: Callable[[], Policy]) -> None:
        self.store, self.make = store, make
        self.world = Zipf(pages=30, alpha=0.3, beta=0.5)
        self.world.reset(seed=2, duration=10_000.0)
        store.add_pages(
            [NewPage(page.url, f"{page.id % 5}.example") for page in self.world.pages], now=0.0
        )

    async def watch(self, begin: float, end: float, *, silent: bool = False) -> Recorder:
        clock, stop = FakeClock(begin), asyncio.Event()
        clock.stop_at(end, stop)
        scheduler = Recorder(self.make(), Budget(0.5))
        poller = Troubled(self.world, clock, silent=silent)
        session = Session(self.store, WatchSettings(), clock=clock, say=print, scheduler=scheduler)
        await session.run(poller, stop, on_progress=lambda *_: None)
        return scheduler

    def rerun(self) -> tuple[list[Event], list[list[Command]]]:
        """The events of the latest run, and what a new scheduler says to them."""
        run_id = self.store.runs()[-1].id
        events = list(self.store.events(run_id))
        fresh = Scheduler(self.make(), Budget(0.5))
        return events, rerun(fresh, self.store.initial_state(run_id), events)


@pytest.fixture(params=MAKERS)
def runs(request, tmp_path: Path):
    with Store.open(tmp_path / "pollwise.db") as store:
        yield Runs(store, MAKERS[request.param])


async def test_a_log_gives_the_commands_again_also_of_a_run_that_went_on(runs):
    outcomes, kinds = set(), set()
    for begin, end in ((100.0, 400.0), (460.0, 700.0), (700.0, 1000.0)):
        live = await runs.watch(begin, end, silent=True)
        events, commands = runs.rerun()
        assert events == live.told
        assert commands == live.said
        polls = [c for said in live.said for c in said if isinstance(c, Poll)]
        assert len(polls) > 80
        told = [o for event in events if isinstance(event, Polled) for o in event.observations]
        outcomes.update(observation.outcome for observation in told)
        kinds.update(map(type, events))
    assert outcomes == set(Outcome)
    assert {HostBlocked, Unanswered} <= kinds


async def test_the_next_run_begins_with_what_the_last_one_learned(runs):
    """As of the latest poll that was observed; polls under way at the end are forgotten."""
    learned = (await runs.watch(100.0, 600.0)).learned
    after = Scheduler(runs.make(), Budget(0.5))
    await runs.watch(600.0, 600.5)
    run_id = runs.store.runs()[-1].id
    rerun(after, runs.store.initial_state(run_id), [])
    loaded = after.policy.state_dict()
    assert loaded.keys() == learned.keys()
    rows = [state["page_ids"].argsort() for state in (learned, loaded)]
    for name in learned:
        own, other = learned[name], loaded[name]
        if name.startswith("page"):
            own, other = own[rows[0]], other[rows[1]]
        assert own.tobytes() == other.tobytes(), name
