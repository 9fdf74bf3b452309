"""The loop in which a controller traverses a graph."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.policies.collecting.oracles import FringeGreedy, RandomOrder, UpperBound
from pollwise.policies.collecting.request_controller import RequestController
from pollwise.simulation.traversal import traverse
from pollwise.simulation.worlds.graph import Graph
from pollwise.types import Links, Observation, Outcome, Page, Selection


def chain() -> Graph:
    """0 leads to 1 and 2; behind 1, which is irrelevant, is 3, the best."""
    return Graph(
        ["a"] * 4, ["", "x", "y", "z"], [0, 0, 1, 3], [1, 2, 3, 0], ["1", "2", "3", "0"],
        {"it": [0.0, 0.0, 0.25, 0.75]},
    )  # fmt: skip


class Witness(RandomOrder):
    """Notes down what it is told, and requests pages in the order of their ids."""

    def __init__(self) -> None:
        super().__init__(generator=np.random.default_rng(0))
        self.told: list[object] = []

    def _groups(self, pages: Sequence[Page]) -> list[float]:
        for page in pages:
            self._frontier.prioritise(page.id, -page.id)
        return [page.id for page in pages]

    def add(self, pages: Sequence[Page]) -> None:
        self.told.append(("add", [page.id for page in pages]))
        super().add(pages)

    def observe(self, observations: Sequence[Observation]) -> None:
        self.told.append(observations[0])
        super().observe(observations)

    def link(self, page_id: int, links: Links) -> None:
        self.told.append(("link", page_id, links.targets.tolist(), list(links.anchors)))

    def begin_traversal(self) -> None:
        self.told.append("begin")
        super().begin_traversal()


def observed(page_id: int, now: float, relevance: float) -> Observation:
    return Observation(page_id, now, Outcome.CHANGED, relevance=relevance)


def test_what_a_controller_is_told():
    witness = Witness()
    traverse(chain(), witness, requests=2, traversals=2)
    once = [
        ("add", [0]),
        observed(0, 1.0, 0.0),
        ("add", [1, 2]),
        ("link", 0, [1, 2], ["1", "2"]),
        observed(1, 2.0, 0.0),
        ("add", [3]),
        ("link", 1, [3], ["3"]),
    ]
    assert witness.told[:7] == once
    assert witness.told[7:9] == ["begin", ("add", [0])]
    assert witness.told[9] == observed(0, 3.0, 0.0)


def test_performance_is_the_integral_of_recall():
    [result] = traverse(chain(), Witness())
    assert result.recalls.tolist() == [0.0, 0.0, 0.0, 0.25, 1.0]
    assert result.best.tolist() == [0.0, 0.75, 1.0, 1.0, 1.0]
    assert result.requested.tolist() == [0, 1, 2, 3]
    assert result.performance == 1.25
    assert result.of_upper_bound == 1.25 / 3.75
    assert (result.recall(0.5), result.recall(0.75), result.recall(1.0)) == (0.0, 0.25, 1.0)


def test_a_page_counts_once_and_a_second_look_is_no_change():
    witness = Witness()
    [result] = traverse(chain(), witness, requests=6)
    assert result.recalls[-1] == 1.0
    assert len(result.best) == len(result.recalls) == 7
    outcomes = [o.outcome for o in witness.told if isinstance(o, Observation)]
    assert outcomes == [Outcome.CHANGED] * 4 + [Outcome.UNCHANGED] * 2


def test_fringe_greedy_does_not_see_behind_a_page():
    graph = chain()
    controller = FringeGreedy(relevance=graph.relevance, generator=np.random.default_rng(0))
    [result] = traverse(graph, controller)
    assert result.recalls.tolist() == [0.0, 0.0, 0.25, 0.25, 1.0]


def test_the_upper_bound_is_reached_by_who_knows_all_pages():
    graph = chain()
    controller = UpperBound(relevance=graph.relevance, generator=np.random.default_rng(0))
    results = traverse(graph, controller, 2, known=range(4))
    assert [result.of_upper_bound for result in results] == [1.0, 1.0]


def test_a_controller_that_wants_nothing_gets_nothing():
    class Idle(Witness):
        def select(self, now: float, limit: int) -> Selection:
            return Selection(np.zeros(0, np.int64), math.inf)

    [result] = traverse(chain(), Idle())
    assert result.performance == result.of_upper_bound == 0.0
    assert result.requested.tolist() == [-1] * 4


def test_a_graph_without_relevant_pages():
    graph = Graph(["a"], [""], [], [], [], {"it": [0.0]})
    [result] = traverse(graph, Witness())
    assert result.of_upper_bound == 0.0


def test_nothing_to_do():
    with pytest.raises(InputError, match="must be 1 at least"):
        traverse(chain(), Witness(), 0)
    with pytest.raises(InputError, match="must be 1 at least"):
        traverse(chain(), Witness(), requests=0)


def test_they_are_request_controllers():
    assert isinstance(Witness(), RequestController)
