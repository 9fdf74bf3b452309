"""The default policy on random halves of the pages of a history, to compare two versions of it.

    python benchmarks/halves.py TRACES --history curlwww --budget 0.05 --objective delay
        [--halves 6] [--dated] [--against FILE]

One replay of a history is noisy: a change of .1 % in what is believed moves the delay by several
per cent. The same halves with another version tell more. Each line of JSON is a half, with the
figure of the objective after 15 % of the time; --against names the lines of another version, and
prints by how much the cost (delay, age, what was not fresh) or the shortfall of detection is more
than there, with its standard error.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from results import OURS, Corpus
from worlds import COSTS, FIGURES, HISTORIES

from pollwise.metrics import Changes, ratios, tally
from pollwise.objectives import objective
from pollwise.policies.catalogue import WATCHING, Setting
from pollwise.scheduler.budgets import parse_budget
from pollwise.simulation.compare.replays import limit_of
from pollwise.simulation.loop import simulate
from pollwise.simulation.recorded.replay import Replay

WARM_UP = 0.15


def half_of(world: Replay, seed: int) -> Replay:
    """A world of half of the pages."""
    pages, changes = world.pages, world.changes
    drawn = np.random.default_rng(seed).permutation(len(pages))[: len(pages) // 2]
    taken = np.sort(drawn).tolist()
    times = [changes.of_page(page) for page in taken]
    part = Changes.of(times, changes.born[taken], changes.died[taken])
    named = [replace(pages[page], id=number) for number, page in enumerate(taken)]
    return Replay._of(named, part, world.end, world.tells_last_changed)


def figure(world: Replay, budget: str, aim: str) -> float:
    """What bayes-index reaches."""
    world.reset(0)
    rate, pages = parse_budget(f"{budget}/day/page"), len(world.pages)
    setting = Setting(objective(aim), budget=rate.total(pages), pages=pages, rates=world.rates)
    made = WATCHING.choose(OURS).make(setting)
    polls = simulate(made, world, seed=0, budget=limit_of(rate))
    begin = world.begin + WARM_UP * (world.end - world.begin)
    rows = tally(polls, world.changes, begin=begin, end=world.end)
    return float(ratios(rows.sum(axis=0))[FIGURES[aim]])


def more(aim: str, now: float, before: float) -> float:
    """The share by which the cost is more than before."""
    if aim in COSTS:
        return now / before - 1.0
    return before / now - 1.0 if aim == "detection" else (1.0 - now) / (1.0 - before) - 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("traces", type=Path)
    parser.add_argument("--history", required=True)
    parser.add_argument("--budget", default="0.05")
    parser.add_argument("--objective", default="delay", choices=list(FIGURES))
    parser.add_argument("--halves", type=int, default=6)
    parser.add_argument("--dated", action="store_true")
    parser.add_argument("--against", type=Path)
    asked = parser.parse_args()
    known = {corpus.name: corpus for corpus in HISTORIES}
    named = Corpus(asked.history, f"{asked.history}.parquet", "")
    world = known.get(asked.history, named).read(asked.traces)
    world.tells_last_changed = asked.dated
    world.reset(0)
    found = []
    for seed in range(asked.halves):
        found.append(figure(half_of(world, seed), asked.budget, asked.objective))
        print(json.dumps({"half": seed, asked.objective: found[-1]}), flush=True)
    if asked.against is not None:
        lines = asked.against.read_text().splitlines()[: asked.halves]
        before = [json.loads(line)[asked.objective] for line in lines]
        shares = [more(asked.objective, *pair) for pair in zip(found, before, strict=True)]
        error = float(np.std(shares, ddof=1)) / len(shares) ** 0.5
        print(f"{np.mean(shares):+.1%} ± {error:.1%}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
