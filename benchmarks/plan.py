"""What `plan` says that another budget would bring, held against replays under that budget.

    python benchmarks/plan.py TRACES [--history NAME ...] [--budget 0.1] [--json]

For each history and objective: the default policy watches under a budget, and twelve times after a
quarter of the time it is asked what the pages of that moment would bring under this budget, a
quarter and half of it, twice and four times as much. Each answer is held against what another
replay, under the other budget from its begin on, brought for these pages until the next moment.
The figure is that of the objective: of the time the share in which copies are out of date, the mean
delay, or the changes found a day. Its ratios to that under the first budget are told. A history in
which the smallest budget has not gone round all pages by the first moment is passed over.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from worlds import HISTORIES

from pollwise.insight.forecaster import Forecaster
from pollwise.insight.forecasts import Expectation
from pollwise.metrics import Changes, Polls, score
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.scheduler.budgets import parse_budget
from pollwise.simulation.compare.replays import limit_of
from pollwise.simulation.loop import simulate
from pollwise.simulation.scores.calibration import waits
from pollwise.simulation.worlds.world import Recorded
from pollwise.units import DAY

FACTORS = (1.0, 0.25, 0.5, 2.0, 4.0)
"""Of the first budget; the first is that itself."""
OBJECTIVES = {"freshness": "out of date", "delay": "delay", "detection": "found a day"}
"""What the figure of each objective is called."""
WARM_UP = 0.25
MOMENTS = 12

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Outlook:
    """A figure under the first budget, and by what factor it differs under the others.

    All are means over the moments, as `told` by forecasts and as they `came`; the factors are those
    of `FACTORS` after the first.
    """

    history: str
    objective: str
    told: float
    came: float
    told_factors: tuple[float, ...]
    came_factors: tuple[float, ...]


def expected(aim: str, found: Expectation) -> float:
    """What a forecast says of the figure of an objective."""
    if aim == "freshness":
        return 1.0 - found.freshness
    return found.delay / DAY if aim == "delay" else found.found_per_day


def watched(
    world: Recorded,
    aim: str,
    budget: float,
    moments: Sequence[float] = (),
    ask: Callable[[BayesianIndex, float], None] = lambda policy, now: None,
) -> Polls:
    """The polls of the default policy; at each of the moments `ask` is called with it.

    `budget` in polls a day and page.
    """
    world.reset(0)
    policy, limit = BayesianIndex(objective=aim), limit_of(parse_budget(f"{budget}/day/page"))
    return simulate(
        policy, world, seed=0, budget=limit, pauses=moments, on_pause=partial(ask, policy)
    )


def _outcomes(aim: str, changes: Changes, polls: Polls, born: Floats, edges: Floats) -> list[float]:
    """What the figure of an objective came to between each two moments, for the pages of the first.

    A change waits for its poll beyond the second moment, too.
    """
    waited = waits(changes, polls, float(edges[-1]))
    page = np.repeat(np.arange(len(born)), np.diff(changes.offsets))
    found = []
    for begin, end in pairwise(edges.tolist()):
        if aim == "delay":
            within = (changes.times >= begin) & (changes.times < end) & (born[page] <= begin)
            found.append(float(waited[within].mean()) / DAY if within.any() else math.nan)
            continue
        theirs = replace(changes, died=np.where(born <= begin, changes.died, -math.inf))
        came = score(polls, theirs, begin=begin, end=end)
        found.append(
            1.0 - came.freshness if aim == "freshness" else came.found / (end - begin) * DAY
        )
    return found


def is_too_short(world: Recorded, budget: float) -> bool:
    """Whether the smallest budget does not go round all pages before the first moment."""
    return WARM_UP * (world.end - world.begin) < DAY / (min(FACTORS) * budget)


def outlook(world: Recorded, history: str, aim: str, budget: float) -> Outlook:
    """Forecasts and outcomes of a history; `budget` in polls a day and page."""
    changes = world.changes
    born = np.maximum(changes.born, world.begin)
    edges = np.linspace(world.begin + WARM_UP * (world.end - world.begin), world.end, MOMENTS + 1)
    told: list[list[float]] = []

    def ask(policy: BayesianIndex, now: float) -> None:
        here = np.flatnonzero((born <= now) & (changes.died > now))
        each = budget * len(here) / DAY
        forecaster = Forecaster.of(policy, [world.pages[page] for page in here], each)
        told.append([expected(aim, forecaster.expect(factor * each)) for factor in FACTORS])

    polls = [watched(world, aim, budget, edges[:-1].tolist(), ask)]
    polls += [watched(world, aim, factor * budget) for factor in FACTORS[1:]]
    came = np.array([_outcomes(aim, changes, each, born, edges) for each in polls]).T
    forecast, real = np.nanmean(told, axis=0), np.nanmean(came, axis=0)
    return Outlook(
        history,
        aim,
        float(forecast[0]),
        float(real[0]),
        tuple((forecast[1:] / forecast[0]).tolist()),
        tuple((real[1:] / real[0]).tolist()),
    )


def table(outlooks: Sequence[Outlook]) -> str:
    """In Markdown; the last rows have the mean error of the logarithms, as a ratio."""
    names = [f"x{factor:g}" for factor in FACTORS[1:]]
    lines = [
        f"| history | figure | under the budget | {' | '.join(names)} |",
        "|---|---|" + "--:|" * (len(names) + 1),
    ]
    for one in outlooks:
        factors = zip(one.told_factors, one.came_factors, strict=True)
        cells = [f"{one.told:.3g} / {one.came:.3g}", *(f"{a:.2f} / {b:.2f}" for a, b in factors)]
        lines.append(f"| {one.history} | {OBJECTIVES[one.objective]} | {' | '.join(cells)} |")
    for aim, figure in OBJECTIVES.items():
        mine = [one for one in outlooks if one.objective == aim]
        if mine:
            off = [math.log(one.told / one.came) for one in mine]
            rows = [np.log(one.told_factors) - np.log(one.came_factors) for one in mine]
            errors = np.expm1(np.abs(np.column_stack((off, np.array(rows)))).mean(axis=0))
            cells = [f"{error:.0%}" for error in errors]
            lines.append(f"| *mean error* | {figure} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("traces", type=Path)
    parser.add_argument("--history", nargs="+", default=[one.name for one in HISTORIES])
    parser.add_argument("--budget", type=float, default=0.1, help="polls a day and page")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    known = {one.name: one for one in HISTORIES}
    outlooks = []
    for name in arguments.history:
        world = known[name].read(arguments.traces)
        if is_too_short(world, arguments.budget):
            print(f"{name} is too short for this budget", file=sys.stderr)
            continue
        outlooks += [outlook(world, name, aim, arguments.budget) for aim in OBJECTIVES]
    if arguments.json:
        print(json.dumps([asdict(one) for one in outlooks], indent=1))
    else:
        print(table(outlooks), end="")


if __name__ == "__main__":
    main()
