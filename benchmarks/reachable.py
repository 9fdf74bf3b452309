"""How much of a policy that is told all change rates can any learner reach? In Zipf worlds.

    python benchmarks/reachable.py [--alpha 0.9] [--beta 1.5] [--polls 50000] [--seeds 10]
        [--swap-every 1000] [--rule NAME ...] [--json]

The learners here know more than one who comes to a world can: the rates of all pages, but not which
page has which, and how pages swap ranks. Each page has an exact posterior over its rank by its own
polls; that no two pages have one rank is not used. What the best of them finds is what a learner by
the index may reach, not a bound that is proved: `benchmarks/reachable_tiny.py` compares the rules
with the true optimum of tiny worlds.

Found: expected detections a poll in the last 20 % of the polls; in brackets as a share of what
`whittle` finds or, where pages swap ranks, of what there is to find (1 - Πq).
Standard errors are over worlds; those of shares are of the ratios in each world.
"""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.metrics import Polls
from pollwise.objectives import objective
from pollwise.policies.catalogue import WATCHING, Setting
from pollwise.simulation.loop import simulate
from pollwise.simulation.scores.summary import mean_of, zipf_figures
from pollwise.simulation.worlds.zipf import Zipf

PAGES = 500
REPORTED = (2_000, 10_000, 50_000, 100_000)
"""Numbers of polls."""
LEARNER, TOLD = "bayes-index", "whittle"
TILTS = 64
"""After so many polls of a page its hope stays as it is."""
LEAST = 1e-9
"""Smaller probabilities of a rate are left out of indices."""
FLOOR = 0.6
"""Pages are looked at when their index may reach this part of the usual best."""
MEMORY = 0.99
"""What the usual best keeps of itself from one poll to the next."""
FARTHEST = 2.0**24
"""Polls that a page is left alone at most."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Rule(NamedTuple):
    """Pages are polled by the expected index, by beliefs times rate^κ, κ = hope/(1 + n)^fading.

    n are the polls of the page.
    """

    hope: float
    fading: float

    def tilt(self, rates: Floats) -> Floats:
        """By polls and rate."""
        kappa = self.hope / (1.0 + np.arange(TILTS)) ** self.fading
        return rates[None, :] ** kappa[:, None]


RULES = {
    "expected": Rule(0.0, 1.0),
    "hope": Rule(1.0, 2.0),
    "lasting hope": Rule(1.0, 1.0),
    "long hope": Rule(1.0, 0.5),
}


@kernel
def expected_index(intact: Floats, rates: Floats, since: float, elapsed: float) -> float:
    """G - τ G', G = 1 - Σ_j intact_j e^(-rate_j since): the chance of a change after `elapsed` τ.

    `intact` has the probability of each rate with a copy that was still good `since` ago. Where
    `since` is `elapsed`, that is the mean of the index for detection (`pollwise.objectives`).
    """
    index = 1.0
    for j in range(len(rates)):
        if intact[j] > LEAST:
            index -= intact[j] * math.exp(-rates[j] * since) * (1.0 + rates[j] * elapsed)
    return index


@kernel
def learn(belief: Floats, intact: Floats, rates: Floats, since: float, changed: bool) -> None:
    """Bayes' rule for one page one poll, `since` after `intact`; both become posteriors."""
    total = 0.0
    for j in range(len(rates)):
        unchanged = intact[j] * math.exp(-rates[j] * since)
        belief[j] = max(belief[j] - unchanged, 0.0) if changed else unchanged
        total += belief[j]
    for j in range(len(rates)):
        belief[j] /= total
        intact[j] = belief[j]


@kernel
def swap_ranks(chances: Floats, drawn: Floats) -> None:
    """One swap: rank k, drawn with probability drawn_k, and the next one change places.

    `chances` has the chance of each rank to be a page's.
    """
    last = len(chances) - 1
    before = chances[0]
    for k in range(last):
        moved = drawn[k] * (chances[k + 1] - before)
        before = chances[k + 1]
        chances[k] += moved
        chances[k + 1] -= moved


@kernel
def hopeful(belief: Floats, intact: Floats, tilt: Floats) -> Floats:
    """`intact` by the belief times `tilt`."""
    return intact * tilt / (belief * tilt).sum()


@kernel
def polls_of_learner(
    belief: Floats,
    rates: Floats,
    drawn: Floats,
    swap_every: float,
    tilts: Floats,
    seen_at: Floats,
    offsets: Ints,
    changes: Floats,
    polls: int,
) -> Ints:
    """The page of each poll, one a second from second 0 on.

    `belief` is the prior by page and rate; `swap_every` 0 means never.
    A page whose index cannot reach the floor for some time is not looked at: as its beliefs do not
    change meanwhile, its index only grows, so the page of the largest index is always found.
    """
    pages = len(seen_at)
    belief = belief.copy()
    intact = belief.copy()
    tilted = np.empty_like(belief)
    seen, since = seen_at.copy(), seen_at.copy()
    cursor = offsets[:-1].copy()
    counts = np.zeros(pages, np.int64)
    look_at = np.zeros(pages)
    chosen = np.empty(polls, np.int64)
    floor = usual = 0.0
    for i in range(pages):
        tilted[i] = hopeful(belief[i], intact[i], tilts[0])
        while cursor[i] < offsets[i + 1] and changes[cursor[i]] <= seen[i]:
            cursor[i] += 1
    for step in range(polls):
        now = float(step)
        swaps = swap_every > 0.0 and step > 0 and step % swap_every == 0
        if swaps:
            for i in range(pages):
                intact[i] *= np.exp(-rates * (now - since[i]))
                since[i] = now
                swap_ranks(intact[i], drawn)
                swap_ranks(belief[i], drawn)
                tilted[i] = hopeful(belief[i], intact[i], tilts[min(counts[i], len(tilts) - 1)])
            look_at[:] = now
        best, page = -1.0, -1
        while True:
            for i in range(pages):
                if look_at[i] > now:
                    continue
                index = expected_index(tilted[i], rates, now - since[i], now - seen[i])
                if index > best:
                    best, page = index, i
                wait = 0.0
                while index < floor and wait < FARTHEST:
                    look_at[i] = now + wait + 1.0
                    wait = 2.0 * wait + 1.0
                    index = expected_index(
                        tilted[i], rates, now + wait - since[i], now + wait - seen[i]
                    )
            if best >= floor:
                break
            floor = FLOOR * best
            look_at[:] = now
        usual = MEMORY * usual + (1.0 - MEMORY) * best
        floor = max(floor, FLOOR * min(usual, best))
        first = cursor[page]
        while cursor[page] < offsets[page + 1] and changes[cursor[page]] <= now:
            cursor[page] += 1
        learn(belief[page], intact[page], rates, now - since[page], cursor[page] > first)
        seen[page] = since[page] = now
        counts[page] += 1
        tilt = tilts[min(counts[page], len(tilts) - 1)]
        tilted[page] = hopeful(belief[page], intact[page], tilt)
        look_at[page] = now
        chosen[step] = page
    return chosen


def learned(world: Zipf, rule: Rule, polls: int, swap_every: int | None) -> Polls:
    """The polls of a learner that knows the rates of a world that was reset, by rank."""
    rates = np.sort(list(world.rates.values()))[::-1].copy()
    drawn = -np.expm1(-rates)
    chosen = polls_of_learner(
        np.full((len(rates), len(rates)), 1.0 / len(rates)),
        rates,
        drawn / drawn.sum(),
        float(swap_every or 0),
        rule.tilt(rates),
        np.array([page.seen_at for page in world.pages], np.float64),
        world.changes.offsets,
        world.changes.times,
        polls,
    )
    return Polls(chosen, np.arange(float(polls)))


def found(world: Zipf, name: str, polls: int, seed: int, swap_every: int | None) -> list[float]:
    """What a rule or a policy finds a poll, at each number of polls that is reported."""
    world.reset(seed, duration=polls + 1.0)
    if name in RULES:
        made = learned(world, RULES[name], polls, swap_every)
    else:
        setting = Setting(
            objective("detection"), 1.0, pages=len(world.pages), rates=world.rates, seed=seed
        )
        made = simulate(WATCHING.choose(name).make(setting), world, polls=polls, seed=seed)
    figures = zipf_figures(world, made)
    return [figures[count]["tail_found_per_poll"] for count in reported(polls)]


def reported(polls: int) -> list[int]:
    return [count for count in REPORTED if count <= polls]


def table(
    runs: dict[str, Floats], counts: Sequence[int], whole: Floats | float
) -> list[dict[str, Any]]:
    """By number of polls and name: means, and as shares of `whole`."""
    return [
        {
            "polls": count,
            "name": name,
            "found": asdict(mean_of(run[:, at])),
            "share": asdict(mean_of((run / whole)[:, at])),
        }
        for at, count in enumerate(counts)
        for name, run in runs.items()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("--alpha", type=float, default=0.9)
    parser.add_argument("--beta", type=float, default=1.5)
    parser.add_argument("--polls", type=int, default=50_000)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--swap-every", type=int)
    parser.add_argument("--rule", action="append", choices=sorted(RULES))
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    world = Zipf(pages=PAGES, alpha=asked.alpha, beta=asked.beta, swap_every=asked.swap_every)
    runs = {
        name: np.array(
            [found(world, name, asked.polls, seed, asked.swap_every) for seed in range(asked.seeds)]
        )
        for name in (LEARNER, *([] if asked.swap_every else [TOLD]), *(asked.rule or RULES))
    }
    whole = world.ideal if asked.swap_every else runs[TOLD]
    rows = table(runs, reported(asked.polls), whole)
    if asked.json:
        print(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        value, share = row["found"], row["share"]
        print(
            f"{row['polls']:>7,} {row['name']:<24} {value['value']:.4f} ± {value['stderr']:.4f}"
            f" ({share['value']:.3f} ± {share['stderr']:.3f})"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
