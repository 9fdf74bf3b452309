"""Figures of learning: who is in them, at which points, and how environments stand side by side."""

import pytest

from pollwise.experiments.experiment import Effort
from pollwise.experiments.learning import classical_scores, learn
from pollwise.experiments.scenario import ConfiguredPolicy, Environment
from pollwise.experiments.score_figure import ScoreFigure, at, share_at, shares

EFFORT = Effort(trials=3, cores=1, report=lambda text: None)
WORLD = Environment(pages=8, alpha=0.3, beta=1.0)
SHUFFLED = Environment(pages=8, alpha=0.3, beta=1.0, perturbations=None)
TREE = ConfiguredPolicy("tree", "htraa", {"resolution": 50})
TREE_TOO = ConfiguredPolicy("tree, shuffled", "htraa", {"resolution": 50})


def test_a_curve_for_each_learner_in_its_environment_a_table_and_levels():
    figure = ScoreFigure(learners={WORLD: [TREE], SHUFFLED: [TREE_TOO]}, marks=(200, 500))
    measured = figure(EFFORT)
    assert [curve.label for curve in measured.curves] == ["tree", "tree, shuffled"]
    assert all(curve.x[0] >= 100 and curve.x[-1] == 500 for curve in measured.curves)
    assert measured.log_x
    assert measured.levels == classical_scores(WORLD)
    assert measured.value("optimal", at(500)) == measured.levels["optimal"]
    for curve in measured.curves:
        assert measured.value(curve.label, at(500)) == curve.y[-1]
        assert measured.cell(curve.label, "polls to 90 %")
    assert measured.curves[0].y != measured.curves[1].y


def test_points_on_a_linear_axis_and_just_after_seldom_changes():
    often = Environment(pages=8, alpha=0.3, beta=1.0, swap_every=10)
    seldom = Environment(pages=8, alpha=0.3, beta=1.0, swap_every=150)
    for environment, points in (
        (often, [50, 100, 150, 200, 250, 300]),
        (seldom, [50, 100, 150, 151, 200, 250, 300]),
    ):
        measured = ScoreFigure(learners={environment: [TREE]}, marks=(300,), every=50)(EFFORT)
        assert list(measured.curves[0].x) == points
        assert not measured.log_x


def test_shares_of_the_optimum_side_by_side():
    other = Environment(pages=8, alpha=0.3, beta=1.5)
    rows = {(row.row, row.column): row for row in shares([WORLD, other], [TREE], 300, EFFORT)}
    levels = classical_scores(other)
    assert rows["uniform", share_at(other)].value == levels["uniform"] / levels["optimal"]
    for world in (WORLD, other):
        learned = rows["tree", share_at(world)]
        assert rows["uniform", share_at(world)].value < learned.value < 1.0
        assert 0.0 < learned.stderr < 0.1
    (alone,) = learn([WORLD], [TREE], (300,), EFFORT)
    expected = alone.score("tree", 300).value / classical_scores(WORLD)["optimal"]
    assert rows["tree", share_at(WORLD)].value == pytest.approx(expected)
