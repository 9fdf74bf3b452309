"""How fast the engine is: polls per second simulated, decisions per second, bytes per page, growth.

    python benchmarks/engine.py [--pages N] [--growth N] [--json]

All figures are of one core, with compiled code ready: of the policy bayes-index and, for
comparison, of the schedules of Nutch and StormCrawler as rules (`pollwise.policies.rules`). "A
decision" is one page selected and its poll observed. Bytes per page are those of the policy's own
arrays. `--pages`: only decisions of bayes-index, with so many pages; the benchmark itself takes
another 16 bytes for each. `--growth`: only how long bayes-index lets polls wait at most while it is
given so many pages, 1,000 at a time.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pollwise.policies.arrays import blank_observation, write_observation
from pollwise.policies.borrowed import borrowed
from pollwise.policies.compiled import CompiledPolicy, compiled_by_state, observe, select
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.rules.nutch import Nutch
from pollwise.policies.rules.stormcrawler import StormCrawler
from pollwise.simulation.loop import simulate
from pollwise.simulation.worlds.zipf import Zipf
from pollwise.types import Observation, Outcome, Page

COMPARED: tuple[tuple[type[CompiledPolicy], tuple[int, ...]], ...] = (
    (BayesianIndex, (500, 10_000, 100_000, 1_000_000, 10_000_000)),
    (Nutch, (10_000, 1_000_000)),
    (StormCrawler, (10_000, 1_000_000)),
)
"""Policies, and for how many pages."""
GROWN = (100_000, 1_000_000, 10_000_000)
"""To how many pages the policy grows in `growth`."""
ADDED_AT_ONCE = 1_000_000
ROUNDS, LATER_ROUNDS = 2, 12
"""Polls of each page after which decisions are timed."""
WARMING_UP = 20_000_000
ADDED = 1_000
"""Pages that are taken up at a time in `growth`."""
PAGES_A_HOST = 10
TURNS = 3
"""Decisions after each time."""
NAMES = {BayesianIndex: "bayes-index", Nutch: "nutch", StormCrawler: "stormcrawler"}


def simulated_polls_per_second(polls: int = 200_000) -> float:
    world = Zipf(pages=500, alpha=0.9, beta=1.5)
    simulate(BayesianIndex(), world, polls=100, seed=0)
    begin = time.thread_time()
    world.reset(1, polls + 1.0)
    drawing = time.thread_time() - begin
    begin = time.thread_time()
    simulate(BayesianIndex(), world, polls=polls, seed=1)
    return polls / (time.thread_time() - begin - drawing)


@compiled_by_state
def run(
    state: Any,
    observations: np.ndarray,
    rates: np.ndarray,
    seen_at: np.ndarray,
    rng: np.random.Generator,
    begin: float,
    polls: int,
) -> None:
    """One poll a second; changes are drawn when pages are polled."""
    state, rng = borrowed((state, rng))
    for step in range(polls):
        now = begin + step
        page = select(state, now)
        changed = rng.random() < -np.expm1(-rates[page] * (now - seen_at[page]))
        seen_at[page] = now
        write_observation(observations[0], page, now, 1 if changed else 0)
        observe(state, observations[0])


class Decisions:
    """Decisions of a new policy about pages whose changes are drawn, one a second."""

    def __init__(self, kind: type[CompiledPolicy], pages: int) -> None:
        self._rng = np.random.default_rng(0)
        self._rates = 10.0 ** self._rng.uniform(-3, 1, pages) / pages
        self._seen_at = -self._rng.random(pages) * pages
        self._observations, self.polls = blank_observation(), 0
        self.policy = kind()
        for first in range(0, pages, ADDED_AT_ONCE):
            moments = self._seen_at[first : first + ADDED_AT_ONCE].tolist()
            self.policy.add([Page(i, seen_at=moment) for i, moment in enumerate(moments, first)])

    def go_on(self, polls: int) -> None:
        """Make so many more."""
        state, now = self.policy.state, float(self.polls)
        run(state, self._observations, self._rates, self._seen_at, self._rng, now, polls)
        self.polls += polls


def decisions(kind: type[CompiledPolicy], pages: int, polls: int = 200_000) -> dict[str, Any]:
    """Decisions in the middle of a run, when every page has been polled about twice, and later.

    Of very many pages, after so many polls as are `WARMING_UP` at most, or not at all (None).
    """
    made = Decisions(kind, pages)
    made.go_on(min(ROUNDS * pages, WARMING_UP))
    soon = per_second(made, polls)
    left, later = LATER_ROUNDS * pages - made.polls, None
    if made.polls + left <= WARMING_UP:
        made.go_on(max(left, 0))
        later = per_second(made, polls)
    return {
        "policy": NAMES[kind],
        "pages": pages,
        "decisions_per_second": soon,
        "later_decisions_per_second": later,
        **size(made.policy.state),
    }


def per_second(made: Decisions, polls: int) -> float:
    """How many decisions a second it makes, in so many more."""
    begin = time.thread_time()
    made.go_on(polls)
    return polls / (time.thread_time() - begin)


def growth(pages: int) -> dict[str, float]:
    """The longest CPU seconds of taking up 1,000 pages, and of a decision in between."""
    policy = BayesianIndex()
    policy.add([Page(0)])
    policy.select(0.0, 1)
    policy.observe([Observation(0, 0.0, Outcome.CHANGED)])
    longest = {"adding": 0.0, "deciding": 0.0}

    def timed(what: str, begin: float) -> None:
        longest[what] = max(longest[what], time.thread_time() - begin)

    for first in range(1, pages, ADDED):
        until = min(first + ADDED, pages)
        added = [Page(page, scope=str(page // PAGES_A_HOST)) for page in range(first, until)]
        begin = time.thread_time()
        policy.add(added)
        timed("adding", begin)
        for turn in range(TURNS):
            begin, now = time.thread_time(), first + ADDED * turn / TURNS
            chosen = policy.select(now, 1).page_ids.tolist()
            policy.observe([Observation(page, now, Outcome.CHANGED) for page in chosen])
            timed("deciding", begin)
    return {"pages": pages, **longest}


def all_decisions() -> list[dict[str, Any]]:
    """Those of all policies that are compared."""
    return [decisions(kind, pages) for kind, sizes in COMPARED for pages in sizes]


def all_growth() -> list[dict[str, float]]:
    """How it grows to each of these sizes."""
    return [growth(pages) for pages in GROWN]


def size(state: Any) -> dict[str, float]:
    """Bytes of the arrays of a state: those of one element belong to all pages."""
    # Two heaps may share one array; a long one has room beyond all pages, of addresses alone.
    arrays = list({id(owner_of(array)): array for array in arrays_of(state)}.values())
    room = len(state.pages) + 2
    shared = sum(array.nbytes for array in arrays if len(array) == 1)
    total = sum(array[:room].nbytes for array in arrays)
    return {"bytes_per_page": (total - shared) / len(state.pages), "shared_bytes": shared}


def owner_of(array: np.ndarray) -> np.ndarray:
    """The array that has the memory of this one."""
    return array if array.base is None else array.base


def arrays_of(state: Any) -> Iterator[np.ndarray]:
    for part in state:
        if isinstance(part, np.ndarray):
            yield part
        else:
            yield from arrays_of(part)


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("--pages", type=int)
    parser.add_argument("--growth", type=int)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    results: dict[str, Any]
    if arguments.growth is not None:
        results = {"decisions": [], "growth": [growth(arguments.growth)]}
    elif arguments.pages is not None:
        results = {"decisions": [decisions(BayesianIndex, arguments.pages)]}
    else:
        results = {
            "simulated_polls_per_second": simulated_polls_per_second(),
            "decisions": all_decisions(),
            "growth": all_growth(),
        }
    if arguments.json:
        print(json.dumps(results, indent=2))
        return 0
    if "simulated_polls_per_second" in results:
        print(f"simulated, 500 pages: {results['simulated_polls_per_second']:,.0f} polls a second")
    for row in results["decisions"]:
        print(
            f"{row['policy']:<12} {row['pages']:>9,} pages:"
            f" {row['decisions_per_second']:>9,.0f} decisions a second,"
            f" {row['later_decisions_per_second'] or math.nan:>9,.0f} later,"
            f" {row['bytes_per_page']:.0f} bytes a page"
        )
    for row in results.get("growth", []):
        print(
            f"up to {row['pages']:,} pages: taking up {ADDED:,} took at most"
            f" {1e3 * row['adding']:.1f} ms, a decision {1e3 * row['deciding']:.1f} ms"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
