"""The default policy in worlds of many pages, to compare two versions of it.

    python benchmarks/many_pages.py [--pages 10000] [--rounds 10] [--first 0] [--worlds 8]
        [--against FILE]

Histories are recorded of few thousand pages at most, and some of what the queue does is for more.
Here pages change as Poisson processes, with rates spread evenly in their logarithm from .001 to 10
changes a round, in which there is a poll for each page. Each line of JSON is a world and an
objective, with its figure in the second and third round, and in the later ones. --against names the
lines of another version, and prints by how much the cost (delay, age, what was not fresh) or the
shortfall of detection is more than there, with its standard error.
"""

import argparse
import json
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
from halves import more
from worlds import FIGURES

from pollwise.metrics import Changes, ratios, tally
from pollwise.objectives import objective
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.simulation.loop import simulate
from pollwise.simulation.recorded.replay import Replay
from pollwise.types import Page

SLOWEST, FASTEST = -3.0, 1.0
"""Powers of ten of the changes in a round."""
PARTS = (1, 3)
"""Rounds with which the two parts begin."""


def world_of(pages: int, rounds: int, seed: int) -> Replay:
    """A world in which there is a poll a second."""
    generator, end = np.random.default_rng(seed), float(rounds * pages)
    counts = generator.poisson(10.0 ** generator.uniform(SLOWEST, FASTEST, pages) * rounds)
    times = [np.sort(generator.uniform(0.0, end, count)) for count in counts]
    changes = Changes.of(times, np.zeros(pages), np.full(pages, np.inf))
    return Replay._of([Page(n, url=f"page-{n}") for n in range(pages)], changes, end, False)


def figures(world: Replay, pages: int, rounds: int, aim: str) -> list[float]:
    """What the policy reaches in either part."""
    world.reset(0)
    polls = simulate(BayesianIndex(objective=objective(aim)), world, polls=rounds * pages, seed=0)
    times = [float(pages * begin) for begin in (*PARTS, rounds)]
    rows = [tally(polls, world.changes, begin=a, end=b).sum(axis=0) for a, b in pairwise(times)]
    return [float(ratios(row)[FIGURES[aim]]) for row in rows]


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--worlds", type=int, default=8)
    parser.add_argument("--against", type=Path)
    asked = parser.parse_args()
    lines = [] if asked.against is None else asked.against.read_text().splitlines()
    before = {(one["world"], one["objective"]): one["figures"] for one in map(json.loads, lines)}
    costs: dict[str, list[list[float]]] = {aim: [] for aim in FIGURES}
    for seed in range(asked.first, asked.first + asked.worlds):
        world = world_of(asked.pages, asked.rounds, seed)
        for aim in FIGURES:
            found = figures(world, asked.pages, asked.rounds, aim)
            print(json.dumps({"world": seed, "objective": aim, "figures": found}), flush=True)
            if old := before.get((seed, aim)):
                costs[aim].append([more(aim, *pair) for pair in zip(found, old, strict=True)])
    for aim, rows in costs.items():
        if rows:
            errors = np.std(rows, axis=0, ddof=1) / len(rows) ** 0.5
            told = zip(np.mean(rows, axis=0), errors, strict=True)
            said = ", then ".join(f"{mean:+.2%} ± {error:.2%}" for mean, error in told)
            print(f"{aim}: {said}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
