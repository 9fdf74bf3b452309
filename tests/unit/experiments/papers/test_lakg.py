"""The claims of LAKG's paper, judged by made-up figures.

An ideal figure fulfils all claims of its experiment; each change of its numbers breaks the claim
it is listed with.
"""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pytest

from pollwise.experiments import score_figure
from pollwise.experiments.experiment import Curve, Effort, Measurements, Row
from pollwise.experiments.learning import Learned
from pollwise.experiments.papers.lakg import EXPERIMENTS
from pollwise.experiments.scenario import ConfiguredPolicy, Environment
from pollwise.experiments.score_figure import at, share_at
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


SHORT, MIDDLE, LONG = ESTIMATORS = [f"estimator {n}" for n in ("2,500", "10,000", "50,000")]
COARSE, FINER, FINEST = LAKG = ["lakg 1500/1.3", "lakg 2500/1.3", "lakg 5000/1.2"]

STATIC = [at(n) for n in (2_500, 10_000, 50_000, 200_000, 400_000)]
END = STATIC[-1]
PERIODS = [at(n) for n in (80_000, 160_000, 240_000, 320_000, 400_000)]
FAST = [at(n) for n in (10_000, 50_000, 100_000, 200_000, 400_000)]
SKEWED, LESS_SKEWED = (
    share_at(Environment(pages=500, alpha=0.3, beta=beta)) for beta in (1.5, 1.0)
)


def one_behind_the_proportional(rows: Sequence[str]) -> list[Numbers]:
    """All are near the optimum, but one is not ahead."""
    level = table([END], {"proportional": (0.98,), **dict.fromkeys(rows, (0.99,))})
    return [{**level, (row, END): 0.975} for row in rows]


FIGURES: dict[str, tuple[Numbers, dict[str, list[Numbers]]]] = {
    "lakg-figure-2": (
        table(
            STATIC,
            {
                "proportional": (0.992, 0.992, 0.992, 0.992, 0.992),
                "uniform": (0.3, 0.3, 0.3, 0.3, 0.3),
                SHORT: (0.2, 0.4, 0.5, 0.6, 0.6),
                MIDDLE: (0.2, 0.4, 0.5, 0.6, 0.7),
                LONG: (0.2, 0.4, 0.5, 0.6, 0.8),
                COARSE: (0.3, 0.5, 0.8, 0.8, 0.8),
                FINER: (0.3, 0.4, 0.7, 0.8, 0.9),
                FINEST: (0.3, 0.3, 0.6, 0.8, 0.95),
            },
        ),
        {
            "more-or-less the same solution": [
                *one_of(["proportional"], [END], 0.988),
                *one_of(["uniform"], [END], 0.993),
            ],
            "steadily with the length of the parameter": [
                *one_of([SHORT, MIDDLE], [END], 0.85),
                *one_of([LONG], [END], 0.65),
            ],
            "increases significantly quicker": [
                *one_of([COARSE], STATIC[:4], 0.1),
                *one_of(ESTIMATORS, STATIC[:4], 0.9),
            ],
            "improves the convergence accuracy": [
                *one_of([COARSE, FINER], [at(50_000)], 0.1),
                *one_of([FINEST], [at(50_000)], 0.9),
                *one_of([FINER, FINEST], [END], 0.1),
                *one_of([COARSE], [END], 0.99),
            ],
        },
    ),
    "lakg-figure-3": (
        {
            **table(
                [SKEWED, LESS_SKEWED],
                {"uniform": (0.3, 0.4), SHORT: (0.4, 0.6), MIDDLE: (0.5, 0.7), LONG: (0.6, 0.8)},
            ),
            **table(
                [END],
                {
                    **dict.fromkeys(ESTIMATORS, (0.8,)),
                    **dict.fromkeys(LAKG, (0.9,)),
                },
            ),
        },
        {
            "makes the uniform policy as well as the estimator": [
                *one_of(["uniform", *ESTIMATORS], [SKEWED], 0.9),
                *one_of(["uniform", *ESTIMATORS], [LESS_SKEWED], 0.1),
            ],
            "superior performance": [
                *one_of(LAKG, [END], 0.7),
                *one_of(ESTIMATORS, [END], 0.95),
            ],
        },
    ),
    "lakg-figure-4": (
        table([END], {"proportional": (0.965,), **dict.fromkeys(LAKG, (0.975,))}),
        {
            "significantly better than the proportional": [
                *one_of(["proportional"], [END], 0.975),
            ],
            "breaches the performance boundary": [
                *one_of(LAKG, [END], 0.968),  # ahead, but not near the optimum
                *one_behind_the_proportional(LAKG),
                *one_of(["proportional"], [END], 0.98),
            ],
        },
    ),
    "lakg-figure-5": (
        {
            **table(PERIODS, {COARSE: (0.975,) * 5}),
            **table([HALF], {COARSE: (7_500,), FINER: (12_000,), FINEST: (20_000,)}),
        },
        {
            "finds near-optimal solutions initially": [
                *one_of([COARSE], PERIODS, 0.965),
                *one_of([COARSE], [HALF], 8_500),
            ],
            "depends on the resolution": [
                *one_of([COARSE], [HALF], 15_000),
                *one_of([FINER], [HALF], 25_000),
                *one_of([FINEST], [HALF], 10_000),
            ],
        },
    ),
    "lakg-figure-6": (
        {
            **table([PEAK], dict.fromkeys(LAKG, (0.965,))),
            **table(FAST, dict.fromkeys(LAKG, (0.4, 0.5, 0.6, 0.7, 0.8))),
            **table(FAST[-2:], dict.fromkeys(ESTIMATORS, (0.6, 0.7))),
        },
        {
            "never allowed to reach": [
                *one_of(LAKG, [at(10_000), at(50_000)], 0.8),
                *one_of(LAKG, [at(50_000), at(100_000)], 0.3),
                *one_of(LAKG, [PEAK], 0.975),
            ],
            "superior to the solutions found by": [
                *one_of(LAKG, FAST[-2:], 0.5),
                *one_of(ESTIMATORS, FAST[-2:], 0.9),
            ],
        },
    ),
}


CLAIMS = [
    pytest.param(name, claim, part, id=f"{name}: {part}")
    for name, (_, changes) in FIGURES.items()
    for claim, part in zip(EXPERIMENTS[name].claims, changes, strict=True)
]


def test_every_claim_has_its_changes():
    assert list(FIGURES) == list(EXPERIMENTS)
    for param in CLAIMS:
        _, claim, part = param.values
        assert part in claim.quote


@pytest.mark.parametrize(("name", "claim", "part"), CLAIMS)
def test_a_claim_holds_and_looks_at_nothing_but_what_can_break_it(name, claim, part):
    numbers, changes = FIGURES[name]
    assert claim.judge(figure(numbers)).holds
    seen = {cell: numbers[cell] for change in changes[part] for cell in change}
    assert claim.judge(figure(seen)).holds


@pytest.mark.parametrize(("name", "claim", "part"), CLAIMS)
def test_each_change_breaks_its_claim(name, claim, part):
    numbers, changes = FIGURES[name]
    for change in changes[part]:
        verdict = claim.judge(figure({**numbers, **change}))
        assert not verdict.holds, (change, verdict.seen)


def learned_nothing(
    environments: Sequence[Environment],
    learners: Sequence[ConfiguredPolicy],
    checkpoints: tuple[int, ...],
    effort: Effort,
) -> list[Learned]:
    nothing = np.zeros((1, len(checkpoints)))
    samples = {learner.row: Samples(nothing, nothing) for learner in learners}
    return [Learned(each, checkpoints, samples) for each in environments]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_claims_look_at_is_measured(name, monkeypatch):
    monkeypatch.setattr(score_figure, "learn", learned_nothing)
    measured = EXPERIMENTS[name].measure(Effort(trials=1, cores=1, report=lambda text: None))
    places = {(each.row, each.column) for each in measured.rows}
    places |= {(curve.label, column) for curve in measured.curves for column in (PEAK, HALF)}
    assert set(FIGURES[name][0]) <= places
