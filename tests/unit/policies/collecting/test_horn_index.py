"""The best order of fetching, against all orders of small webs."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.experiments.robot_traversals import recorded_graph
from pollwise.policies.collecting.horn_index import horn_index

Web = dict[int, list[int]]


def arrays(web: Web, pages: int) -> tuple[np.ndarray, np.ndarray]:
    rows = [web.get(page, []) for page in range(pages)]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return offsets, np.array([target for row in rows for target in row], np.int64)


def best_value(web: Web, relevance: list[float]) -> float:
    """Of all orders in which the pages can be fetched."""
    reached, waiting = {0}, [0]
    while waiting:
        new = set(web.get(waiting.pop(), [])) - reached
        reached |= new
        waiting += new

    @cache
    def remaining(fetched: frozenset[int]) -> float:
        fringe = {0}.union(*(web.get(page, []) for page in fetched)) - fetched
        left = len(reached) - len(fetched)
        return max(
            (relevance[page] * left + remaining(fetched | {page}) for page in fringe), default=0.0
        )

    return remaining(frozenset())


def value(relevance: list[float], order: list[int]) -> float:
    return sum(relevance[page] * (len(order) - place) for place, page in enumerate(order))


def solved(web: Web, relevance: list[float]):
    offsets, targets = arrays(web, len(relevance))
    return horn_index(np.array(relevance), offsets, targets, np.array([0]))


def is_feasible(web: Web, order: list[int]) -> bool:
    known = {0}
    for page in order:
        if page not in known:
            return False
        known.update(web.get(page, []))
    return True


RELEVANCE = st.sampled_from([0.0, 0.0, 0.0, 0.1, 0.3, 1.0])


@st.composite
def trees(draw) -> tuple[Web, list[float]]:
    count = draw(st.integers(1, 9))
    web: Web = {}
    for page in range(1, count):
        web.setdefault(draw(st.integers(0, page - 1)), []).append(page)
    return web, draw(st.lists(RELEVANCE, min_size=count, max_size=count))


@st.composite
def webs(draw) -> tuple[Web, list[float]]:
    count = draw(st.integers(1, 7))
    targets = st.lists(st.integers(0, count - 1), unique=True, max_size=count)
    web = {page: draw(targets) for page in range(count)}
    return web, draw(st.lists(RELEVANCE, min_size=count, max_size=count))


@given(trees())
def test_on_a_tree_no_order_is_better(drawn):
    web, relevance = drawn
    index = solved(web, relevance)
    best = best_value(web, relevance)
    assert is_feasible(web, index.order.tolist())
    assert value(relevance, index.order.tolist()) == pytest.approx(best)


@given(webs())
def test_on_any_web_the_order_can_be_followed_and_is_near_the_best(drawn):
    web, relevance = drawn
    index = solved(web, relevance)
    best = best_value(web, relevance)
    assert is_feasible(web, index.order.tolist())
    assert value(relevance, index.order.tolist()) >= 0.75 * best


@given(webs())
def test_rank_and_density_go_with_the_order(drawn):
    web, relevance = drawn
    index = solved(web, relevance)
    order = index.order.tolist()
    unreached = set(range(len(relevance))).difference(order)
    assert index.rank[order].tolist() == list(range(len(order)))
    assert {int(index.rank[page]) for page in unreached} <= {len(relevance)}
    along = index.density[order]
    assert (np.diff(along) <= 1e-12).all()
    assert along.sum() == pytest.approx(sum(relevance[page] for page in order))


def test_what_lies_behind_an_irrelevant_page_draws_it_forward():
    index = solved({0: [1, 2], 2: [3]}, [0.0, 0.2, 0.0, 0.9])
    assert index.order.tolist() == [0, 2, 3, 1]
    assert index.density.tolist() == pytest.approx([0.3, 0.2, 0.3, 0.3])


def test_a_page_waits_for_any_of_those_that_link_to_it():
    # 4 can be had behind 3, which is irrelevant, or behind 1 and 2, which are to be fetched anyway.
    index = solved({0: [1, 3], 1: [2], 2: [4], 3: [4]}, [0.0, 0.8, 0.8, 0.0, 0.9])
    assert index.order.tolist() == [0, 1, 2, 4, 3]


def test_several_starts():
    offsets, targets = arrays({}, 3)
    index = horn_index(np.array([0.1, 0.0, 0.5]), offsets, targets, np.array([0, 2, 0]))
    assert index.order.tolist() == [2, 0]
    assert index.rank.tolist() == [1, 3, 0]


def test_nothing_known():
    nothing = np.zeros(0, np.int64)
    assert horn_index(np.zeros(0), np.zeros(1, np.int64), nothing, nothing).order.tolist() == []


def test_recorded_pages():
    for topic, share in {"physics": 0.999, "storms": 0.998}.items():
        graph = recorded_graph(topic)
        order = horn_index(graph.relevance, graph.offsets, graph.targets, np.array([0])).order
        reached = np.cumsum(graph.relevance[order]) / graph.relevance.sum()
        assert reached.sum() > share * graph.best_recall[1:].sum()
