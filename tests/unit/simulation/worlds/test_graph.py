"""Recorded graphs: what is read, and what is said of files that cannot be used."""

import gzip
import lzma
import shutil
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.simulation.worlds.graph import Graph, recall_of

RECORDED = resources.files("pollwise") / "data" / "graphs"


@pytest.fixture(scope="module")
def recorded() -> Graph:
    return Graph.read(str(RECORDED / "wikispeedia"))


@pytest.fixture
def copy(tmp_path) -> Path:
    """The prefix of files that may be damaged."""
    for file in RECORDED.iterdir():
        if file.name.startswith("wikispeedia"):
            shutil.copy(str(file), tmp_path)
    return tmp_path / "wikispeedia"


def made(**changes: object) -> Graph:
    arguments: dict = {
        "hosts": ["a.example", "a.example", "b.example"],
        "paths": ["", "x", "y"],
        "sources": [0, 1, 0, 0],
        "targets": [2, 0, 1, 2],
        "anchors": ["to y", "home", "to x", "y again"],
        "relevance": {"physics": [0.0, 0.25, 1.0], "storms": [0.5, 0.0, 0.0]},
    }
    return Graph(**(arguments | changes))


class TestFromLists:
    def test_links_stay_in_order_and_a_second_one_to_a_page_is_dropped(self):
        links = made().links(0)
        assert links.targets.tolist() == [2, 1]
        assert list(links.anchors) == ["to y", "to x"]
        assert made().links(1).targets.tolist() == [0]
        assert made().links(2).targets.tolist() == []

    def test_pages_are_known_by_their_urls(self):
        page = made().pages[2]
        assert (page.id, page.url, page.scope, page.site) == (
            2, "http://b.example/y", "b.example", "b.example",
        )  # fmt: skip
        assert made().pages[0].url == "http://a.example/"

    def test_topics(self):
        graph = made()
        assert (graph.topics, graph.topic) == (("physics", "storms"), "physics")
        assert made(topic="storms").relevance.tolist() == [0.5, 0.0, 0.0]
        assert made(topic="storms").topic == "storms"
        with pytest.raises(InputError, match="no topic 'cats'; its topics: physics, storms"):
            made(topic="cats")
        with pytest.raises(InputError, match="its topics: none"):
            made(relevance={})

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"paths": ["", "x"]}, "3 hosts, 2 paths"),
            ({"anchors": []}, "0 anchors"),
            ({"sources": [0, 1, 0, 3]}, "a source of a link is no page"),
            ({"targets": [2, 0, 1, -1]}, "a target of a link is no page"),
            ({"relevance": {"physics": [0.0, 2.0, 1.0]}}, "must be a number from 0 to 1"),
            ({"relevance": {"physics": [0.0, 1.0]}}, "each of the 3 pages"),
        ],
    )
    def test_what_does_not_fit(self, changes, message):
        with pytest.raises(InputError, match=message):
            made(**changes)


class TestRecallOf:
    @given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
    def test_no_order_of_pages_is_ahead_of_the_best(self, relevance):
        count = len(relevance)
        graph = Graph(["a"] * count, [""] * count, [], [], [], {"it": relevance})
        recalls = recall_of(graph.relevance, graph.relevance.sum())
        assert len(recalls) == len(graph.best_recall) == count + 1
        assert (recalls <= graph.best_recall + 1e-9).all()

    def test_where_nothing_is_relevant_it_is_zero(self):
        assert recall_of(np.zeros(3), 0.0).tolist() == [0.0] * 4


class TestRecorded:
    def test_its_size(self, recorded):
        assert (len(recorded), len(recorded.targets)) == (4056, 111802)
        assert recorded.topics == ("physics", "storms")

    def test_relevance(self, recorded):
        prefix = str(RECORDED / "wikispeedia")
        physics, storms = (Graph.read(prefix, topic).relevance for topic in recorded.topics)
        assert np.count_nonzero(physics) == 268
        assert np.count_nonzero(storms) == 129
        assert physics.sum() == pytest.approx(47.3, abs=0.05)

    def test_links(self, recorded):
        start = recorded.links(Graph.START)
        assert [recorded.paths[target] for target in start.targets] == ["United_Kingdom"]
        for page_id in range(1, len(recorded), 100):
            links = recorded.links(page_id)
            assert len(np.unique(links.targets)) == len(links.targets) == len(links.anchors)
            # The anchor of a link is the title of its target.
            for target, anchor in zip(links.targets[:3].tolist(), links.anchors, strict=False):
                assert recorded.paths[target][:1].casefold() in ("%", anchor[:1].casefold())


class TestFilesThatCannotBeUsed:
    def test_none_at_all(self, tmp_path):
        with pytest.raises(InputError, match=r"there is no file .*nowhere\.pages\.tsv\.xz"):
            Graph.read(tmp_path / "nowhere")

    @pytest.mark.parametrize("ending", ["pages.tsv.xz", "anchors.txt.xz", "links.xz"])
    def test_one_is_missing_or_cut(self, copy, ending):
        path = copy.with_name(f"wikispeedia.{ending}")
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        with pytest.raises(InputError, match=rf"{ending}: .*it is cut or damaged"):
            Graph.read(copy)
        path.write_bytes(b"")
        with pytest.raises(InputError, match=ending):
            Graph.read(copy)
        path.unlink()
        with pytest.raises(InputError, match=rf"there is no file .*{ending}"):
            Graph.read(copy)

    def test_relevance_is_missing_or_cut(self, copy):
        path = copy.with_name("wikispeedia.relevance.physics-storms.tsv.gz")
        content = path.read_bytes()
        path.write_bytes(content[:-100])
        with pytest.raises(InputError, match="it is cut or damaged"):
            Graph.read(copy)
        path.unlink()
        with pytest.raises(InputError, match=r"no file wikispeedia\.relevance"):
            Graph.read(copy)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("id\tphysics\n1\t0.5\textra\n", "line 2 has 3 columns"),
            ("id\tphysics\n1\thigh\n", "could not convert"),
            ("id\tphysics\n4056\t0.5\n", "ids must be from 0 to 4055"),
            ("id\tphysics\n1\t1.5\n", "relevance from 0 to 1"),
            ("id\tphysics\n1\tnan\n", "relevance from 0 to 1"),
            ("page\tphysics\n1\t0.5\n", "expected a heading id, TOPIC"),
            ("id\tphysics\n", "a page at least"),
        ],
    )
    def test_relevance_that_says_something_else(self, copy, text, message):
        path = copy.with_name("wikispeedia.relevance.physics-storms.tsv.gz")
        path.write_bytes(gzip.compress(text.encode()))
        with pytest.raises(InputError, match=message):
            Graph.read(copy)

    def test_pages_that_say_something_else(self, copy):
        path = copy.with_name("wikispeedia.pages.tsv.xz")
        for text, message in {
            "id\thost\tpath\n1\ta\tb\n": "the ids must be 0 to 0",
            "id\thost\n0\ta\n": "expected a heading id, host, path",
            "id\thost\tpath\n0\ta\t\n": "ids must be from 0 to 0",
        }.items():
            path.write_bytes(lzma.compress(text.encode()))
            with pytest.raises(InputError, match=message):
                Graph.read(copy)
        path.write_bytes(lzma.compress(b"\xff\xfe"))
        with pytest.raises(InputError, match="not UTF-8"):
            Graph.read(copy)

    @pytest.mark.parametrize(
        ("place", "message"),
        [(8, "do not add up"), (8 + 4 * 4056 + 3 * 111802, "leads to no page")],
    )
    def test_links_that_do_not_fit(self, copy, place, message):
        path = copy.with_name("wikispeedia.links.xz")
        content = bytearray(lzma.decompress(path.read_bytes()))
        content[place] += 100
        path.write_bytes(lzma.compress(bytes(content)))
        with pytest.raises(InputError, match=message):
            Graph.read(copy)

    def test_links_of_other_pages(self, copy):
        path = copy.with_name("wikispeedia.links.xz")
        path.write_bytes(lzma.compress(bytes(8)))
        with pytest.raises(InputError, match="8 bytes, which do not fit 4056 pages"):
            Graph.read(copy)

    def test_an_anchor_that_is_not_there(self, copy):
        copy.with_name("wikispeedia.anchors.txt.xz").write_bytes(lzma.compress(b"one\ntwo"))
        with pytest.raises(InputError, match="an anchor that is not listed"):
            Graph.read(copy)
