"""The traversals of the figures of the robot: what is run, and what a request passes over."""

import numpy as np
import pytest

from pollwise.experiments.experiment import Effort
from pollwise.experiments.robot_traversals import (
    GREEDY,
    LEARNER,
    RANDOM,
    passed_over,
    play_traversals,
    recorded_graph,
)
from pollwise.simulation.worlds.graph import Graph


def test_a_real_run(monkeypatch):
    lengths = {LEARNER: 2, GREEDY: 1, RANDOM: 2}
    monkeypatch.setattr("pollwise.experiments.robot_traversals.TRAVERSALS", lengths)
    told: list[str] = []
    played = play_traversals(tuple(lengths), Effort(trials=1, cores=1, report=told.append))
    assert told[-1] == "6 of 6 trials"
    learner, random = played[LEARNER, "storms"], played[RANDOM, "storms"]
    assert learner.shares.shape == (1, 2)
    assert random.average.value == pytest.approx(random.shares.mean())
    pages = len(recorded_graph("storms"))
    assert sorted(learner.requested[0].tolist()) == list(range(pages))
    greedy = played[GREEDY, "storms"].requested[0].tolist()
    assert not any(passed_over(recorded_graph("storms"), greedy))


def test_what_is_passed_over():
    """0 leads to 1 (.2) and 2 (.5), and 1 to 3 (.9)."""
    graph = Graph(
        ["a"] * 4, ["", "x", "y", "z"], [0, 0, 1], [1, 2, 3], [""] * 3,
        {"it": [0.0, 0.2, 0.5, 0.9]},
    )  # fmt: skip
    assert passed_over(graph, [0, 1, 2, 3]) == [False, True, True, False]
    assert passed_over(graph, [0, 2, 1, 3]) == [False] * 4
    assert passed_over(graph, np.array([0, 1, 3, 2]).tolist()) == [False, True, False, False]
