"""The demonstration as a whole: what two schedules did over HTTP, and what others would have done.

The others are simulated on the same changes: the rule of many crawlers, the learned schedule with
another objective, and one that is told how often each page changes. For each schedule it is also
computed how many requests polling every page alike would need to be as quick: `uniform` is
simulated with ever more polls, to see with how many its mean delay is that of the schedule.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pollwise.live.demo import Watcher, run_demo
from pollwise.live.demo_watcher import BUDGET
from pollwise.metrics import TALLIED, Changes, Polls, ratios, tally
from pollwise.objectives import objective
from pollwise.policies.catalogue import WATCHING, Setting
from pollwise.scheduler.budgets import parse_budget
from pollwise.settings import WatchSettings
from pollwise.simulation.loop import simulate
from pollwise.simulation.recorded.example import history_of
from pollwise.simulation.recorded.replay import Replay
from pollwise.testing.timelapse import TimeLapse
from pollwise.types import Budget
from pollwise.units import DAY

__all__ = ["DemoFigures", "DemoSchedule", "Demonstration", "demonstrate"]

Floats = NDArray[np.float64]

_SIMULATED = (
    ("bayes-index", "delay"),
    ("stormcrawler", WatchSettings().objective),
    ("whittle", WatchSettings().objective),
)
"""Policy and objective."""
_FACTORS = 2.0 ** (np.arange(-16, 33) / 8)
"""How many times the polls uniform is simulated with: a quarter to 16, in steps of 9 %."""
_FAST = 1 / DAY
"""Changes per second: pages that change more often than daily are fast."""


@dataclass(frozen=True, slots=True)
class DemoFigures:
    """How well pages were watched.

    `found` changes of `changes`, which is the share `seen`; `delay_days`: mean time from a change
    to the poll that found it; `freshness`: mean share of time in which a copy equalled the page.
    `uniform_needs`: how many times the polls `uniform` needs for the same mean delay.
    """

    found: int
    changes: int
    seen: float
    delay_days: float
    freshness: float
    uniform_needs: float


@dataclass(frozen=True, slots=True)
class DemoSchedule:
    """A schedule and its figures, for all pages and for those that are not fast.

    `requests`: on the wire, robots.txt included; None: it was simulated.
    """

    policy: str
    objective: str
    polls: int
    requests: int | None
    all_pages: DemoFigures
    without_fast: DemoFigures


@dataclass(frozen=True, slots=True)
class Demonstration:
    """What schedules made of `budget`.

    Of so many `pages` so many are `fast` (they changed more often than daily) and so many `never`
    changed.
    """

    pages: int
    fast: int
    never: int
    budget: str
    results: tuple[DemoSchedule, ...]


def demonstrate(
    timelapse: TimeLapse,
    on_progress: Callable[[Mapping[str, Watcher]], None],
    *,
    report: Callable[[str], None] = lambda text: None,
    seconds: float | None = None,
) -> tuple[Demonstration, list[Watcher]]:
    """Watch the time-lapse, simulate the other schedules, and compare.

    `report` is told when the watchers are done; the others: see `run_demo`.
    """
    watchers = run_demo(timelapse, on_progress, seconds=seconds)
    report("the year is over: simulating other schedules on the same changes")
    scores = _Scores(history_of(timelapse).with_copies())
    aim = WatchSettings().objective
    watched = [scores.watched(each, aim) for each in watchers]
    simulated = [scores.simulated(policy, of) for policy, of in _SIMULATED]
    counts = np.diff(scores.changes.offsets)
    demonstration = Demonstration(
        pages=len(counts),
        fast=int(np.count_nonzero(scores.is_fast)),
        never=int(np.count_nonzero(counts == 0)),
        budget=BUDGET,
        results=(*watched, *simulated),
    )
    return demonstration, watchers


class _Scores:
    """Scores polls of a history whose pages have copies from the beginning on."""

    def __init__(self, world: Replay) -> None:
        world.reset(0)
        self._world = world
        self.changes: Changes = world.changes
        rates = np.array(list(world.rates.values()))
        self.is_fast = rates > _FAST
        self._budget = parse_budget(BUDGET).total(len(rates))
        # The more polls the shorter the delay, but for chance.
        tallies = [self._tally(self._polls("uniform", "freshness", f)) for f in _FACTORS]
        self._delays = {
            fast: np.minimum.accumulate([_ratios(self._sum(t, fast))["delay"] for t in tallies])
            for fast in (True, False)
        }

    def watched(self, watcher: Watcher, aim: str) -> DemoSchedule:
        """What a watcher did. A change counts as found if its polls told so."""
        table = self._tally(watcher.answered())
        found = [poll.page for poll in watcher.polls if poll.found]
        table[:, TALLIED.index("found")] = np.bincount(found, minlength=len(table))
        figures = [self._figures(table, fast) for fast in (True, False)]
        return DemoSchedule(watcher.policy, aim, len(watcher.polls), watcher.requests, *figures)

    def simulated(self, policy: str, aim: str) -> DemoSchedule:
        """A schedule with the budget of the watchers."""
        polls = self._polls(policy, aim, 1.0)
        table = self._tally(polls)
        figures = [self._figures(table, fast) for fast in (True, False)]
        return DemoSchedule(policy, aim, len(polls), None, *figures)

    def _polls(self, policy: str, aim: str, factor: float) -> Polls:
        pages, rate = len(self._world.pages), self._budget * factor
        setting = Setting(objective(aim), rate, pages, self._world.rates)
        made = WATCHING.choose(policy).make(setting)
        return simulate(made, self._world, seed=0, budget=Budget(rate))

    def _tally(self, polls: Polls) -> Floats:
        world = self._world
        seen_at = np.full(len(world.pages), world.begin)
        return tally(polls, self.changes, begin=world.begin, end=world.end, seen_at=seen_at)

    def _sum(self, table: Floats, with_fast: bool) -> Floats:
        sums: Floats = table[with_fast | ~self.is_fast].sum(axis=0)
        return sums

    def _figures(self, table: Floats, with_fast: bool) -> DemoFigures:
        sums = self._sum(table, with_fast)
        counts = dict(zip(TALLIED, sums.tolist(), strict=True))
        found = _ratios(sums)
        # Interpolated on the logarithms, as the delay is about inverse to the polls.
        needs = np.interp(
            -np.log(found["delay"]), -np.log(self._delays[with_fast]), np.log(_FACTORS)
        )
        return DemoFigures(
            found=int(counts["found"]),
            changes=int(counts["changes"]),
            seen=found["captured"],
            delay_days=found["delay"] / DAY,
            freshness=found["freshness"],
            uniform_needs=float(np.exp(needs)),
        )


def _ratios(sums: Floats) -> dict[str, float]:
    return {name: float(value) for name, value in ratios(sums).items()}
