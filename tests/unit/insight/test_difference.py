"""What differs between two versions of a page."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.insight.difference import Difference, difference, read_difference
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import MaskState, Noise, Observation, Outcome, PageMemory, Version
from pollwise.web.noise.blocks import blocks_of
from pollwise.web.noise.search import find_noise

URL = "http://a.example/"
QUIET = Noise()
BLOCKS = st.lists(st.lists(st.sampled_from("ab"), min_size=1).map(" ".join), max_size=4)


def found_in(db: Path, seen_at: float) -> Difference:
    """What came with the version that was found then."""
    with Store.open_readonly(db) as store:
        return read_difference(store, 0, URL, seen_at)


def stored(
    db: Path, *bodies: str, content_type: str = "text/html", noise: Noise = QUIET
) -> Difference:
    """What came with the latest of these versions."""
    with Store.open(db) as store:
        store.add_pages([NewPage(URL)], now=0.0)
        for number, body in enumerate(bodies):
            version = Version(0, float(number), content_type, body.encode(), f"{number:032x}")
            seen = Observation(0, float(number), Outcome.CHANGED)
            store.commit(Batch(polls=(PollResult(seen, PageMemory(noise=noise), version),)))
    return found_in(db, float(len(bodies) - 1))


@pytest.mark.parametrize(
    ("before", "after", "removed", "added"),
    [
        (["a b"], ["a b"], None, None),
        (["a"], ["b", "a"], None, "b"),
        (["a", "c"], ["c"], "a", None),
        (["a", "a"], ["a"], "a", None),
        (
            ["1 2 3 4 x 5 6 7 8"],
            ["1 2 3 4 y 5 6 7 8"],
            "… 2 3 4 x 5 6 7 …",
            "… 2 3 4 y 5 6 7 …",
        ),
        (["a a"], ["a a a"], "a a", "a a a"),
    ],
)
def test_what_went_and_what_came(before, after, removed, added):
    assert difference(before, after) == Difference("", removed, added)


@pytest.mark.parametrize(
    ("before", "after", "further"),
    [
        (["same", "a"], ["same", "b"], 0),
        (["a", "same", "b"], ["c", "same", "d"], 1),
        (["a"], ["b", "c", "d"], 2),
        (["a", "a", "a"], ["a"], 1),
    ],
)
def test_further_blocks_that_differ_are_counted(before, after, further):
    assert difference(before, after).further == further


@given(BLOCKS, BLOCKS)
def test_the_same_blocks_do_not_differ_and_others_do(before, after):
    found = difference(before, after)
    same = sorted(before) == sorted(after)
    assert (found.removed is None and found.added is None) == same
    turned = difference(after, before)
    assert (turned.removed, turned.added) == (found.added, found.removed)


def test_of_stored_versions_the_visible_text_counts(tmp_path):
    page = "<title>News</title><script>{0}</script><p>Same<p>Number {0}<p>Same"
    found = stored(tmp_path / "x.db", "<p>old", page.format(1), page.format(2))
    assert found == Difference("News", "Number 1", "Number 2")


def test_what_counts_beside_a_clock_or_was_unmasked_is_a_difference(tmp_path):
    text = "<h1>Shop</h1><p>Price: {} EUR (as of 12:03:0{})</p><p>Imprint</p>"
    pages = [text.format(199, 1), text.format(199, 2), text.format(199, 3), text.format(99, 4)]
    blocks = [blocks_of(page.encode(), "text/html") for page in pages]
    [mask] = find_noise(blocks[:3])
    found = stored(tmp_path / "p.db", *pages[2:], noise=Noise((mask,)))
    assert found == Difference("", "Price: 199 EUR (as of …", "Price: 99 EUR (as of …")
    mask = replace(mask, state=MaskState.REFUSED)
    found = stored(tmp_path / "q.db", *pages[2:], noise=Noise((mask,)))
    assert "12:03:04" in found.added  # it counts again


def test_what_is_masked_is_no_difference(tmp_path):
    pages = [
        f"<p>Now: {time}<p>{news}<p>An end that stays"
        for time, news in (("12:01", "old"), ("12:02", "old"), ("12:03", "old"), ("12:04", "new"))
    ]
    blocks = [blocks_of(page.encode(), "text/html") for page in pages]
    noise = Noise(find_noise(blocks[:3]))
    assert len(noise.masks) == 1
    found = stored(tmp_path / "p.db", *pages[2:], noise=noise)
    assert found == Difference("", "old", "new")


def test_a_title_alone_may_differ(tmp_path):
    found = stored(tmp_path / "x.db", "<title>One</title><p>a", "<title>Two</title><p>a")
    assert found == Difference("Two", "One", "Two")


@pytest.mark.parametrize(
    ("content_type", "page", "title"),
    [
        ("application/json", '{"at": 1, "news": ["%s", "b"]}', ""),
        ("application/rss+xml", "<rss><channel><title>F</title><i>%s</i><i>x</i></rss>", "F"),
        ("application/xml", "<a day='%s'><!-- %s --><b>%s</b><c>x</c></a>", ""),
        ("application/atom+xml", "<feed><a>x</a><a><![CDATA[<p>%s</p>]]></a></feed>", ""),
        ("text/csv", "day,news\n1,%s", ""),
        ("application/yaml", "news: %s", ""),
    ],
)
def test_data_and_feeds_differ_by_their_values(tmp_path, content_type, page, title):
    pages = (page.replace("%s", text) for text in ("old", "new"))
    found = stored(tmp_path / "x.db", *pages, content_type=content_type)
    assert found.title == title
    assert (found.removed, found.added) != (None, None)
    assert "old" in str(found.removed)
    assert "new" in str(found.added)
    assert "<" not in f"{found.removed}{found.added}"


def test_without_an_earlier_version_or_with_a_large_one_nothing_is_told(tmp_path):
    assert stored(tmp_path / "first.db", "<p>a") == Difference()
    assert stored(tmp_path / "large.db", "<p>a", "<p>b" * 100_000) == Difference()
    assert found_in(tmp_path / "large.db", 0.5) == Difference()


def test_what_is_no_text_has_no_difference(tmp_path):
    assert stored(tmp_path / "x.db", "1", "2", content_type="image/png") == Difference()


def test_a_name_stands_for_the_title(tmp_path):
    stored(tmp_path / "x.db", "<title>One</title><p>a", "<title>Two</title><p>b")
    with Store.open(tmp_path / "x.db") as store:
        store.add_pages([NewPage(URL, name="Mine")], now=9.0)
    assert found_in(tmp_path / "x.db", 1.0) == Difference("Mine", "a", "b")
    assert found_in(tmp_path / "x.db", 0.0).title == "Mine"


def test_what_is_not_selected_is_no_difference(tmp_path):
    pytest.importorskip("re2")
    with Store.open(tmp_path / "x.db") as store:
        store.add_pages([NewPage(URL, select=("main",), ignore=("re:[0-9]+",))], now=0.0)
        for at, body in enumerate(("<main>old 1</main><p>a", "<main>new 2</main><p>b")):
            version = Version(0, float(at), "text/html", body.encode(), f"{at:032x}")
            seen = Observation(0, float(at), Outcome.CHANGED)
            store.commit(Batch(polls=(PollResult(seen, PageMemory(), version),)))
    assert found_in(tmp_path / "x.db", 1.0) == Difference("", "old", "new")


def test_the_title_is_the_one_that_the_poll_found(tmp_path):
    """That of a feed, of which an old item is different, is not read anew."""
    db = tmp_path / "a.db"
    with Store.open(db) as store:
        store.add_pages([NewPage(URL)], now=0.0)
        for number in range(2):
            body = b'{"version": "https://jsonfeed.org/version/1.1", "title": "J%d"}' % number
            version = Version(0, float(number), "application/json", body, f"{number:032x}")
            seen = Observation(0, float(number), Outcome.CHANGED)
            polled = PollResult(seen, PageMemory(), version, title=f"J{number}")
            store.commit(Batch(polls=(polled,)))
    found = found_in(db, 1.0)
    assert (found.title, found.added) == ("J1", '"title": "J1"')


@pytest.mark.parametrize("before", ["a" * 3000, "Opening hours " * 300])
def test_what_differs_is_seen_behind_whatever_is_alike(before):
    found = difference([f"{before}nine"], [f"{before}ten"])
    assert found.removed.endswith("nine")
    assert found.added.endswith("ten")
    assert max(len(found.removed), len(found.added)) < 80
    assert len(difference(["x " * 3000], []).removed) == 2000
