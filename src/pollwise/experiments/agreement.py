"""How near our numbers are to the printed ones."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from pollwise.experiments.experiment import Experiment, Measurements, Row

__all__ = ["BEYOND", "NEARNESS", "Comparison", "comparisons", "counts"]

WITHIN_ERRORS, BEYOND = "2 standard errors", "beyond 2.5 %"
_SHARES = {"1 %": 0.01, "2.5 %": 0.025}
NEARNESS = (WITHIN_ERRORS, *_SHARES, BEYOND)
"""From near to far. A number counts for the nearest that it meets."""


@dataclass(frozen=True)
class Comparison:
    """One of our numbers beside the printed one; `reason`: why it is beyond, if it is."""

    row: Row
    nearness: str
    reason: str


def comparisons(experiment: Experiment, measured: Measurements, trials: int) -> list[Comparison]:
    """All printed numbers of an experiment that was run with so many trials.

    None of an experiment whose numbers are copied.
    """
    if experiment.copied:
        return []
    return [
        _compared(experiment, row, trials) for row in measured.rows if row.published is not None
    ]


def _compared(experiment: Experiment, row: Row, trials: int) -> Comparison:
    nearness = _nearness(row, experiment.joint_error(row, trials))
    return Comparison(row, nearness, experiment.reason(row) if nearness == BEYOND else "")


def _nearness(row: Row, error: float) -> str:
    printed = row.published
    if printed is None or row.value is None:
        return BEYOND
    distance = printed.distance(row.value)
    if distance <= 2.0 * error:
        return WITHIN_ERRORS
    for name, share in _SHARES.items():
        if distance <= share * abs(printed.value):
            return name
    return BEYOND


def counts(compared: Iterable[Comparison]) -> dict[str, int]:
    """How many numbers are how near."""
    counted = Counter(each.nearness for each in compared)
    return {name: counted[name] for name in NEARNESS}
