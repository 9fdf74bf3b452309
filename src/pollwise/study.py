"""What `pollwise simulate` and `pollwise replay` compute: policies side by side in one world."""

from collections.abc import Callable, Sequence
from typing import Any

from pollwise.budgets import BudgetText
from pollwise.errors import InputError
from pollwise.objectives import Objective
from pollwise.policies.catalogue import PolicyChoice, Setting
from pollwise.simulation.loop import BudgetPerPage, simulate
from pollwise.simulation.replay import Replay
from pollwise.simulation.stochastic_knapsack import StochasticKnapsack, play
from pollwise.simulation.summary import (
    found_figures,
    mean_of,
    replay_figures,
    zipf_figures,
)
from pollwise.simulation.zipf import Zipf
from pollwise.types import Budget

__all__ = ["Report", "made_world", "replay_policies", "simulate_policies"]

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


def made_world(
    kind: str,
    *,
    noise: float,
    **ranks: Any,
) -> Zipf | StochasticKnapsack:
    """The world of a simulation; `ranks`: see `pollwise.simulation.ranks.RankedPages`.

    `InputError` for a kind that there is not.
    """
    if kind == "knapsack":
        return StochasticKnapsack.ranked(**ranks, noise=noise)
    if kind != "zipf":
        raise InputError(f"no such world: {kind!r}; choose zipf or knapsack")
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
    means = [{"polls": count, **_means([run[count] for run in runs])} for count in common]
    last = [run[end] for run, end in zip(runs, ends, strict=True)]
    return [*means, {"polls": round(sum(ends) / len(ends)), **_means(last)}]


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


def replay_policies(
    world: Replay,
    policies: Sequence[PolicyChoice],
    *,
    objective: Objective,
    budget: BudgetText,
    warm_up: float,
    report: Report,
) -> list[Figures]:
    """Replay a history to policies; figures of the time after `warm_up`, a share of all."""
    results = []
    for policy in policies:
        report(policy.text)
        world.reset(0)
        total = budget.total(len(world.pages))
        setting = Setting(objective, budget=total, pages=len(world.pages), rates=world.rates)
        limit = BudgetPerPage(budget.rate) if budget.per_page else Budget(budget.rate)
        polls = simulate(policy.make(setting), world, seed=0, budget=limit)
        results.append({"policy": policy.text, **replay_figures(world, polls, warm_up)})
    return results
