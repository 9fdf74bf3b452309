"""The figures of the robot, from runs that are made up: each claim once held, once not."""

import numpy as np
import pytest

from pollwise.experiments.papers.robot import EXPERIMENTS
from pollwise.experiments.robot_traversals import (
    GREEDY,
    LEARNER,
    RANDOM,
    TOPICS,
    TRAVERSALS,
    Runs,
    recorded_graph,
)

LAST = TRAVERSALS[LEARNER]


def runs(**shares: np.ndarray) -> dict[tuple[str, str], Runs]:
    """Made-up performances; all request the pages in the order of their ids."""
    names = {"learner": LEARNER, "greedy": GREEDY, "chance": RANDOM}
    order = np.arange(len(recorded_graph(TOPICS[0])))
    return {
        (names[name], topic): Runs(values, np.tile(order, (len(values), 1)))
        for name, values in shares.items()
        for topic in TOPICS
    }


def learner(first: float, last: float) -> np.ndarray:
    """Two trials that differ by one percent point."""
    return np.linspace([first, first + 0.01], [last, last + 0.01], LAST).T


def constant(share: float, traversals: int = 1) -> np.ndarray:
    return np.full((2, traversals), share)


def holds(name: str, played: dict[tuple[str, str], Runs]) -> list[bool]:
    figure = EXPERIMENTS[name]
    measured = figure.play.show(played)
    return [claim.judge(measured).holds for claim in figure.claims]


def test_figure_3_has_the_last_traversal_beside_96_percent():
    played = runs(learner=learner(0.4, 0.95), greedy=constant(0.6), chance=constant(0.5, 20))
    figure = EXPERIMENTS["robot-figure-3"]
    measured = figure.play.show(played)
    last = measured.cell("request controller, 30 traversals", "physics")
    assert (last.value, last.stderr) == (pytest.approx(95.5), pytest.approx(0.5))
    assert figure.published[last.row, "storms"].value == 96
    assert measured.value("random", "storms") == pytest.approx(50.0)
    # .405 + .55 n / 29 is above .6 from n = 11 on: after 11 traversals.
    assert measured.value("passes fringe greedy", "physics") == 11
    assert set(figure.published) <= {(row.row, row.column) for row in measured.rows}
    assert len(measured.curves[0].x) == LAST


def test_claims_of_figure_3():
    played = runs(learner=learner(0.4, 0.95), greedy=constant(0.6), chance=constant(0.5, 20))
    assert holds("robot-figure-3", played) == [True, False, True]
    played = runs(learner=learner(0.6, 0.9), greedy=constant(0.65), chance=constant(0.5, 20))
    assert holds("robot-figure-3", played) == [False, True, False]
    never = runs(learner=learner(0.4, 0.9), greedy=constant(0.99), chance=constant(0.5, 20))
    assert holds("robot-figure-3", never) == [False, False, True]


def test_figures_4_and_5_draw_a_point_a_request():
    played = runs(greedy=constant(0.9), learner=learner(0.4, 0.97))
    measured = EXPERIMENTS["robot-figure-5"].play.show(played)
    assert [curve.label for curve in measured.curves] == ["upper bound", "fringe greedy"]
    best, drawn = (np.array(curve.y) for curve in measured.curves)
    relevance = recorded_graph("physics").relevance
    assert measured.points
    assert drawn.tolist() == relevance[:700].tolist()
    assert best[0] == relevance.max()
    assert np.all(np.diff(best) <= 0)


def test_claims_of_figures_4_and_5():
    near = runs(learner=learner(0.4, 0.97))
    far = runs(learner=learner(0.4, 0.8))
    assert holds("robot-figure-4", near) == [True]
    assert holds("robot-figure-4", far) == [False]
    assert holds("robot-figure-5", runs(greedy=constant(0.99)) | near) == [False, False]
    greedy = runs(greedy=constant(0.8))
    for topic in TOPICS:
        order = np.argsort(-recorded_graph(topic).relevance)[None].repeat(2, axis=0)
        greedy[GREEDY, topic] = Runs(constant(0.8), order)
    assert holds("robot-figure-5", greedy | near) == [True, True]


def test_trials():
    assert all(each.trials >= 5 for each in EXPERIMENTS.values())
