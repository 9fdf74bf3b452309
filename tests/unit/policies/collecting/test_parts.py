"""The parts of the robot: words of URLs, returns of subtrees, trees, heaps, evidence."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pollwise.policies.collecting.evidence import N_EVIDENCE, gather, learn, link
from pollwise.policies.collecting.known_web import KnownWeb
from pollwise.policies.collecting.returns import subtree_densities
from pollwise.policies.collecting.trees import boosted, no_trees, predict
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


def test_trees_learn_a_step():
    generator = np.random.default_rng(1)
    rows = generator.random((500, 3)).astype(np.float32)
    targets = np.where(rows[:, 1] > 0.5, 1.0, 0.0)
    trees = boosted(rows, targets, np.ones(500), generator)
    low, high = (np.array([0.5, x, 0.5], np.float32) for x in (0.2, 0.8))
    assert predict(trees, low) < 0.1
    assert predict(trees, high) > 0.9
    assert predict(no_trees(), low) == 0.0


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
    first, end = known.add_links(0, Links(np.array([1, 2, 4, 5]), ["a", "b", "c", "d"]))
    learn(known.web, 0, 0.6)
    link(known.web, 0, first, end)
    learn(known.web, 1, 0.8)
    near, far = (np.zeros(N_EVIDENCE, np.float32) for _ in range(2))
    gather(known.web, 2, near)
    gather(known.web, 5, far)
    directory, highest_of_links, neighbours = 0, 7, 13
    assert near[directory] > far[directory]
    assert near[highest_of_links] == far[highest_of_links] == np.float32(0.6)
    assert near[neighbours] > far[neighbours]
    assert known.add_links(0, Links(np.array([5, 3]), ["d", "e"])) == (4, 5)
