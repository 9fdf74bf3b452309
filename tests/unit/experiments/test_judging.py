"""Judgements say what the numbers say: each claim once held, once not."""

import numpy as np
import pytest

from pollwise.experiments.experiment import Measurements, Row
from pollwise.experiments.judging import (
    ahead_in_the_end,
    coarser_is_sooner,
    faster,
    leads_the_table,
    near_the_optimum,
)
from pollwise.experiments.learning import Learned, classical_scores
from pollwise.experiments.papers.htraa import exponent_of_growth
from pollwise.experiments.registry import experiment_named
from pollwise.experiments.scenario import ConfiguredPolicy, Environment
from pollwise.experiments.score_figure import ScoreFigure
from pollwise.experiments.trials import Samples

WORLD = Environment(pages=8, alpha=0.3, beta=1.0)
BEST = classical_scores(WORLD)["optimal"]
A, B = ConfiguredPolicy("a", "lakg"), ConfiguredPolicy("b", "htraa")
LAKG = "lakg 1500/1.3"
ESTIMATORS = [f"estimator {polls}" for polls in ("1,000", "10,000", "50,000")]


def learned(**shares: list[float]) -> Measurements:
    """Of scores as shares of the optimum, after 10, 100, 1000, ... polls; one trial."""
    samples = {
        row: Samples(np.array([scores]), BEST * np.array([scores]))
        for row, scores in shares.items()
    }
    count = len(next(iter(shares.values())))
    checkpoints = tuple(10**n for n in range(1, count + 1))
    figure = ScoreFigure(
        environment=WORLD,
        learners=[ConfiguredPolicy(row, "") for row in shares],
        marks=checkpoints,
    )
    return figure.shown(Learned(WORLD, checkpoints, samples))


@pytest.mark.parametrize(
    ("judge", "held", "failed"),
    [
        (
            near_the_optimum([A, B]),
            {"a": [0.1, 0.98], "b": [0.1, 0.99]},
            {"a": [1.0, 0.9], "b": [1.0, 1.0]},
        ),
        (
            faster(A, B),
            {"a": [0.95, 0.95], "b": [0.5, 0.95]},
            {"a": [0.5, 0.95], "b": [0.95, 0.95]},
        ),
        (
            faster(A, B),
            {"a": [0.5, 0.95], "b": [0.5, 0.5]},
            {"a": [0.5, 0.5], "b": [0.5, 0.5]},
        ),
        (
            faster(A, B, times=10.0),
            {"a": [0.95, 0.95, 0.95], "b": [0.1, 0.1, 0.95]},
            {"a": [0.95, 0.95, 0.95], "b": [0.1, 0.95, 0.95]},
        ),
        (
            ahead_in_the_end(A, B),
            {"a": [0.1, 0.9, 0.9], "b": [0.9, 0.8, 0.8]},
            {"a": [0.9, 0.8, 0.8], "b": [0.1, 0.9, 0.9]},
        ),
        (
            experiment_named("lakg-figure-3").verdict,
            {LAKG: [0.9], **{row: [0.5] for row in ESTIMATORS}},
            {LAKG: [0.5], **{row: [0.9] for row in ESTIMATORS}},
        ),
        (
            experiment_named("lakg-figure-5").verdict,
            {LAKG: [0.1, 0.95, 0.95]},
            {LAKG: [1.0, 1.0, 0.5]},
        ),
    ],
)
def test_what_holds_and_what_does_not(judge, held, failed):
    assert judge(learned(**held)).startswith("Holds. ")
    assert judge(learned(**failed)).startswith("Does not hold. ")


def test_both_halves_of_coarser_is_sooner():
    judge = coarser_is_sooner([A, B], early=10)
    assert judge(learned(a=[0.5, 0.98], b=[0.4, 0.99])).count("Holds.") == 2
    assert judge(learned(a=[0.4, 0.98], b=[0.5, 0.99])).count("Does not hold.") == 1
    assert judge(learned(a=[0.5, 0.6], b=[0.4, 0.7])).count("Does not hold.") == 1


def test_how_much_faster():
    text = faster(A, B)(learned(a=[0.95, 0.95, 0.95], b=[0.1, 0.1, 0.95]))
    assert "That is 100.0 times as fast." in text


@pytest.mark.parametrize(
    ("by_size", "exponent"),
    [
        ({8: 1, 64: 640, 512: 5120}, 1.0),
        ({8: 1, 64: 100, 6400: 1000}, 0.5),
        ({8: 100, 64: None, 512: None}, None),
        ({8: 100, 64: 100, 512: None}, None),
    ],
)
def test_the_exponent_of_growth(by_size, exponent):
    assert exponent_of_growth(by_size) == (exponent and pytest.approx(exponent))


@pytest.mark.parametrize(
    ("gpoks", "rival", "verdict"),
    [((20.0, 0.3), (18.0, 0.3), "Holds"), ((19.0, 0.5), (18.0, 0.5), "Does not hold")],
)
def test_a_table_holds_where_the_leader_leads_by_two_standard_errors(gpoks, rival, verdict):
    column = "0.3/1.0 t=50"
    table = Measurements([Row("gpoks", column, *gpoks), Row("b", column, *rival)])
    finding = leads_the_table("gpoks", ["b"], [column])(table)
    assert finding.startswith(f"{verdict}. gpoks ahead of b")
