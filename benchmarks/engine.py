"""How fast the engine is: polls per second simulated, decisions per second, bytes per page.

    python benchmarks/engine.py [--json]

All figures are of one core, for the policy bayes-index, with compiled code ready. "A decision" is
one page selected and its poll observed. Bytes per page are those of the policy's own arrays.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

from pollwise.policies.arrays import blank_observation, write_observation
from pollwise.policies.compiled import compiled_by_state, observe, select
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.state import IndexState
from pollwise.simulation.loop import simulate
from pollwise.simulation.worlds.zipf import Zipf
from pollwise.types import Page

SIZES = (500, 10_000, 100_000, 1_000_000)


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
    state: IndexState, observations: np.ndarray, rates: np.ndarray, begin: float, polls: int
) -> None:
    """One poll a second; changes are drawn when pages are polled."""
    for step in range(polls):
        now = begin + step
        page = select(state, now)
        elapsed = now - state.pages[page].seen_at
        changed = np.random.random() < -np.expm1(-rates[page] * elapsed)
        write_observation(observations[0], page, now, 1 if changed else 0)
        observe(state, observations[0])


def decisions(pages: int, polls: int = 200_000) -> dict[str, float]:
    """Decisions in the middle of a run, when every page has been polled about twice."""
    rng = np.random.default_rng(0)
    rates = 10.0 ** rng.uniform(-3, 1, pages) / pages
    policy = BayesianIndex()
    phases = -rng.random(pages) * pages
    policy.add([Page(i, seen_at=seen_at) for i, seen_at in enumerate(phases.tolist())])
    observations = blank_observation()
    run(policy.state, observations, rates, 0.0, 2 * pages)
    begin = time.thread_time()
    run(policy.state, observations, rates, 2.0 * pages, polls)
    spent = time.thread_time() - begin
    return {"pages": pages, "decisions_per_second": polls / spent, **size(policy.state)}


def size(state: IndexState) -> dict[str, float]:
    shared = state.shared.nbytes
    total = sum(array.nbytes for array in state) - shared
    return {"bytes_per_page": total / len(state.pages), "shared_bytes": shared}


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    results = {
        "simulated_polls_per_second": simulated_polls_per_second(),
        "decisions": [decisions(pages) for pages in SIZES],
    }
    if arguments.json:
        print(json.dumps(results, indent=2))
        return 0
    print(f"simulated, 500 pages: {results['simulated_polls_per_second']:,.0f} polls a second")
    for row in results["decisions"]:
        print(
            f"{row['pages']:>9,} pages: {row['decisions_per_second']:>9,.0f} decisions a second,"
            f" {row['bytes_per_page']:.0f} bytes a page"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
