"""What `pollwise simulate` and `pollwise replay` compute: policies side by side in one world."""

from collections.abc import Callable, Sequence
from typing import Any

from pollwise.budgets import BudgetText
from pollwise.objectives import Objective
from pollwise.policies.catalogue import Setting, make_policy
from pollwise.simulation.loop import BudgetPerPage, simulate
from pollwise.simulation.replay import Replay
from pollwise.simulation.summary import mean_of, replay_figures, zipf_figures
from pollwise.simulation.zipf import Zipf
from pollwise.types import Budget

__all__ = ["Report", "replay_policies", "simulate_policies"]

Report = Callable[[str], None]
"""Told what is being computed."""

Figures = dict[str, Any]


def _means(seeds: Sequence[dict[str, float]]) -> Figures:
    """The mean of each figure over the seeds, and its standard error where there are several."""
    means = {name: mean_of([figures[name] for figures in seeds]) for name in seeds[0]}
    result: Figures = {name: mean.value for name, mean in means.items()}
    if len(seeds) > 1:
        result["stderr"] = {name: mean.stderr for name, mean in means.items()}
    return result


def simulate_policies(
    world: Zipf,
    names: Sequence[str],
    *,
    objective: Objective,
    polls: int,
    seeds: int,
    report: Report,
) -> list[Figures]:
    """Run policies in the same worlds, one for each seed 0, 1, ...; one entry per policy."""
    results = []
    for name in names:
        by_polls: dict[int, list[dict[str, float]]] = {}
        for seed in range(seeds):
            report(f"{name}, seed {seed + 1} of {seeds}")
            world.reset(seed, duration=polls + 1.0)
            setting = Setting(objective, budget=1.0, pages=len(world.pages), rates=world.rates)
            done = simulate(make_policy(name, setting), world, polls=polls, seed=seed)
            for count, figures in zipf_figures(world, done).items():
                by_polls.setdefault(count, []).append(figures)
        checkpoints = [{"polls": count, **_means(by_polls[count])} for count in sorted(by_polls)]
        results.append({"policy": name, **checkpoints[-1], "checkpoints": checkpoints})
    return results


def replay_policies(
    world: Replay,
    names: Sequence[str],
    *,
    objective: Objective,
    budget: BudgetText,
    warm_up: float,
    report: Report,
) -> list[Figures]:
    """Replay a history to policies; figures of the time after `warm_up`, a share of all."""
    results = []
    for name in names:
        report(name)
        world.reset(0)
        total = budget.total(len(world.pages))
        setting = Setting(objective, budget=total, pages=len(world.pages), rates=world.rates)
        limit = BudgetPerPage(budget.rate) if budget.per_page else Budget(budget.rate)
        polls = simulate(make_policy(name, setting), world, seed=0, budget=limit)
        results.append({"policy": name, **replay_figures(world, polls, warm_up)})
    return results
