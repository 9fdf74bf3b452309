"""What `pollwise replay` computes of past checks: what policies would have made of them."""

from collections.abc import Sequence

import numpy as np

from pollwise.errors import InputError
from pollwise.metrics import TALLIED, Polls, ratios, tally
from pollwise.objectives import Objective
from pollwise.policies.catalogue import PolicyChoice, Setting
from pollwise.simulation.compare.figures import Figures, Report
from pollwise.simulation.loop import simulate
from pollwise.simulation.recorded.past_checks import PastChecks
from pollwise.simulation.recorded.replay import Replay
from pollwise.simulation.scores.summary import Mean, mean_of
from pollwise.types import Budget
from pollwise.units import DAY

__all__ = ["OWN", "compare_to_checks"]

OWN = "your checks"
"""What stands in the place of the policy."""
_HISTORIES = 20
_SEED = 0


def compare_to_checks(
    checks: PastChecks,
    policies: Sequence[PolicyChoice],
    *,
    objective: Objective,
    report: Report,
) -> list[Figures]:
    """The checks, and what each policy would have made of as many polls, spread evenly over time.

    Figures are means over 20 histories drawn by what the checks tell of the rates (see
    `PastChecks`), but those in which nothing changes, with their standard
    errors under `stderr`: `captured`, `freshness` and `delay_days`, and for policies
    `seen_more` (the changes seen over those that the checks saw, less 1) and `sooner` (the mean
    delay of the checks over that of the policy), both of the means. `InputError` if the checks say
    too little for that.
    """
    drawn = checks.histories(_HISTORIES, np.random.default_rng(_SEED))
    histories = [history for history in drawn if history.changes.times.size > 0]
    if not (checks.changed.any() and histories):
        raise InputError("none of the checks found a change, so there is nothing to compare")
    own = [_figures(history, checks.polls) for history in histories]
    results = [_entry(OWN, own)]
    for choice in policies:
        report(choice.text)
        made = [
            _figures(each, _polls(choice, each, len(checks.polls), objective)) for each in histories
        ]
        more = _ratio([each["captured"] for each in made], [each["captured"] for each in own])
        sooner = _ratio([each["delay_days"] for each in own], [each["delay_days"] for each in made])
        entry = _entry(choice.text, made)
        stderr = {**entry.pop("stderr"), "seen_more": more.stderr, "sooner": sooner.stderr}
        entry |= {"seen_more": more.value - 1, "sooner": sooner.value, "stderr": stderr}
        results.append(entry)
    return results


def _ratio(above: Sequence[float], below: Sequence[float]) -> Mean:
    """The ratio of two means over the same histories, and its standard error to the first order."""
    whole = float(np.mean(below))
    if not whole > 0:
        raise InputError(
            "the checks saw too few changes to be compared with another schedule: give more checks"
        )
    ratio = float(np.mean(above)) / whole
    off = mean_of([(a - ratio * b) / whole for a, b in zip(above, below, strict=True)])
    return Mean(ratio, off.stderr)


def _polls(choice: PolicyChoice, world: Replay, count: int, objective: Objective) -> Polls:
    world.reset(0)
    budget = count / (world.end - world.begin)
    setting = Setting(objective, budget, len(world.pages), world.rates)
    return simulate(choice.make(setting), world, polls=count, seed=0, budget=Budget(budget))


def _figures(world: Replay, polls: Polls) -> dict[str, float]:
    world.reset(0)
    seen_at = world.changes.born
    table = tally(polls, world.changes, begin=world.begin, end=world.end, seen_at=seen_at)
    sums = table.sum(axis=0)
    found = {name: float(value) for name, value in ratios(sums).items()}
    return {
        "polls": float(sums[TALLIED.index("polls")]),
        "captured": found["captured"],
        "freshness": found["freshness"],
        "delay_days": found["delay"] / DAY,
    }


def _entry(name: str, figures: Sequence[dict[str, float]]) -> Figures:
    means = {key: mean_of([each[key] for each in figures]) for key in figures[0]}
    return {
        "policy": name,
        **{key: mean.value for key, mean in means.items()},
        "stderr": {key: mean.stderr for key, mean in means.items() if key != "polls"},
    }
