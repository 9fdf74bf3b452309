"""The request controllers keep to the contract of a policy, and to their own."""

from collections.abc import Sequence

import numpy as np
import pytest

from pollwise.policies.base import Policy
from pollwise.policies.catalogue import COLLECTING, CollectingSetting
from pollwise.policies.collecting.oracles import FringeGreedy, RandomOrder, UpperBound
from pollwise.policies.collecting.request_controller import RequestController
from pollwise.policies.collecting.robot_q import RobotQ
from pollwise.simulation.traversal import traverse
from pollwise.simulation.worlds.graph import Graph
from pollwise.testing.policy_contract import PolicyContract
from pollwise.types import Observation, Outcome, Page


def some_relevance() -> list[float]:
    return [(page_id % 3) / 2 for page_id in range(30)]


class TestRandomOrder(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return RandomOrder(generator=np.random.default_rng(1))


class TestFringeGreedy(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return FringeGreedy(relevance=some_relevance(), generator=np.random.default_rng(1))


class TestUpperBound(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return UpperBound(relevance=some_relevance(), generator=np.random.default_rng(1))


class TestRobotQ(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return RobotQ(generator=np.random.default_rng(1))


@pytest.mark.parametrize("name", COLLECTING.names)
class TestTraversals:
    """The rules of `policies.collecting.request_controller`, as far as a caller can see them."""

    @pytest.fixture
    def graph(self) -> Graph:
        """A page leads to its three children, its parent and the start."""
        pages = 121
        ends = [[*range(3 * n + 1, 3 * n + 4), (n - 1) // 3, 0] for n in range(pages)]
        links = [(n, end) for n in range(pages) for end in ends[n] if 0 <= end < pages]
        sources, targets = zip(*links, strict=True)
        relevance = [0.5 if n % 7 == 3 else 0.0 for n in range(pages)]
        return Graph(
            ["a"] * pages, [str(n) for n in range(pages)], sources, targets,
            [str(target) for target in targets], {"it": relevance},
        )  # fmt: skip

    def controller(self, name: str, graph: Graph) -> RequestController:
        controller = COLLECTING.choose(name).make(
            CollectingSetting(graph.relevance, revisit=False, seed=5)
        )
        assert isinstance(controller, RequestController)
        return controller

    def test_every_traversal_finds_everything(self, name, graph):
        results = traverse(graph, self.controller(name, graph), 3)
        assert [result.recalls[-1] for result in results] == [pytest.approx(1.0)] * 3

    def test_the_same_calls_give_the_same_answers(self, name, graph):
        first, second = (traverse(graph, self.controller(name, graph), 2) for _ in range(2))
        for one, other in zip(first, second, strict=True):
            assert one.recalls.tolist() == other.recalls.tolist()

    def test_links_may_come_after_the_next_request(self, name, graph):
        controller = self.controller(name, graph)
        controller.add([graph.pages[n] for n in (0, 1)])
        first = controller.select(1.0, 1).page_ids.tolist()
        second = controller.select(2.0, 1).page_ids.tolist()
        assert {*first, *second} == {0, 1}
        for page_id in (*second, *first):
            observation = Observation(page_id, 3.0, Outcome.CHANGED, relevance=0.0)
            controller.observe([observation])
        controller.add([graph.pages[n] for n in (2, 3)])
        controller.link(0, graph.links(0))
        assert set(controller.select(4.0, 2).page_ids.tolist()) == {2, 3}
