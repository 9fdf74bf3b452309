"""Whether a share of uniform polls helps the default policy.

    python benchmarks/mixing.py TRACES [--history NAME ...] [--budget 0.05 ...]
        [--share 0.1 0.3] [--starts 4]

A policy that is unsure might poll in turn now and then, whatever it believes. Here that share of
the polls goes to the page that was polled the longest ago, drawn by chance, and `bayes-index`
learns from them as from its own. Figures are those of `worlds.py` after 15 % of the time, added up
over its starts; delays are in days.
"""

import argparse
import heapq
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from results import OURS
from worlds import COSTS, FIGURES, HISTORIES, PARTS, started

from pollwise.metrics import ratios, tally
from pollwise.objectives import objective
from pollwise.policies.base import Policy, StateDict
from pollwise.policies.catalogue import WATCHING, Setting
from pollwise.scheduler.budgets import BudgetText, parse_budget
from pollwise.simulation.compare.replays import limit_of
from pollwise.simulation.loop import simulate
from pollwise.simulation.recorded.replay import Replay
from pollwise.types import Observation, Page, Selection

_DAY = 86_400.0
AFTER = next(iter(PARTS.values()))
"""The shares of the time between which polls count."""


class Mixed:
    """A policy of which a share of the polls goes to the page polled the longest ago."""

    def __init__(self, policy: Policy, share: float, generator: np.random.Generator) -> None:
        self._policy, self._share, self._generator = policy, share, generator
        self._polled_at: dict[int, float] = {}
        self._queue: list[tuple[float, int]] = []

    def add(self, pages: Sequence[Page]) -> None:
        """See `Policy`; pages without a poll are left to the policy."""
        self._policy.add(pages)

    def discard(self, page_ids: Sequence[int]) -> None:
        """See `Policy`."""
        self._policy.discard(page_ids)
        for page_id in page_ids:
            self._polled_at.pop(page_id, None)

    def select(self, now: float, limit: int) -> Selection:
        """See `Policy`; what is polled in turn is not leased, which the simulator does not need."""
        if self._generator.random() < self._share:
            while self._queue:
                polled_at, page_id = self._queue[0]
                if self._polled_at.get(page_id) == polled_at:
                    return Selection(np.array([page_id]))
                heapq.heappop(self._queue)
        return self._policy.select(now, limit)

    def observe(self, observations: Sequence[Observation]) -> None:
        """See `Policy`."""
        for one in observations:
            self._polled_at[one.page_id] = one.polled_at
            heapq.heappush(self._queue, (one.polled_at, one.page_id))
        self._policy.observe(observations)

    def defer(self, page_ids: Sequence[int], until: float) -> None:
        """See `Policy`."""
        self._policy.defer(page_ids, until)

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """See `Policy`."""
        return self._policy.state_dict(page_ids)

    def load_state_dict(self, state: StateDict) -> None:
        """See `Policy`."""
        self._policy.load_state_dict(state)


def measured(whole: Replay, budget: BudgetText, aim: str, share: float, starts: int) -> float:
    """The figure of an objective, over all starts."""
    rows = []
    for start, world in enumerate(started(whole, budget.total(1), starts)):
        pages = len(world.pages)
        setting = Setting(objective(aim), budget=budget.total(pages), pages=pages, rates={})
        mixed = Mixed(WATCHING.choose(OURS).make(setting), share, np.random.default_rng(start))
        polls = simulate(mixed, world, seed=0, budget=limit_of(budget))
        begin, end = (world.begin + part * (world.end - world.begin) for part in AFTER)
        rows.append(tally(polls, world.changes, begin=begin, end=end).sum(axis=0))
    figure = float(ratios(np.sum(rows, axis=0))[FIGURES[aim]])
    return figure / _DAY if aim in COSTS else figure


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("traces", type=Path)
    parser.add_argument("--history", nargs="+", default=["topnews", "opendata", "endoflife"])
    parser.add_argument("--budget", nargs="+", default=["0.05"])
    parser.add_argument("--share", nargs="+", type=float, default=[0.1, 0.3])
    parser.add_argument("--starts", type=int, default=4)
    asked = parser.parse_args()
    known = {one.name: one for one in HISTORIES}
    shares = [0.0, *asked.share]
    print("history", "dates", "budget", "objective", *(f"share {share:g}" for share in shares))
    for name, dates in itertools.product(asked.history, ("", "told")):
        whole = known[name].read(asked.traces)
        whole.tells_last_changed = bool(dates)
        whole.reset(0)
        for text, aim in itertools.product(asked.budget, FIGURES):
            budget = parse_budget(f"{text}/day/page")
            found = [measured(whole, budget, aim, share, asked.starts) for share in shares]
            print(name, dates or "-", text, aim, *(f"{one:.4g}" for one in found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
