"""How far are index rules from the best learner there is? Exactly, in tiny worlds.

    python benchmarks/reachable_tiny.py [--json]

A few pages, one of which is fast. The rates are known; which page is the fast one is not, and every
page is it with equal probability. One poll a second; all copies are one second old at the first
poll. The optimum of all learners is found by dynamic programming over all histories that can be
told apart (ages of the copies, and the posterior of which page is fast). The rules of
`benchmarks/reachable.py` and `next`, which polls the page most likely to have changed and looks no
further, are told the same exact posterior, and their polls are followed through all outcomes.
`told` is the optimum of those who know which page is fast. bayes-index knows no rates: it is run in
worlds drawn, with the standard error of its mean. All figures are expected detections a poll.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from reachable import RULES, Rule, expected_index, hopeful

from pollwise.kernel_cache import kernel
from pollwise.metrics import Changes
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.simulation.loop import simulate
from pollwise.simulation.scores.summary import mean_of
from pollwise.simulation.worlds.world import Recorded
from pollwise.types import Page

DRAWS = 4_000
"""Worlds in which bayes-index is run."""
DECIMALS = 9
"""Posteriors that agree in so many are one."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Tiny(NamedTuple):
    """A fast page among slow ones; rates are changes a second."""

    pages: int
    fast: float
    slow: float
    polls: int

    def rates(self) -> Floats:
        """By hypothesis (which page is fast) and page."""
        return np.where(np.eye(self.pages, dtype=bool), self.fast, self.slow)


WORLDS = (Tiny(2, 1.0, 0.1, 16), Tiny(2, 0.3, 0.05, 16), Tiny(3, 0.5, 0.05, 10))


def optimum(rates: Floats, prior: Floats, polls: int) -> float:
    """The most detections that can be expected of so many polls, whatever they teach.

    `rates` are by hypothesis and page.
    """
    pages = rates.shape[1]
    ages, beliefs = np.ones((1, pages)), prior[None, :]
    levels = []
    for _ in range(polls):
        chances, following = [], []
        for page in range(pages):
            unchanged = np.exp(-np.outer(ages[:, page], rates[:, page]))
            chance = 1.0 - (beliefs * unchanged).sum(axis=1)
            chances.append(chance)
            later = ages + 1.0
            later[:, page] = 1.0
            for likelihood in (1.0 - unchanged, unchanged):
                posterior = beliefs * likelihood
                posterior /= posterior.sum(axis=1, keepdims=True)
                following.append(np.hstack([later, posterior]))
        states = np.vstack(following).round(DECIMALS)
        _, first, children = np.unique(states, axis=0, return_index=True, return_inverse=True)
        levels.append((np.array(chances), children.reshape(pages, 2, -1)))
        states = np.vstack(following)[first]
        ages, beliefs = states[:, :pages], states[:, pages:]
    worth = np.zeros(len(ages))
    for chances, children in reversed(levels):
        after = worth[children]
        worth = (chances * (1.0 + after[:, 0]) + (1.0 - chances) * after[:, 1]).max(axis=0)
    return float(worth[0])


@kernel
def followed(
    rates: Floats,
    prior: Floats,
    ages: Floats,
    counts: Ints,
    polls: int,
    values: Floats,
    tilts: Floats,
) -> float:
    """What a rule finds with `polls` left; pages of one index are polled in their order.

    `values` are the two rates, of which a belief says how likely each is.
    """
    if polls == 0:
        return 0.0
    best, page = -1.0, 0
    for i in range(len(ages)):
        belief = np.zeros(2)
        for h in range(len(prior)):
            belief[0 if rates[h, i] == values[0] else 1] += prior[h]
        if len(tilts) > 0:
            tilted = hopeful(belief, belief, tilts[min(counts[i], len(tilts) - 1)])
            index = expected_index(tilted, values, ages[i], ages[i])
        else:
            index = 1.0 - (belief * np.exp(-values * ages[i])).sum()
        if index > best:
            best, page = index, i
    unchanged = np.exp(-rates[:, page] * ages[page])
    chance = 1.0 - (prior * unchanged).sum()
    later, more = ages + 1.0, counts.copy()
    later[page] = 1.0
    more[page] += 1
    hit, miss = prior * (1.0 - unchanged), prior * unchanged
    return chance * (
        1.0 + followed(rates, hit / hit.sum(), later, more, polls - 1, values, tilts)
    ) + (1.0 - chance) * followed(rates, miss / miss.sum(), later, more, polls - 1, values, tilts)


def by_rule(tiny: Tiny, rule: Rule | None) -> float:
    """What a rule finds (None: the page most likely to have changed)."""
    values = np.array([tiny.fast, tiny.slow])
    return followed(
        tiny.rates(),
        np.full(tiny.pages, 1.0 / tiny.pages),
        np.ones(tiny.pages),
        np.zeros(tiny.pages, np.int64),
        tiny.polls,
        values,
        rule.tilt(values) if rule else np.empty((0, 2)),
    )


class Drawn(Recorded):
    """A tiny world of which the fast page is drawn."""

    def __init__(self, tiny: Tiny) -> None:
        super().__init__()
        self._tiny = tiny
        self._rates: dict[int, float] = {}

    @property
    def rates(self) -> Mapping[int, float]:
        return self._rates

    def reset(self, seed: int, duration: float = 0.0) -> None:
        rng = np.random.default_rng(seed)
        self.end = duration
        own = self._tiny.rates()[rng.integers(self._tiny.pages)]
        self._rates = dict(enumerate(own.tolist()))
        length = duration + 1.0
        times = [np.sort(rng.random(rng.poisson(r * length))) * length - 1.0 for r in own]
        pages = [Page(i, url=f"page-{i}", seen_at=-1.0) for i in range(len(times))]
        born = np.full(len(times), -1.0)
        self._set_history(pages, Changes.of(times, born, np.full(len(times), np.inf)))


def by_learning(tiny: Tiny) -> list[float]:
    """What bayes-index finds a poll in each world drawn."""
    world = Drawn(tiny)
    found = []
    for seed in range(DRAWS):
        polls = simulate(BayesianIndex(), world, polls=tiny.polls, seed=seed)
        last = np.full(tiny.pages, -1.0)
        total = 0.0
        for page, now in zip(polls.page_ids.tolist(), polls.times.tolist(), strict=True):
            total -= np.expm1(-world.rates[page] * (now - last[page]))
            last[page] = now
        found.append(total / tiny.polls)
    return found


def figures(tiny: Tiny) -> dict[str, Any]:
    """Expected detections a poll, by name."""
    even = np.full(tiny.pages, 1.0 / tiny.pages)
    told = optimum(tiny.rates()[:1], np.ones(1), tiny.polls)
    learning = mean_of(by_learning(tiny))
    return {
        **tiny._asdict(),
        "told": told / tiny.polls,
        "optimum": optimum(tiny.rates(), even, tiny.polls) / tiny.polls,
        **{name: by_rule(tiny, rule) / tiny.polls for name, rule in RULES.items()},
        "next": by_rule(tiny, None) / tiny.polls,
        "bayes-index": learning.value,
        "bayes-index stderr": learning.stderr,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    rows = []
    for tiny in WORLDS:
        rows.append(figures(tiny))
        if not asked.json:
            print(*(f"{name}: {value:.4g}" for name, value in rows[-1].items()), sep="\n")
            print(flush=True)
    if asked.json:
        print(json.dumps(rows, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
