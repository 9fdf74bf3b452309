"""The parts of the robot: words of URLs, returns of subtrees, heaps, evidence, weights."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pollwise.policies.collecting.evidence import (
    BEST_LINK_WORD,
    BEST_NEAR,
    DIRECTORY,
    LINKING,
    N_EVIDENCE,
    correct,
    gather,
    learn,
    link,
)
from pollwise.policies.collecting.known_web import KnownWeb
from pollwise.policies.collecting.returns import subtree_densities
from pollwise.policies.collecting.weights import FIRST_WEIGHTS, Weights
from pollwise.policies.collecting.words import phrases, url_parts
from pollwise.policies.structures.pairing_heap import meld, taken_out
from pollwise.types import Links, Page


@given(st.text(max_size=80))
def test_any_text_has_words_and_parts(text):
    assert all(phrase == phrase.lower() for phrase in phrases(text))
    parts = url_parts(text)
    assert list(parts.directories) == sorted(parts.directories, key=len)


def test_parts_of_urls():
    assert url_parts("http://h/a/index.html").directories == ("a",)
    assert url_parts("http://h/a/").directories == ("a",)
    assert url_parts("http://h/a/b?c=1/2").directories == ("a", "a/b", "a/b/c=1/2")
    assert url_parts("http://h/?c=1").directories == ("c=1",)
    assert url_parts("http://h").host == "h"
    assert url_parts("http://h/Caf%C3%A9").words == ("café",)


def best_density(relevance, parents, root):
    """Of all subtrees that begin at the root, tried one by one."""
    pages = range(len(relevance))
    best = relevance[root]
    for chosen in itertools.product([False, True], repeat=len(relevance)):
        tree = [p for p in pages if chosen[p]]
        if chosen[root] and all(
            p == root or (parents[p] >= 0 and chosen[parents[p]]) for p in tree
        ):
            best = max(best, sum(relevance[p] for p in tree) / len(tree))
    return best


@given(st.data())
def test_the_density_of_the_best_subtree(data):
    length = data.draw(st.integers(1, 7))
    relevance = np.array(data.draw(st.lists(st.integers(0, 9), min_size=length, max_size=length)))
    parents = np.array([data.draw(st.integers(-1, page - 1)) for page in range(length)])
    found = subtree_densities(relevance / 10, parents)
    expected = [best_density(relevance / 10, parents, root) for root in range(length)]
    assert np.allclose(found, expected)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(0, 5))
def test_weights_are_those_of_least_squares_with_the_first_weights_as_data(seed, fetched, beside):
    """The precision of a first weight is as good as that many fetches that agree with it."""
    generator = np.random.default_rng(seed)
    rows = generator.random((fetched, N_EVIDENCE)).astype(np.float32)
    others = generator.random((beside, N_EVIDENCE)).astype(np.float32)
    relevances = generator.random(fetched)
    learned = Weights()
    learned.fitted(rows[: fetched // 2], np.zeros(fetched // 2), others, 3.0)
    weights = learned.fitted(rows, relevances, others, 3.0)
    roots = np.sqrt(np.diag(Weights()._moments))
    share = np.sqrt(min(3.0 / max(beside, 1), 1.0))
    design = np.vstack([np.diag(roots), rows, share * others])
    targets = np.concatenate([roots * FIRST_WEIGHTS, relevances, np.zeros(beside)])
    assert np.allclose(weights, np.linalg.lstsq(design, targets)[0], atol=1e-3)


def test_evidence_that_tells_gains_weight_and_what_does_not_loses_it():
    generator = np.random.default_rng(1)
    rows = generator.random((500, N_EVIDENCE)).astype(np.float32)
    relevances = np.where(rows[:, DIRECTORY] > 0.5, 1.0, 0.0)
    weights = Weights().fitted(rows, relevances, rows[:0], 0.0)
    assert weights[DIRECTORY] > 1.0
    assert abs(weights[LINKING]) < 0.2 < FIRST_WEIGHTS[LINKING]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 50)), min_size=1, max_size=40))
def test_the_root_of_a_heap_is_the_highest(calls):
    """True puts a page in, False takes one of those inside out."""
    record = [("value", float), ("child", int), ("sibling", int), ("before", int)]
    pages = np.zeros(len(calls), record)
    for name in ("child", "sibling", "before"):
        pages[name] = -1
    root, inside = -1, []
    for page, (enters, number) in enumerate(calls):
        if enters or not inside:
            pages[page]["value"] = number
            root = meld(pages, root, page)
            inside.append(page)
        else:
            root = taken_out(pages, root, inside.pop(number % len(inside)))
        assert (root >= 0) == bool(inside)
        assert root < 0 or pages[root]["value"] == max(pages[inside]["value"])


def test_evidence_of_links_neighbours_and_directories():
    known = KnownWeb()
    known.add([Page(n, f"http://h.example/{'good' if n < 4 else 'bad'}/{n}") for n in range(6)])
    none = np.zeros(N_EVIDENCE, np.float32)
    learn(known.web, 0, none, 0.6)
    first, end = known.add_links(0, Links(np.array([1, 2, 4, 5]), ["a", "b", "c", "d"]))
    link(known.web, 0, first, end)
    learn(known.web, 1, none, 0.8)
    near, far = (np.zeros(N_EVIDENCE, np.float32) for _ in range(2))
    gather(known.web, 2, near)
    gather(known.web, 5, far)
    assert near[DIRECTORY] > far[DIRECTORY]
    assert near[LINKING] == far[LINKING] == np.float32(0.6 / 11)
    assert near[BEST_NEAR] > far[BEST_NEAR]
    assert known.add_links(0, Links(np.array([5, 3]), ["d", "e"])) == (4, 5)


def test_words_that_relevant_pages_link_with_tell_of_other_links_with_them():
    known = KnownWeb()
    known.add([Page(n, f"http://h.example/{n}") for n in range(8)])
    for source, anchors, relevance in ((0, ["Login", "News"], 0.9), (1, ["News", "Home"], 0.0)):
        learn(known.web, source, np.zeros(N_EVIDENCE, np.float32), relevance)
        first, end = known.add_links(source, Links(np.array([2, 3]) + 2 * source, anchors))
        link(known.web, source, first, end)
    first, end = known.add_links(1, Links(np.array([6, 7]), ["the login page", "home"]))
    link(known.web, 1, first, end)
    rows = [np.zeros(N_EVIDENCE, np.float32) for _ in range(2)]
    for row, page_id in zip(rows, (6, 7), strict=True):
        gather(known.web, page_id, row)
    mean = (0.9 + 0.02) / 3
    # Two pages link with "login", of which one is relevant.
    assert np.isclose(rows[0][BEST_LINK_WORD], (0.9 + 3 * mean) / 5)
    assert np.isclose(rows[1][BEST_LINK_WORD], 3 * mean / 5)


def test_a_corrected_relevance_corrects_what_the_links_of_the_page_tell():
    told_late, told_at_once = KnownWeb(), KnownWeb()
    for known, first_told in ((told_late, 0.9), (told_at_once, 0.2)):
        known.add([Page(n, f"http://h.example/{n}") for n in range(4)])
        learn(known.web, 0, np.zeros(N_EVIDENCE, np.float32), first_told)
        found = Links(np.array([1, 2, 3]), ["edit page", "edit", "edit"])
        first, end = known.add_links(0, found)
        link(known.web, 0, first, end)
    correct(told_late.web, 0, 0.2)
    for field in ("in_sum", "n_in"):
        assert np.allclose(told_late.web.pages[field], told_at_once.web.pages[field])
    for field, expected in (("link_count", 1), ("link_sum", 0.2)):
        of_words = told_late.web.words[field]
        assert np.allclose(of_words, told_at_once.web.words[field])
        # However many links have a word, it counts once.
        assert np.isclose(of_words.max(), expected)
