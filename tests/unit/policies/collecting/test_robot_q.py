"""Q-values of local states, learned from the trees of what was discovered."""

import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.policies.collecting.robot_q import RobotQ
from pollwise.simulation.traversal import traverse
from pollwise.simulation.worlds.graph import Graph
from pollwise.types import Links, Observation, Outcome, Page


def robot(discount: float = 0.5) -> RobotQ:
    return RobotQ(generator=np.random.default_rng(0), discount=discount)


def request(controller: RobotQ, page_id: int, now: float, relevance: float, *targets: int) -> None:
    """Poll a page that links to new pages."""
    controller.observe([Observation(page_id, now, Outcome.CHANGED, relevance=relevance)])
    controller.add([Page(target) for target in targets])
    controller.link(page_id, Links(np.array(targets, np.int64), [""] * len(targets)))


def test_the_return_is_discounted_along_the_tree():
    controller = robot()
    controller.add([Page(0)])
    request(controller, 0, 1.0, 0.0, 1, 2)
    request(controller, 1, 2.0, 0.0, 3)
    request(controller, 2, 3.0, 0.5)
    request(controller, 3, 4.0, 0.8)
    # From state 0 two requests: 2 brought 0.5; 1 brought nothing, but two requests later 3.
    assert controller.q_values(0) == pytest.approx(((0.5 + 0.8 / 4) / 2, (0.5 + 0.8 / 4) / 4))
    assert controller.q_values(1) == pytest.approx((0.8, 0.4))
    assert controller.q_values(3) == (0.0, 0.0)


def test_pages_of_the_best_discoverer_come_first():
    controller = robot()
    controller.add([Page(0)])
    request(controller, 0, 1.0, 0.0, 1, 2)
    request(controller, 1, 2.0, 0.0, 3, 4)
    request(controller, 2, 3.0, 0.0, 5, 6)
    request(controller, 5, 4.0, 0.9)
    assert controller.select(5.0, 1).page_ids.tolist() == [6]


def test_a_second_look_teaches_nothing():
    controller = robot()
    controller.add([Page(0)])
    request(controller, 0, 1.0, 0.0, 1)
    request(controller, 1, 2.0, 0.5)
    before = controller.q_values(0)
    controller.observe([Observation(1, 3.0, Outcome.UNCHANGED, relevance=1.0)])
    controller.observe([Observation(1, 2.0, Outcome.CHANGED, relevance=1.0)])
    assert controller.q_values(0) == before


def test_links_that_come_late():
    controller = robot()
    controller.add([Page(0)])
    controller.observe([Observation(0, 1.0, Outcome.CHANGED, relevance=0.0)])
    controller.add([Page(1)])
    assert controller.select(2.0, 1).page_ids.tolist() == [1]
    controller.link(0, Links(np.array([1]), [""]))
    controller.observe([Observation(1, 2.0, Outcome.CHANGED, relevance=0.5)])
    assert controller.q_values(0)[0] == 0.5


def test_a_page_that_was_requested_already_has_no_later_discoverer():
    controller = robot()
    controller.add([Page(0)])
    request(controller, 0, 1.0, 0.0, 1)
    request(controller, 1, 2.0, 0.0)
    controller.link(1, Links(np.array([0]), [""]))
    controller.add([Page(2)])
    controller.link(1, Links(np.array([0, 2]), ["", ""]))
    request(controller, 2, 3.0, 0.4)
    assert controller.q_values(1)[0] == pytest.approx(0.4)
    assert controller.q_values(0)[0] == pytest.approx(0.2)


def test_pages_that_discovered_each_other_anew():
    controller = robot()
    controller.add([Page(0), Page(1)])
    request(controller, 0, 1.0, 0.0)
    controller.link(0, Links(np.array([1]), [""]))
    request(controller, 1, 2.0, 0.1)
    controller.discard([0])
    controller.add([Page(0)])
    controller.link(1, Links(np.array([0]), [""]))
    request(controller, 0, 3.0, 0.7)
    assert controller.q_values(1)[0] == pytest.approx(0.7)


def test_what_was_learned_is_used_in_the_next_traversal():
    pages, gates = 60, (1, 2, 3, 4, 5)
    targets = {0: [*gates]} | {gate: list(range(gate * 10, gate * 10 + 10)) for gate in gates}
    sources = [source for source, row in targets.items() for _ in row]
    ends = [target for row in targets.values() for target in row]
    relevance = [1.0 if 30 <= page < 40 else 0.0 for page in range(pages)]
    graph = Graph(["a"] * pages, [""] * pages, sources, ends, [""] * len(ends), {"it": relevance})
    shares = np.array(
        [
            [result.of_upper_bound for result in traverse(graph, controller, 4)]
            for controller in (RobotQ(generator=np.random.default_rng(s)) for s in range(10))
        ]
    )
    assert shares[:, 3].mean() > shares[:, 0].mean()
    assert shares[:, 3].min() > 0.85


def test_state_is_put_into_another():
    controller, other = robot(), robot()
    controller.add([Page(0)])
    request(controller, 0, 1.0, 0.0, 1, 2)
    request(controller, 1, 2.0, 0.5)
    other.add([Page(0), Page(1), Page(2)])
    other.load_state_dict(controller.state_dict())
    assert other.q_values(0) == controller.q_values(0) == (0.5, 0.25)


def test_a_discount_that_cannot_be():
    with pytest.raises(InputError, match=r"robot-q: discount=1\.5"):
        robot(1.5)
    with pytest.raises(InputError, match="give one below 1"):
        robot(1.0)
