"""Traversals of a recorded graph by request controllers: what the figures of the robot share.

The documents of O'Meara and Patel are not available. The graph here is that of Wikispeedia, which
comes with the package, with its two topics. Their controllers run on it.
"""

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from pollwise.experiments.experiment import Effort, Measurements
from pollwise.experiments.workers import workers
from pollwise.policies.catalogue import COLLECTING, CollectingSetting
from pollwise.simulation.scores.summary import Mean, mean_of
from pollwise.simulation.traversal import traverse
from pollwise.simulation.worlds.graph import Graph

__all__ = [
    "GREEDY",
    "LEARNER",
    "RANDOM",
    "TOPICS",
    "TRAVERSALS",
    "Runs",
    "RunsByPolicy",
    "TraversalFigure",
    "passed_over",
    "play_traversals",
    "recorded_graph",
]

TOPICS = ("physics", "storms")
LEARNER, GREEDY, RANDOM = "robot-q", "fringe-greedy", "random"
TRAVERSALS: Mapping[str, int] = {LEARNER: 30, GREEDY: 1, RANDOM: 20}
"""How many each makes in a trial. Only the first learns; those of chance are averaged."""


@cache
def recorded_graph(topic: str) -> Graph:
    """The graph that comes with the package."""
    return Graph.bundled(topic)


@dataclass(frozen=True, eq=False)
class Runs:
    """Results of one policy and topic; the first axis is the trial.

    `shares` are the performances of its traversals (the second axis), as shares of the upper
    bound; `requested` are the pages that the last one requested, in this order.
    """

    shares: NDArray[np.float64]
    requested: NDArray[np.int64]

    def share(self, traversal: int) -> Mean:
        """The share of the upper bound in a traversal, counted from 1."""
        return mean_of(self.shares[:, traversal - 1].tolist())

    @property
    def average(self) -> Mean:
        """The share of the upper bound, averaged over traversals."""
        return mean_of(self.shares.mean(axis=1).tolist())


RunsByPolicy = Mapping[tuple[str, str], Runs]
"""Runs by policy and topic."""


@dataclass(frozen=True)
class TraversalFigure:
    """Measures traversals by `policies`; `show` makes the figure from the runs of all."""

    policies: Sequence[str]
    show: Callable[[RunsByPolicy], Measurements]

    def __call__(self, effort: Effort) -> Measurements:
        """Do the trials."""
        return self.show(play_traversals(self.policies, effort))


def play_traversals(policies: Sequence[str], effort: Effort) -> RunsByPolicy:
    """Traverse with these policies; each trial has its own random numbers."""
    cases = [
        (policy, topic, seed)
        for policy in policies
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
    results = traverse(graph, controller, TRAVERSALS[policy])
    shares = np.array([[result.of_upper_bound for result in results]])
    return case, Runs(shares, results[-1].requested[None])


def _joined(runs: Sequence[Runs]) -> Runs:
    return Runs(
        np.concatenate([each.shares for each in runs]),
        np.concatenate([each.requested for each in runs]),
    )


def passed_over(graph: Graph, requested: Sequence[int]) -> list[bool]:
    """For each request, whether there was a more relevant document in the fringe.

    `requested` are the pages in the order of their requests, from the start page on. That of
    fringe greedy passes over none.
    """
    best: list[tuple[float, int]] = []
    seen, done = {Graph.START}, set[int]()
    result = []
    for page_id in requested:
        while best and best[0][1] in done:
            heapq.heappop(best)
        result.append(bool(best) and -best[0][0] > graph.relevance[page_id])
        done.add(page_id)
        for target in graph.links(page_id).targets.tolist():
            if target not in seen:
                seen.add(target)
                heapq.heappush(best, (-float(graph.relevance[target]), target))
    return result
