"""What signals of change are worth: true ones, those of which many are false, and lying ones.

    python benchmarks/signals.py HISTORY [--budget 0.1] [--draws 3] [--objective freshness]

HISTORY is a time-lapse such as `web.jsonl.xz`, or a table of changes as for `pollwise replay`. The
default policy of `pollwise watch` polls all pages at so many polls a page and day. A sitemap tells
of changes as they happen; the kinds of signals are named by how many of the changes they tell
(recall) and how many of them are true (precision). It prints the freshness of the copies and the
share of the changes that polls saw, over the second half of the history.
"""

import argparse
import heapq
from pathlib import Path

import numpy as np
from objectives import time_lapse

from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.simulation.recorded.replay import Replay
from pollwise.types import Observation, Outcome, Page

DAY = 86_400.0
KINDS = {
    "none": (0.0, 1.0),
    "all changes, only true ones": (1.0, 1.0),
    "9 of 10 changes, 9 of 10 true": (0.9, 0.9),
    "half of the changes, half of them true": (0.5, 0.5),
    "half of the changes, 1 of 10 true": (0.5, 0.1),
    "lies: any time, without a change": (0.0, 0.0),
}
"""By name: recall, precision."""


def signals(
    changes: list[np.ndarray],
    begin: float,
    end: float,
    recall: float,
    precision: float,
    dice: np.random.Generator,
) -> list[tuple[float, int]]:
    """Times and pages of signals, as a heap; lies are as many as changes."""
    told = [
        (float(time), page)
        for page, times in enumerate(changes)
        for time in times
        if dice.random() < recall
    ]
    total = sum(map(len, changes))
    false = len(told) * (1 - precision) / precision if precision else total
    pages = dice.integers(len(changes), size=dice.poisson(false))
    told += [(float(dice.uniform(begin, end)), int(page)) for page in pages]
    heapq.heapify(told)
    return told


def watched(
    history: Replay,
    policy: BayesianIndex,
    told: list[tuple[float, int]],
    changes: list[np.ndarray],
    every: float,
) -> tuple[float, float]:
    """Freshness and share of the changes seen, in the second half of a history."""
    now, middle = history.begin, (history.begin + history.end) / 2
    policy.add([Page(page.id, scope=page.scope, site=page.site) for page in history.pages])
    last = np.full(len(changes), history.begin)
    stale = seen = happened = 0.0

    def look(page: int, at: float) -> bool:
        """Count what went by since the poll before; whether there was a change."""
        nonlocal stale, seen, happened
        new = changes[page][(changes[page] > last[page]) & (changes[page] <= at)]
        late = new[new > middle]
        happened += len(late)
        if len(new) and at > middle:
            stale += at - max(new[0], middle)
        seen += bool(len(late))
        last[page] = at
        return bool(len(new))

    while now < history.end:
        while told and told[0][0] <= now:
            at, page = heapq.heappop(told)
            policy.signal([page], at)
        for page in policy.select(now, 1).page_ids.tolist():
            changed = look(page, now)
            outcome = Outcome.CHANGED if changed else Outcome.UNCHANGED
            policy.observe([Observation(page, now, outcome)])
        now += every
    for page in range(len(changes)):
        seen -= look(page, history.end)  # at the end nobody looks
    return 1.0 - stale / (len(changes) * (history.end - middle)), seen / happened


def main() -> None:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("history", type=Path)
    parser.add_argument("--budget", type=float, default=0.1, help="polls a page and day")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--objective", default="freshness")
    asked = parser.parse_args()
    history = time_lapse(asked.history)
    print(f"{asked.history.name}, {asked.budget:g} polls a page and day, {asked.objective}")
    print(f"{'signals':40}{'freshness':>12}{'changes seen':>16}")
    for name, (recall, precision) in KINDS.items():
        figures = []
        for draw in range(asked.draws if name != "none" else 1):
            dice = np.random.default_rng(draw)
            history.reset(0)
            changes = [history.changes.of_page(page.id) for page in history.pages]
            told = signals(changes, history.begin, history.end, recall, precision, dice)
            policy = BayesianIndex(objective=asked.objective)
            every = DAY / (asked.budget * len(changes))
            figures.append(watched(history, policy, told, changes, every))
        fresh, seen = np.mean(figures, axis=0)
        print(f"{name:40}{fresh:>12.3f}{seen:>16.3f}", flush=True)


if __name__ == "__main__":
    main()
