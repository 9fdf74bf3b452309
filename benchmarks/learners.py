"""How fast the published learners are in the abstract environment, on one core.

    python benchmarks/learners.py [--json]

A poll selects a page, looks up its amount, and draws and learns its reward; code is compiled.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

from pollwise.policies.automata.htraa import HTRAA
from pollwise.policies.automata.lakg import LAKG
from pollwise.policies.base import Policy
from pollwise.policies.gpoks.gpoks import GPOKS, GPOKS_VARIANTS
from pollwise.simulation.worlds.stochastic_knapsack import StochasticKnapsack, play

ROUNDS = 5


def learner(name: str, pages: int) -> Policy:
    generator = np.random.default_rng(1)
    if name == "lakg":
        # Its least amount must be well below the uniform one.
        return LAKG(resolution=1_500 if pages <= 500 else 50_000)
    if name == "htraa":
        return HTRAA(generator=generator)
    return GPOKS(generator=generator, variant=name, resolution=max(100, 4 * pages))


def nanoseconds(name: str, pages: int, polls: int) -> float:
    """What a poll takes in the fastest of some rounds."""
    knapsack = StochasticKnapsack.ranked(pages=pages, alpha=0.9, beta=1.5)
    play(learner(name, pages), knapsack, polls=10, seed=0)
    spent = []
    for seed in range(ROUNDS):
        policy = learner(name, pages)
        begin = time.thread_time()
        play(policy, knapsack, polls=polls, seed=seed)
        spent.append(time.thread_time() - begin)
    return 1e9 * min(spent) / polls


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    cases = [(name, pages, 2_000_000) for name in ("lakg", "htraa") for pages in (500, 32_768)]
    cases += [(name, pages, 20_000) for name in GPOKS_VARIANTS for pages in (2, 8, 64)]
    results = [
        {"learner": name, "pages": pages, "nanoseconds": nanoseconds(name, pages, polls)}
        for name, pages, polls in cases
    ]
    if arguments.json:
        print(json.dumps(results, indent=2))
        return 0
    for row in results:
        print(
            f"{row['learner']:<8} {row['pages']:>6,} pages: {row['nanoseconds']:>9,.0f} ns a poll,"
            f" {1e9 / row['nanoseconds']:>10,.0f} polls a second"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
