"""The search for gates: near relevant pages, and by host."""

import numpy as np
import pytest

from pollwise.policies.collecting.fringe import FringeValue
from pollwise.policies.collecting.fringe_queue import block_host
from pollwise.policies.collecting.gates import GateSearch
from pollwise.policies.collecting.known_web import FETCHED, FRINGE, HELD, KnownWeb
from pollwise.types import Links, Page


class Search:
    """A search in a small web, in which each page links to the next three."""

    def __init__(self, hosts, seed=0):
        self.known = KnownWeb()
        self.known.add([Page(n, f"http://{host}/{n}") for n, host in enumerate(hosts)])
        self.web = self.known.web
        self.web.pages["where"] = FRINGE
        self.gates = GateSearch(np.random.default_rng(seed))
        for page in range(len(hosts)):
            self.gates.seen(page, int(self.web.pages["host"][page]))

    def fetch(self, page, relevance, *targets):
        self.web.pages["where"][page] = FETCHED
        self.gates.fetched(self.web, page, relevance)
        self.known.add_links(page, Links(np.array(targets), [""] * len(targets)))
        self.gates.linked(self.web, page, np.array(targets, np.int32))

    def take(self, fetches=1000):
        """Take pages until there was a gate; gives it."""
        for _ in range(100_000):
            page = self.gates.next_page(self.web, fetches)
            assert page == self.gates.next_page(self.web, fetches)
            self.gates.taken(-2 if page is None else page)
            if page is not None:
                self.web.pages["where"][page] = FETCHED
                return page
        raise AssertionError("no gate was named")


def test_distances_are_those_of_a_breadth_first_search():
    search = Search(["h"] * 12)
    search.fetch(0, 0.0, 1, 2)
    search.fetch(1, 0.7, 3, 4)
    search.fetch(3, 0.0, 5, 6, 4)
    search.fetch(5, 0.0, 7)
    search.fetch(2, 0.2, 6)  # is nearer now
    far = int(search.web.pages["distance"][0])
    assert far > 1_000_000
    assert search.web.pages["distance"][:8].tolist() == [far, 0, 0, 1, 1, 2, 1, 3]


def test_pages_near_relevant_ones_come_first_and_no_page_twice():
    pages = 300
    search = Search([f"h{n % 7}" for n in range(pages)])
    search.fetch(0, 0.0, *range(1, 200))
    search.fetch(200, 1.0, 201, 202, 203)
    search.fetch(201, 0.0, 204, 205, 206)
    for _ in range(2000):
        search.gates.fetched(search.web, -1, 0.0)
    gates = [search.take() for _ in range(12)]
    near = [page for page in gates if page in range(202, 207)]
    assert sorted(near) == [202, 203, 204, 205, 206]
    assert len({*gates}) == 12
    assert gates.index(202) < gates.index(203)
    assert gates.index(204) < gates.index(205) < gates.index(206)


def test_no_page_of_a_blocked_host_is_named():
    search = Search(["a", "b"] * 40)
    search.fetch(0, 1.0, *range(1, 60))
    block_host(search.web, 1, 1)
    assert {page % 2 for page in (search.take() for _ in range(30))} == {0}
    block_host(search.web, 1, -1)
    assert any(page % 2 for page in (search.take() for _ in range(10)))


def test_pages_of_a_blocked_host_in_a_row_hide_no_others():
    search = Search(["a"] * 20 + ["b"] * 20)
    search.fetch(20, 1.0, *range(20), *range(21, 40))
    block_host(search.web, 1, 1)
    assert {search.take() for _ in range(15)} <= {*range(21, 40)}
    block_host(search.web, 1, -1)
    rest = {search.take() for _ in range(24)}
    assert {*range(20)} <= rest


def test_a_page_that_was_held_comes_again():
    search = Search(["a"] * 4)
    search.fetch(0, 1.0, 1, 2)
    search.web.pages["where"][1] = HELD
    assert {search.take(), search.take()} == {2, 3}
    search.web.pages["where"][1] = FRINGE
    assert search.take() == 1


def test_what_is_judged_anew_brings_its_links_near():
    fringe = FringeValue(np.random.default_rng(0))
    fringe.seen([Page(n, f"http://h/{n}") for n in range(5)])
    distances = fringe._known.web.pages["distance"]
    fringe.fetched(0, 0.0)
    fringe.linked(0, Links(np.array([1, 2]), ["", ""]))
    fringe.linked(0, Links(np.array([3]), [""]))
    assert distances[:4].min() > 1_000_000
    fringe.corrected(0, 0.4)
    assert distances[:4].tolist() == [0, 1, 1, 1]
    assert distances[4] > 1_000_000


def test_it_begins_late_and_ends():
    search = Search(["a"] * 40)
    assert {search.gates.next_page(search.web, 5) for _ in range(200)} == {None}
    search.take()
    search.gates.stop()
    for _ in range(500):
        assert search.gates.next_page(search.web, 1000) is None
        search.gates.taken(-2)


def share_of_gates(lately, *near):
    """The share of gates in what is taken, once values have found so much of their best."""
    search = Search(["a", "b"])
    search.web.pages["distance"][0] = 0
    search.gates.linked(search.web, 0, np.array(near, np.int32))
    for relevance in (1.0, lately):
        for _ in range(1000):
            search.gates.fetched(search.web, 1, relevance)
    search.web.pages["where"][:2] = FRINGE
    named = 0
    for _ in range(4000):
        named += search.gates.next_page(search.web, 1000) is not None
        search.gates.taken(-2)
    return named / 4000


@pytest.mark.parametrize("lately", [0.0, 0.2, 0.5, 1.0])
def test_the_shares_fall_with_what_values_find(lately):
    missing = 1.0 - lately
    by_host = max(0.15 * missing**2, 0.005)
    assert share_of_gates(lately) == pytest.approx(by_host, abs=0.02)
    with_near = by_host + 0.25 * missing**4
    assert share_of_gates(lately, 1) == pytest.approx(with_near, abs=0.025)


def test_the_fringe_tells_it_of_links():
    fringe = FringeValue(np.random.default_rng(0))
    fringe.seen([Page(n, f"http://h/{n}") for n in range(3)])
    fringe.fetched(0, 0.5)
    fringe.linked(0, Links(np.array([1]), ["one"]))
    assert fringe.value(1) > 0
    assert fringe._known.web.pages["distance"][:3].tolist() == [0, 1, 1 << 30]
