"""Overdue pages: earliest deadline first, and a busy host holds up nobody else's pages."""

import math

import numpy as np

from pollwise.page_columns import coded
from pollwise.scheduler.overdue import OverduePages


def taken(overdue: OverduePages, now: float, busy: dict[str, float]) -> list[int]:
    pages = []
    while (page := overdue.take(now, lambda scope: busy.get(scope, now))) is not None:
        pages.append(page)
    return pages


def test_the_earliest_deadline_comes_first_whatever_the_host() -> None:
    overdue = OverduePages()
    for page, (scope, deadline) in enumerate([("a", 5.0), ("b", 3.0), ("a", 1.0), ("b", 7.0)]):
        overdue.add(scope, deadline, page)
    assert taken(overdue, 10.0, {}) == [2, 1, 0, 3]
    assert taken(overdue, 10.0, {}) == []
    assert overdue.first_free == math.inf


def test_whether_pages_come_alone_or_together_does_not_matter() -> None:
    scopes = [f"host{page * 7 % 5}" for page in range(60)]
    deadlines = [float(page * 11 % 13) for page in range(60)]
    alone, together = OverduePages(), OverduePages()
    for page in range(60):
        alone.add(scopes[page], deadlines[page], page)
    for begin, end in ((0, 20), (20, 24), (24, 60)):
        together.extend(
            coded(scopes[begin:end]), np.array(deadlines[begin:end]), np.arange(begin, end)
        )
    for now, busy in ((20.0, {"host1": 22.0}), (21.0, {}), (22.0, {})):
        assert taken(together, now, busy) == taken(alone, now, busy)
    assert not together


def test_a_busy_host_is_looked_at_when_it_is_free() -> None:
    overdue = OverduePages()
    overdue.add("a", 1.0, 0)
    overdue.add("b", 2.0, 1)
    assert taken(overdue, 10.0, {"a": 12.0}) == [1]
    assert overdue.first_free == 12.0
    overdue.add("a", 0.5, 2)
    assert taken(overdue, 11.0, {}) == []
    overdue.look_again("a", 11.5)
    assert overdue.first_free == 11.5
    assert taken(overdue, 11.5, {}) == [2, 0]


def test_a_host_is_asked_for_once_however_many_pages_wait_for_it() -> None:
    overdue = OverduePages()
    for page in range(1000):
        overdue.add("a", float(page), page)
    asked = []

    def free_at(scope: str) -> float:
        asked.append(scope)
        return 2000.0 + len(asked)

    assert overdue.take(1500.0, free_at) is None
    assert overdue.take(1500.0, free_at) is None
    assert overdue.take(2001.0, free_at) is None
    assert len(asked) == 2
