"""What `pollwise simulate` computes in the worlds zipf and knapsack."""

from collections.abc import Sequence
from typing import Any

from pollwise.errors import InputError
from pollwise.objectives import Objective
from pollwise.policies.catalogue import PolicyChoice, Setting
from pollwise.simulation.compare.figures import Figures, Report, means_of_seeds
from pollwise.simulation.loop import simulate
from pollwise.simulation.scores.summary import found_figures, zipf_figures
from pollwise.simulation.worlds.stochastic_knapsack import StochasticKnapsack, play
from pollwise.simulation.worlds.zipf import Zipf

__all__ = ["made_world", "simulate_policies"]


def made_world(kind: str, *, noise: float, **ranks: Any) -> Zipf | StochasticKnapsack:
    """The world of a simulation; `InputError` for an unknown kind.

    `ranks`: see `pollwise.simulation.worlds.ranks.RankedPages`.
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
    """Means over the runs at each checkpoint that all reached, and at their ends."""
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
    """The figures of one run, by number of polls."""
    if isinstance(world, StochasticKnapsack):
        setting = Setting(objective, 1.0, pages=len(world), seed=seed)
        result = play(policy.make(setting), world, polls=polls, seed=seed)
        return found_figures(result.expected, world.ideal)
    world.reset(seed, duration=polls + 1.0)
    setting = Setting(objective, 1.0, pages=len(world.pages), rates=world.rates, seed=seed)
    return zipf_figures(world, simulate(policy.make(setting), world, polls=polls, seed=seed))
