"""One queue of new and held pages: failures, pages gone, busy hosts, restarts."""

import numpy as np
import pytest

from pollwise.policies.collecting.robot import Robot
from pollwise.types import Links, Observation, Outcome, Page

HOUR = 3600.0
"""Longer than a page rests after its first copy."""


def robot() -> Robot:
    return Robot(generator=np.random.default_rng(0))


def page(number: int, host: str = "h.example") -> Page:
    return Page(number, f"http://{host}/{number}", host)


def told(controller: Robot, page_id: int, now: float, outcome: Outcome, relevance=None) -> None:
    controller.observe([Observation(page_id, now, outcome, relevance=relevance)])


def link(controller: Robot, source: int, *targets: int) -> None:
    controller.link(source, Links(np.array(targets, np.int64), [f"to {t}" for t in targets]))


def selected(controller: Robot, now: float, limit: int = 20) -> list[int]:
    return controller.select(now, limit).page_ids.tolist()


def test_a_new_page_that_fails_comes_later_each_time():
    controller = robot()
    controller.add([page(n) for n in range(4)])
    first = selected(controller, 1.0, 1)[0]
    told(controller, first, 1.0, Outcome.FAILED)
    order = selected(controller, 2.0)
    assert order[-1] == first
    assert sorted(order) == [0, 1, 2, 3]


def test_a_failure_told_twice_counts_once():
    controller = robot()
    controller.add([page(n) for n in range(2)])
    for _ in range(2):
        told(controller, 0, 1.0, Outcome.FAILED)
    value = controller._failed[0]
    told(controller, 0, 2.0, Outcome.FAILED)
    assert controller._failed[0][1] == pytest.approx(value[1] / 2)


@pytest.mark.parametrize("held", [True, False])
def test_a_page_that_is_gone_comes_back_with_a_new_link(held):
    controller = robot()
    controller.add([page(n) for n in range(3)])
    if held:
        told(controller, 1, 1 * HOUR, Outcome.CHANGED, 0.5)
    told(controller, 1, 2 * HOUR, Outcome.GONE)
    told(controller, 0, 2 * HOUR, Outcome.CHANGED, 0.1)
    told(controller, 2, 2 * HOUR, Outcome.CHANGED, 0.1)
    assert sorted(selected(controller, 3 * HOUR)) == [0, 2]
    for now, page_id in ((4 * HOUR, 0), (5 * HOUR, 2)):
        told(controller, page_id, now, Outcome.CHANGED, 0.1)
        link(controller, page_id, 1)
        link(controller, page_id, 1)
        assert 1 in selected(controller, now)
        told(controller, 1, now + 0.5 * HOUR, Outcome.GONE)
        told(controller, 0, now + 0.5 * HOUR, Outcome.UNCHANGED)
        told(controller, 2, now + 0.5 * HOUR, Outcome.UNCHANGED)
        link(controller, page_id, 1)
        assert 1 not in selected(controller, now + 0.6 * HOUR)
        told(controller, 0, now + 0.7 * HOUR, Outcome.UNCHANGED)
        told(controller, 2, now + 0.7 * HOUR, Outcome.UNCHANGED)


@pytest.mark.parametrize("relevance", [None, 0.0, 0.5])
def test_no_page_of_a_busy_host_is_offered(relevance):
    """None: they are new pages."""
    controller = robot()
    controller.add([page(n, "busy.example") for n in range(50)])
    controller.add([page(n, "free.example") for n in range(50, 53)])
    if relevance is not None:
        for number in range(53):
            told(controller, number, 1.0, Outcome.CHANGED, relevance)
    while True:
        [best] = selected(controller, 100.0, 1)
        if best < 50:
            break
        told(controller, best, 100.0, Outcome.UNCHANGED, relevance)
    controller.defer([best], 160.0)
    assert all(number >= 50 for number in selected(controller, 159.0))
    assert controller.select(159.0, 1).wake_at == 160.0
    assert len([number for number in selected(controller, 160.0, 60) if number < 50]) == 50


def test_a_page_that_failed_waits_with_its_host():
    controller = robot()
    controller.add([page(0), page(1), page(2, "free.example")])
    told(controller, 0, 1.0, Outcome.FAILED)
    while (best := selected(controller, 2.0, 1)) != [1]:
        told(controller, best[0], 2.0, Outcome.CHANGED, 0.0)
    controller.defer([1], 60.0)
    assert 0 not in selected(controller, 59.0)
    assert 0 in selected(controller, 60.0)


def test_a_poll_without_news_does_not_change_the_relevance():
    controller = robot()
    controller.add([page(0)])
    told(controller, 0, 1.0, Outcome.CHANGED, 0.5)
    told(controller, 0, 2.0, Outcome.UNCHANGED)
    assert controller._revisits.relevance == 0.5
    controller.rescore([0, 7], [0.25, 0.25])
    assert controller._revisits.relevance == 0.25


def test_a_relevance_told_during_a_poll_counts_after_it():
    controller = robot()
    controller.add([page(0)])
    told(controller, 0, 1 * HOUR, Outcome.CHANGED, 0.5)
    assert selected(controller, 2 * HOUR) == [0]
    controller.rescore([0], [0.0])
    assert selected(controller, 3 * HOUR) == []
    told(controller, 0, 4 * HOUR, Outcome.UNCHANGED)
    assert controller._revisits.relevance == 0.0
    assert selected(controller, 9 * HOUR) == [0]


def test_history_fed_after_the_state_teaches_nothing_of_changes_twice():
    crawled = robot()
    pages = [page(n) for n in range(6)]
    crawled.add(pages)
    for now in range(1, 60):
        for page_id in selected(crawled, now * HOUR, 1):
            outcome = Outcome.CHANGED if page_id % 2 else Outcome.UNCHANGED
            told(crawled, page_id, now * HOUR, outcome, page_id / 10)
    state = crawled.state_dict()
    polled_at = dict(zip(state["page_ids"].tolist(), state["page.polled_at"].tolist(), strict=True))
    restarted = robot()
    restarted.add(pages)
    restarted.load_state_dict(state)
    for page_id in range(6):
        told(restarted, page_id, polled_at[page_id], Outcome.CHANGED, page_id / 10)
        link(restarted, page_id, 0)
    again = restarted.state_dict()
    for name, array in state.items():
        np.testing.assert_array_equal(again[name], array, err_msg=name)
    assert restarted._fringe.knows(5)
