"""Traversals of a recorded graph by request controllers: what the figures of the robot share.

The documents of O'Meara and Patel are not available. The graph here is that of Wikispeedia, which
comes with the package, with its two topics. Their controllers, as reconstructed in
`pollwise.policies.collecting.robot_q`, run on it beside ours.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from pollwise.experiments.experiment import Curve, Effort, Measurements, Row
from pollwise.experiments.workers import workers
from pollwise.policies.catalogue import COLLECTING, CollectingSetting
from pollwise.simulation.scores.summary import Mean, mean_of
from pollwise.simulation.traversal import traverse
from pollwise.simulation.worlds.graph import Graph

__all__ = [
    "LEARNER",
    "OTHERS",
    "OURS",
    "OUR_TRAVERSALS",
    "TOPICS",
    "TRAVERSALS",
    "Runs",
    "RunsByPolicy",
    "TraversalFigure",
    "play_traversals",
    "recall_curve",
    "recall_rows",
    "recorded_graph",
    "upper_bound_curve",
]

Floats = NDArray[np.float64]

TOPICS = ("physics", "storms")
LEARNER = "robot-q"
OTHERS = ("fringe-greedy", "random")
"""They do not learn: one traversal says it all."""
TRAVERSALS = 30
"""How many the learner makes."""
OURS = "robot"
OUR_TRAVERSALS = 2
"""After the first it knows the graph."""

_POINTS = 80
"""The recall within a traversal is kept at about this many numbers of requests."""
_SHARES = (0.01, 0.05, 0.1, 0.5)
"""Shares of the requests after which tables show the recall."""


@cache
def recorded_graph(topic: str) -> Graph:
    """The graph that comes with the package."""
    folder = resources.files("pollwise") / "data" / "graphs"
    with resources.as_file(folder) as path:
        return Graph.read(path / "wikispeedia", topic)


def _requests(graph: Graph) -> NDArray[np.int64]:
    """Numbers of requests, evenly spread in the logarithm, and those of the shares shown."""
    spread = np.geomspace(1, len(graph), _POINTS)
    return np.unique(np.append(spread, np.multiply(_SHARES, len(graph))).round().astype(np.int64))


@dataclass(frozen=True, eq=False)
class Runs:
    """Results of one policy and topic; the first axis is the trial, the second the traversal.

    `shares` are performances as shares of the upper bound; `recalls` has the recall within each
    traversal, its third axis being the number of requests.
    """

    shares: Floats
    recalls: Floats

    def share(self, traversal: int) -> Mean:
        """The share of the upper bound in a traversal, counted from 1."""
        return mean_of(self.shares[:, traversal - 1].tolist())

    @property
    def best(self) -> Mean:
        """The share of the upper bound in the best traversal of each trial."""
        return mean_of(self.shares.max(axis=1).tolist())

    @property
    def best_recalls(self) -> Floats:
        """The recalls within the best traversal of each trial."""
        best: Floats = self.recalls[np.arange(len(self.shares)), self.shares.argmax(axis=1)]
        return best


RunsByPolicy = Mapping[tuple[str, str], Runs]
"""Runs by policy and topic."""


@dataclass(frozen=True)
class TraversalFigure:
    """Measures traversals; `show` makes the figure from the runs of all policies."""

    show: Callable[[RunsByPolicy], Measurements]

    def __call__(self, effort: Effort) -> Measurements:
        """Do the trials."""
        return self.show(play_traversals(effort))


def play_traversals(effort: Effort) -> RunsByPolicy:
    """Traverse with all policies, each trial with its own random numbers to break ties."""
    cases = [
        (policy, topic, seed)
        for policy in (LEARNER, OURS, *OTHERS)
        for topic in TOPICS
        for seed in range(effort.trials)
    ]
    done: dict[tuple[str, str, int], Runs] = {}
    with workers(effort.cores) as run:
        for case, runs in run(_traversals, cases):
            done[case] = runs
            effort.report(f"{len(done)} of {len(cases)} trials")
    return {
        (policy, topic): _joined([done[policy, topic, seed] for seed in range(effort.trials)])
        for policy, topic, seed in cases
        if seed == 0
    }


def _traversals(case: tuple[str, str, int]) -> tuple[tuple[str, str, int], Runs]:
    policy, topic, seed = case
    graph = recorded_graph(topic)
    setting = CollectingSetting(graph.relevance, revisit=False, seed=seed)
    controller = COLLECTING.choose(policy).make(setting)
    traversals = {LEARNER: TRAVERSALS, OURS: OUR_TRAVERSALS}.get(policy, 1)
    results = traverse(graph, controller, traversals)
    shares = np.array([[result.of_upper_bound for result in results]])
    points = _requests(graph)
    return case, Runs(shares, np.array([[result.recalls[points] for result in results]]))


def _joined(runs: Sequence[Runs]) -> Runs:
    return Runs(
        np.concatenate([each.shares for each in runs]),
        np.concatenate([each.recalls for each in runs]),
    )


def recall_curve(label: str, topic: str, recalls: Floats) -> Curve:
    """The mean recall over trials (the first axis) by number of requests."""
    means = [mean_of(column.tolist()) for column in recalls.T]
    errors = tuple(mean.stderr or 0.0 for mean in means)
    x = tuple(map(float, _requests(recorded_graph(topic)).tolist()))
    return Curve(f"{label}, {topic}", x, tuple(mean.value for mean in means), errors)


def recall_rows(label: str, topic: str, recalls: Floats) -> list[Row]:
    """The mean recall over trials (the first axis) after shares of the requests."""
    points = _requests(recorded_graph(topic))
    rows = []
    for share in _SHARES:
        nearest = int(np.abs(points - share * points[-1]).argmin())
        mean = mean_of(recalls[:, nearest].tolist())
        rows.append(Row(label, f"{topic}, {share:.0%}", mean.value, mean.stderr))
    return rows


def upper_bound_curve(topic: str) -> Curve:
    """The recall by number of requests if no page had to be discovered."""
    graph = recorded_graph(topic)
    return recall_curve("upper bound", topic, graph.best_recall[_requests(graph)][None])
