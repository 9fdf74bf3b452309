"""The links that are followed next."""

import numpy as np

from pollwise.policies.collecting.robot import Robot
from pollwise.types import Links, Observation, Outcome, Page


def test_the_best_of_the_fringe_with_their_anchors():
    robot = Robot(generator=np.random.default_rng(0))
    assert robot.likely_links(3) == []
    robot.add([Page(n, f"http://{'ab'[n % 2]}.example/{n}") for n in range(6)])
    for page_id, relevance, targets in ((0, 0.0, (2, 4)), (1, 0.9, (3, 5))):
        seen = Observation(page_id, 1.0 + page_id, Outcome.CHANGED, relevance=relevance)
        robot.observe([seen])
        robot.link(page_id, Links(np.array(targets), [f"to {n}" for n in targets]))
    taken = robot.select(3.0, 1).page_ids.tolist()
    links = robot.likely_links(2)
    assert len(links) == 2
    assert links[0].value >= links[1].value > 0
    assert links[0].page_id in {3, 5} - {*taken}
    assert all(link.anchor == f"to {link.page_id}" for link in links)
    assert len(robot.likely_links(99)) == 3
