"""The figures of the robot, from runs that are made up and from a real one."""

import numpy as np
import pytest

from pollwise.experiments.experiment import Effort
from pollwise.experiments.registry import experiment_named
from pollwise.experiments.robot_traversals import (
    LEARNER,
    OTHERS,
    OURS,
    TOPICS,
    TRAVERSALS,
    Runs,
    play_traversals,
    recorded_graph,
    upper_bound_curve,
)

FIGURES = ["robot-figure-3", "robot-figure-4", "robot-figure-5"]


def made_up(shares: np.ndarray) -> Runs:
    """The recall within a traversal is what its share is."""
    points = len(upper_bound_curve(TOPICS[0]).x)
    return Runs(shares, np.repeat(shares[:, :, None], points, axis=2))


@pytest.fixture(scope="module")
def play() -> dict[tuple[str, str], Runs]:
    rising = np.linspace([0.5, 0.6], [0.96, 0.98], TRAVERSALS).T
    runs = {(LEARNER, topic): made_up(rising) for topic in TOPICS}
    runs |= {(OURS, topic): made_up(np.array([[0.9, 1.0]] * 2)) for topic in TOPICS}
    for name, share in zip(OTHERS, (0.8, 0.4), strict=True):
        runs |= {(name, topic): made_up(np.full((2, 1), share)) for topic in TOPICS}
    return runs


def test_the_upper_bound_curve_ends_with_all():
    curve = upper_bound_curve("storms")
    assert curve.x[-1] == len(recorded_graph("storms"))
    assert curve.y[-1] == pytest.approx(1.0)


def test_performance_over_traversals(play):
    figure = experiment_named("robot-figure-3")
    measured = figure.play.show(play)
    values = {(row.row, row.column): row.value for row in measured.rows}
    assert values[LEARNER, "physics, best"] == pytest.approx(0.97)
    assert values[LEARNER, "storms, no. 1"] == pytest.approx(0.55)
    assert values["robot", "storms, no. 2"] == 1.0
    assert values["random", "storms, no. 1"] == pytest.approx(0.4)
    assert values[LEARNER, "physics, passes greedy"] == 19
    assert figure.finding(measured).count("Holds") == 2
    assert figure.published.keys() <= values.keys()
    assert len(measured.curves[0].x) == TRAVERSALS


def test_a_learner_that_never_passes_fringe_greedy(play):
    better = {(OTHERS[0], topic): made_up(np.full((2, 1), 0.99)) for topic in TOPICS}
    figure = experiment_named("robot-figure-3")
    finding = figure.finding(figure.play.show(play | better))
    assert "Does not hold. physics never, storms never." in finding


@pytest.mark.parametrize("name", ["robot-figure-4", "robot-figure-5"])
def test_recall_within_traversals(play, name):
    figure = experiment_named(name)
    measured = figure.play.show(play)
    assert figure.finding(measured).startswith("Holds")
    assert {row.column for row in measured.rows} >= {"physics, 1%", "storms, 50%"}
    assert {curve.label for curve in measured.curves} >= {"upper bound, physics"}


@pytest.mark.parametrize("name", FIGURES)
def test_at_least_fifteen_trials(name):
    assert experiment_named(name).trials >= 15


def test_a_real_run(monkeypatch):
    monkeypatch.setattr("pollwise.experiments.robot_traversals.TRAVERSALS", 2)
    told: list[str] = []
    played = play_traversals(Effort(trials=1, cores=1, report=told.append))
    assert told[-1] == "8 of 8 trials"
    assert played[LEARNER, "storms"].shares.shape == (1, 2)
    assert played["random", "storms"].shares.shape == (1, 1)
