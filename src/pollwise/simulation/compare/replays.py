"""What `pollwise replay` computes: policies side by side on a recorded history."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pollwise.errors import InputError
from pollwise.objectives import Objective
from pollwise.policies.base import Policy
from pollwise.policies.catalogue import PolicyChoice, Setting
from pollwise.scheduler.budgets import BudgetText
from pollwise.simulation.compare.figures import Figures, Report
from pollwise.simulation.loop import BudgetPerPage, simulate
from pollwise.simulation.recorded.example import example
from pollwise.simulation.recorded.items import ItemReplay, ephemeral_figures
from pollwise.simulation.recorded.replay import Replay
from pollwise.simulation.scores.paired import paired_differences
from pollwise.simulation.scores.summary import in_days, replay_figures, replay_tally, weights_of
from pollwise.types import Budget

__all__ = ["limit_of", "read_history", "replay_policies"]

_EPHEMERAL = "ephemeral"


def read_history(
    path: Path | None,
    *,
    objectives: Sequence[str],
    half_life: float | None,
    weighted: bool,
    ignore_reverts: bool,
    last_changed: bool,
) -> Replay | ItemReplay:
    """The recorded history at a path; `InputError` if it does not have what is asked for.

    None: the bundled one, of changes, without weights and reverts.

    A file NAME.items.parquet (or .csv) has items, which fade with `half_life` (seconds) and are
    for the objective ephemeral; any other has changes, which are for the other objectives.
    `weighted`, `ignore_reverts`, `last_changed`: see `Replay.read`.
    """
    if path is None:
        for option, asked in (
            ("--weighted", weighted),
            ("--reverts ignore", ignore_reverts),
            (f"--objective {_EPHEMERAL}", _EPHEMERAL in objectives),
        ):
            if asked:
                raise InputError(f"{option} is not for --example: leave it out, or give a trace")
        world = example()
        world.tells_last_changed = last_changed
        return world
    if not path.stem.endswith(".items"):
        if _EPHEMERAL in objectives:
            raise InputError(
                f"{path}: the objective ephemeral needs a trace of items, NAME.items.parquet;"
                " give one, or another objective"
            )
        changes = Replay.read(
            path, weighted=weighted, ignore_reverts=ignore_reverts, last_changed=last_changed
        )
        return _lasting(path, changes)
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
    return _lasting(path, ItemReplay.read(path, half_life))


def _lasting(path: Path, world: Replay | ItemReplay) -> Replay | ItemReplay:
    if not world.begin < world.end:
        raise InputError(
            f"{path}: the history lasts no time: it must have at least two different times"
        )
    return world


@dataclass(frozen=True, slots=True)
class _Replayed:
    """A run of a policy over the history; `objective` None: it takes none."""

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
    """Replay a history to policies; figures are of the time after `warm_up`, a share of it.

    Each policy gets every budget and, if it takes one, every objective. For each budget, all
    entries but the first have their differences to it under `against`, paired over the pages, and
    weighted if these have weights. `InputError` for what cannot be run, before anything is.
    """
    world.reset(0)
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
) -> list[_Replayed]:
    runs = []
    pages, total = len(world.pages), budget.total(len(world.pages))
    for choice in policies:
        for objective in objectives if choice.takes("objective") else objectives[:1]:
            setting = Setting(objective, budget=total, pages=pages, rates=world.rates)
            aim = objective if choice.takes("objective") else None
            runs.append(_Replayed(choice, aim, budget, choice.make(setting)))
    return runs


def limit_of(budget: BudgetText) -> Budget | BudgetPerPage:
    """The budget of a replay, in cost units per second."""
    return BudgetPerPage(budget.rate) if budget.per_page else Budget(budget.rate)


def _replay(
    world: Replay | ItemReplay, runs: Sequence[_Replayed], warm_up: float, report: Report
) -> list[Figures]:
    """The entries of one budget."""
    results: list[Figures] = []
    tallies = []
    for run in runs:
        report(str(run))
        polls = simulate(run.policy, world, seed=0, budget=limit_of(run.budget))
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
