"""What `pollwise simulate` and `pollwise replay` compute: policies side by side in one world."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pollwise.errors import InputError
from pollwise.objectives import Objective
from pollwise.policies.base import Policy
from pollwise.policies.catalogue import PolicyChoice, Setting
from pollwise.policies.collecting_catalogue import make_controller, starts_with_all
from pollwise.scheduler.budgets import BudgetText
from pollwise.simulation.loop import BudgetPerPage, simulate
from pollwise.simulation.recorded.items import ItemReplay, ephemeral_figures
from pollwise.simulation.recorded.replay import Replay
from pollwise.simulation.scores.calibration import calibration_of
from pollwise.simulation.scores.paired import paired_differences
from pollwise.simulation.scores.summary import (
    found_figures,
    in_days,
    mean_of,
    replay_figures,
    replay_tally,
    weights_of,
    zipf_figures,
)
from pollwise.simulation.traversal import SHARES, Traversal, traverse
from pollwise.simulation.worlds.graph import Graph
from pollwise.simulation.worlds.stochastic_knapsack import StochasticKnapsack, play
from pollwise.simulation.worlds.zipf import Zipf
from pollwise.types import Budget

__all__ = [
    "TRAVERSAL_COLUMNS",
    "Report",
    "calibrate_policies",
    "made_world",
    "means_of_seeds",
    "read_history",
    "replay_policies",
    "require_predictions",
    "simulate_policies",
    "traversal_rows",
    "traverse_policies",
]

Report = Callable[[str], None]
"""Told what is being computed."""

Figures = dict[str, Any]

_EPHEMERAL = "ephemeral"


def means_of_seeds(seeds: Sequence[dict[str, float]]) -> Figures:
    """The mean of each figure over the seeds, and its standard error where there are several."""
    means = {name: mean_of([figures[name] for figures in seeds]) for name in seeds[0]}
    result: Figures = {name: mean.value for name, mean in means.items()}
    if len(seeds) > 1:
        result["stderr"] = {name: mean.stderr for name, mean in means.items()}
    return result


def made_world(
    kind: str,
    *,
    noise: float,
    **ranks: Any,
) -> Zipf | StochasticKnapsack:
    """The world of a simulation; `ranks`: see `pollwise.simulation.worlds.ranks.RankedPages`.

    `InputError` for a kind that there is not.
    """
    if kind == "knapsack":
        return StochasticKnapsack.ranked(**ranks, noise=noise)
    if kind != "zipf":
        raise InputError(f"no such world: {kind!r}; choose zipf, knapsack or graph")
    if noise != 0.0:
        raise InputError(f"noise={noise} is for the world knapsack: leave it out")
    return Zipf(**ranks)


def simulate_policies(
    world: Zipf | StochasticKnapsack,
    policies: Sequence[PolicyChoice],
    *,
    objective: Objective,
    polls: int,
    seeds: int,
    report: Report,
) -> list[Figures]:
    """Run policies in the same worlds, one for each seed 0, 1, ...; one entry per policy."""
    results = []
    for policy in policies:
        runs = []
        for seed in range(seeds):
            report(f"{policy.text}, seed {seed + 1} of {seeds}")
            runs.append(_figures(world, policy, objective, polls, seed))
        checkpoints = _checkpoints(runs)
        results.append({"policy": policy.text, **checkpoints[-1], "checkpoints": checkpoints})
    return results


def _checkpoints(runs: Sequence[dict[int, dict[str, float]]]) -> list[Figures]:
    """The means over runs that all got so far, and over the ends of all, whenever that was."""
    ends = [max(run) for run in runs]
    common = [count for count in sorted(runs[0]) if count < min(ends)]
    means = [{"polls": count, **means_of_seeds([run[count] for run in runs])} for count in common]
    last = [run[end] for run, end in zip(runs, ends, strict=True)]
    return [*means, {"polls": round(sum(ends) / len(ends)), **means_of_seeds(last)}]


def _figures(
    world: Zipf | StochasticKnapsack,
    policy: PolicyChoice,
    objective: Objective,
    polls: int,
    seed: int,
) -> dict[int, dict[str, float]]:
    """Of one run, by number of polls."""
    if isinstance(world, StochasticKnapsack):
        setting = Setting(objective, 1.0, pages=len(world), seed=seed)
        result = play(policy.make(setting), world, polls=polls, seed=seed)
        return found_figures(result.expected, world.ideal)
    world.reset(seed, duration=polls + 1.0)
    setting = Setting(objective, 1.0, pages=len(world.pages), rates=world.rates, seed=seed)
    return zipf_figures(world, simulate(policy.make(setting), world, polls=polls, seed=seed))


def traverse_policies(
    graph: Graph, policies: Sequence[str], *, traversals: int, seeds: int, report: Report
) -> list[Figures]:
    """Have request controllers traverse a graph; one entry per policy, seeds 0, 1, ...

    Each entry has a list `traversals` with the performance as a share of that of the upper bound
    (`of_upper_bound`) and the `recall` by share of the crawl.
    """
    results = []
    for policy in policies:
        runs = []
        for seed in range(seeds):
            report(f"{policy}, seed {seed + 1} of {seeds}")
            controller = make_controller(policy, graph.relevance, np.random.default_rng(seed))
            known = range(len(graph)) if starts_with_all(policy) else [graph.START]
            runs.append(traverse(graph, controller, traversals, known=known))
        figures = [_traversal_figures(each) for each in zip(*runs, strict=True)]
        results.append({"policy": policy, "topic": graph.topic, "traversals": figures})
    return results


def _traversal_figures(seeds: Sequence[Traversal]) -> Figures:
    """Of the same traversal of several seeds."""
    figures = means_of_seeds([{_BOUND: t.of_upper_bound} | _recalls(t) for t in seeds])
    errors = figures.pop("stderr", None)
    result = _with_recall(figures)
    if errors is not None:
        result["stderr"] = _with_recall(errors)
    return result


_BOUND = "of_upper_bound"


def _recalls(traversal: Traversal) -> dict[str, float]:
    return {str(share): traversal.recall(share) for share in SHARES}


def _with_recall(figures: Figures) -> Figures:
    recall = {name: value for name, value in figures.items() if name != _BOUND}
    return {_BOUND: figures[_BOUND], "recall": recall}


TRAVERSAL_COLUMNS = {
    "policy": ("policy", "s"),
    "traversal": ("no.", ",d"),
    _BOUND: ("of upper bound", ".4f"),
    "0.01": ("recall at 1 %", ".4f"),
    "0.05": ("recall at 5 %", ".4f"),
}
"""Those of the table that people see; see `pollwise.console.simulations.Columns`."""


def traversal_rows(results: Sequence[Figures]) -> list[Figures]:
    """What `traverse_policies` gives, with a row for each traversal."""
    return [
        {"policy": result["policy"], "traversal": number}
        | _flat(figures)
        | ({"stderr": _flat(figures["stderr"])} if "stderr" in figures else {})
        for result in results
        for number, figures in enumerate(result["traversals"], start=1)
    ]


def _flat(figures: Figures) -> Figures:
    return {_BOUND: figures[_BOUND], **figures["recall"]}


def read_history(
    path: Path,
    *,
    objectives: Sequence[str],
    half_life: float | None,
    weighted: bool,
    ignore_reverts: bool,
    last_changed: bool,
) -> Replay | ItemReplay:
    """The recorded history at a path, which must have what is asked of it (else `InputError`).

    A file NAME.items.parquet (or .csv) is one of items, which fade with `half_life` (seconds) and
    are judged by the objective ephemeral; any other is one of changes, which the other objectives
    are for. `weighted`, `ignore_reverts`, `last_changed`: see `Replay.read`.
    """
    if not path.stem.endswith(".items"):
        if _EPHEMERAL in objectives:
            raise InputError(
                f"{path}: the objective ephemeral needs a trace of items, NAME.items.parquet;"
                " give one, or another objective"
            )
        return Replay.read(
            path, weighted=weighted, ignore_reverts=ignore_reverts, last_changed=last_changed
        )
    if half_life is None or set(objectives) != {_EPHEMERAL}:
        raise InputError(
            f"{path}: a trace of items knows no changes of pages; choose the objective ephemeral"
            " and a half-life, and no other"
        )
    for option, given in (
        ("weighted", weighted),
        ("reverts", ignore_reverts),
        ("last-changed", last_changed),
    ):
        if given:
            raise InputError(f"{path}: --{option} is for traces of pages; leave it out for items")
    return ItemReplay.read(path, half_life)


@dataclass(frozen=True, slots=True)
class _Run:
    """A policy that is about to be replayed; `objective` None: it has its own."""

    choice: PolicyChoice
    objective: Objective | None
    budget: BudgetText
    policy: Policy

    @property
    def row(self) -> Figures:
        """What tells this run from the others."""
        name = None if self.objective is None else self.objective.name
        return {"policy": self.choice.text, "objective": name, "budget": str(self.budget)}

    def __str__(self) -> str:
        aim = "" if self.objective is None else f" for {self.objective.name}"
        return f"{self.choice.text}{aim}, {self.budget}"


def replay_policies(
    world: Replay | ItemReplay,
    policies: Sequence[PolicyChoice],
    *,
    objectives: Sequence[Objective],
    budgets: Sequence[BudgetText],
    warm_up: float,
    report: Report,
) -> list[Figures]:
    """Replay a history to policies; figures of the time after `warm_up`, a share of all.

    Each policy gets every budget and, if it takes one, every objective. Of one budget, the
    figures of all but the first entry have their differences to it under `against`, paired over
    the pages, and weighted if these have weights. `InputError` for what cannot be run, before
    anything is.
    """
    world.reset(0)
    if not world.begin < world.end:
        raise InputError("the history lasts no time: it must have at least two different times")
    for budget in budgets:
        budget.require_replayable(len(world.pages), world.end - world.begin)
    results: list[Figures] = []
    for runs in [_runs(world, policies, objectives, budget) for budget in budgets]:
        results += _replay(world, runs, warm_up, report)
    return results


def _runs(
    world: Replay | ItemReplay,
    policies: Sequence[PolicyChoice],
    objectives: Sequence[Objective],
    budget: BudgetText,
) -> list[_Run]:
    runs = []
    pages, total = len(world.pages), budget.total(len(world.pages))
    for choice in policies:
        for objective in objectives if choice.takes_objective else objectives[:1]:
            setting = Setting(objective, budget=total, pages=pages, rates=world.rates)
            aim = objective if choice.takes_objective else None
            runs.append(_Run(choice, aim, budget, choice.make(setting)))
    return runs


def _limit(budget: BudgetText) -> Budget | BudgetPerPage:
    return BudgetPerPage(budget.rate) if budget.per_page else Budget(budget.rate)


def _replay(
    world: Replay | ItemReplay, runs: Sequence[_Run], warm_up: float, report: Report
) -> list[Figures]:
    """Of one budget."""
    results: list[Figures] = []
    tallies = []
    for run in runs:
        report(str(run))
        polls = simulate(run.policy, world, seed=0, budget=_limit(run.budget))
        if isinstance(world, ItemReplay):
            results.append({**run.row, **ephemeral_figures(world, polls, warm_up)})
        else:
            rows = replay_tally(world, polls, warm_up)
            results.append({**run.row, **replay_figures(world, rows)})
            tallies.append(rows * weights_of(world)[:, None])
    if len(tallies) > 1:
        differences = paired_differences(tallies, np.random.default_rng(0))
        for result, difference in zip(results[1:], differences, strict=True):
            first = {name: results[0][name] for name in ("policy", "objective")}
            known = {name: x for name, x in in_days(difference).items() if name in result}
            result["against"] = {**first, **known}
    return results


def require_predictions(world: Replay | ItemReplay, policies: Sequence[PolicyChoice]) -> None:
    """`InputError` unless one of the policies predicts changes, and the history is one of them."""
    if isinstance(world, ItemReplay):
        raise InputError("a calibration is of changes: give a trace of pages, not of items")
    if not any(policy.predicts for policy in policies):
        raise InputError(
            "a calibration needs a policy that predicts changes: add --policy bayes-index"
        )


def calibrate_policies(
    world: Replay | ItemReplay,
    policies: Sequence[PolicyChoice],
    *,
    objectives: Sequence[Objective],
    budgets: Sequence[BudgetText],
    warm_up: float,
    report: Report,
) -> list[Figures]:
    """Hold what policies predict against what happens; an entry for each replay.

    Policies that predict nothing are left out. The figures: see `CalibrationReport.document`.
    """
    return [
        {"policy": choice.text, "objective": objective.name, "budget": str(budget)}
        | calibration_of(
            world,
            choice,
            objective=objective,
            budget=_limit(budget),
            warm_up=warm_up,
            report=report,
        ).document()
        for budget in budgets
        for choice in policies
        if choice.predicts
        for objective in objectives
    ]
