"""What `pollwise replay --calibration` computes: whether the predictions of policies come true."""

from collections.abc import Sequence

from pollwise.errors import InputError
from pollwise.objectives import Objective
from pollwise.policies.catalogue import PolicyChoice
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.scheduler.budgets import BudgetText
from pollwise.simulation.compare.figures import Figures, Report
from pollwise.simulation.compare.replays import limit_of
from pollwise.simulation.recorded.items import ItemReplay
from pollwise.simulation.recorded.replay import Replay
from pollwise.simulation.scores.calibration import calibration_of

__all__ = ["calibrate_policies", "require_predictions"]


def require_predictions(world: Replay | ItemReplay, policies: Sequence[PolicyChoice]) -> None:
    """`InputError` unless the history is one of changes and one of the policies predicts them."""
    if isinstance(world, ItemReplay):
        raise InputError("a calibration is of changes: give a trace of pages, not of items")
    if not any(map(_predicts, policies)):
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
            budget=limit_of(budget),
            warm_up=warm_up,
            report=report,
        ).document()
        for budget in budgets
        for choice in policies
        if _predicts(choice)
        for objective in objectives
    ]


def _predicts(choice: PolicyChoice) -> bool:
    """Whether the policy says how likely changes are."""
    return issubclass(choice.kind, BayesianIndex)
