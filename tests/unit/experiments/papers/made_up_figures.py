"""Figures whose numbers are made up, to judge claims by.

An ideal figure fulfils all claims of its experiment; each change of its numbers breaks the claim
it is listed with.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from pollwise.experiments.experiment import (
    Claim,
    Curve,
    Effort,
    Experiment,
    Measurements,
    Row,
)
from pollwise.experiments.learning import Learned
from pollwise.experiments.scenario import ConfiguredPolicy, Environment
from pollwise.experiments.trials import Samples

Column = str
Numbers = dict[tuple[str, Column], float]
"""By row and column."""

PEAK, HALF = "peak of the curve", "polls to half of what a change costs"
"""Columns that stand for curves."""
ERROR = 0.0005


def table(columns: Sequence[Column], rows: Mapping[str, Sequence[float]]) -> Numbers:
    return {
        (row, column): number
        for row, numbers in rows.items()
        for column, number in zip(columns, numbers, strict=True)
    }


def one_of(rows: Sequence[str], columns: Sequence[Column], number: float) -> list[Numbers]:
    """Changes of one number: any of these rows has this in any of these columns."""
    return [{cell: number} for cell in product(rows, columns)]


def one_behind_the_proportional(rows: Sequence[str], column: Column) -> list[Numbers]:
    """All are near the optimum, but one is not ahead."""
    level = table([column], {"proportional": (0.98,), **dict.fromkeys(rows, (0.99,))})
    return [{**level, (row, column): 0.975} for row in rows]


def figure(numbers: Numbers) -> Measurements:
    """The optimum is 1, all numbers have the same error."""
    rows, curves = [], []
    for (row, column), number in numbers.items():
        if column == PEAK:
            curves.append(Curve(row, (100.0, 1_000.0, 2_000.0), (0.1, number, 0.2)))
        elif column == HALF:
            curves.append(recovering(row, number))
        else:
            rows.append(Row(row, column, number, ERROR))
    return Measurements(rows, curves, {"optimal": 1.0})


def recovering(row: str, half: float) -> Curve:
    """A change after every 80,000 polls costs 0.2; after so many polls 0.1 is made good."""
    points = [(80_000.0, 0.9)]
    for change in (80_000.0, 160_000.0):
        points += [(change + 1, 0.7), (change + half, 0.8), (change + 80_000, 0.9)]
    return Curve(row, *zip(*points, strict=True))


Figures = Mapping[str, tuple[Numbers, Mapping[str, list[Numbers]]]]
"""By experiment: the ideal figure, and what breaks each claim, by a part of its quote."""


def claims_of(experiments: Mapping[str, Experiment], figures: Figures) -> list[Any]:
    """Parameters: the figure, the claim, and its changes."""
    assert list(figures) == list(experiments)
    return [
        pytest.param(numbers, claim, changes[part], id=f"{name}: {part}")
        for name, (numbers, changes) in figures.items()
        for claim, part in zip(experiments[name].claims, changes, strict=True)
        if part in claim.quote
    ]


def check_that_it_holds(numbers: Numbers, claim: Claim, changes: list[Numbers]) -> None:
    """The claim holds of the figure, and looks at nothing but what can break it."""
    assert claim.judge(figure(numbers)).holds
    seen = {cell: numbers[cell] for change in changes for cell in change}
    assert claim.judge(figure(seen)).holds


def check_that_it_breaks(numbers: Numbers, claim: Claim, changes: list[Numbers]) -> None:
    """Each change breaks the claim."""
    assert changes
    for change in changes:
        verdict = claim.judge(figure({**numbers, **change}))
        assert not verdict.holds, (change, verdict.seen)


def check_that_it_is_measured(numbers: Numbers, experiment: Experiment) -> None:
    """The experiment has all rows and columns of the figure; nothing is to be played."""
    measured = experiment.measure(Effort(trials=1, cores=1, report=lambda text: None))
    places = {(each.row, each.column) for each in measured.rows}
    places |= {(curve.label, column) for curve in measured.curves for column in (PEAK, HALF)}
    assert set(numbers) <= places


def learned_nothing(
    environments: Sequence[Environment],
    learners: Sequence[ConfiguredPolicy],
    checkpoints: tuple[int, ...],
    effort: Effort,
) -> list[Learned]:
    nothing = np.zeros((1, len(checkpoints)))
    samples = {learner.row: Samples(nothing, nothing) for learner in learners}
    return [Learned(each, checkpoints, samples) for each in environments]
