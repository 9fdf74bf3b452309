"""What differs between two versions of a page."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.insight.difference import (
    Difference,
    LatestTexts,
    VersionText,
    difference,
    read_difference,
)
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult, StoredVersion
from pollwise.types import MaskState, Noise, Observation, Outcome, PageMemory, Version
from pollwise.web.noise.blocks import blocks_of
from pollwise.web.noise.search import find_noise

URL = "http://a.example/"
QUIET = Noise()
BLOCKS = st.lists(st.lists(st.sampled_from("ab"), min_size=1).map(" ".join), max_size=4)


def found_in(db: Path, seen_at: float, latest: LatestTexts | None = None) -> Difference:
    """What came with the version that was found then; `latest` else knows nothing."""
    with Store.open_readonly(db) as store:
        return read_difference(store, 0, URL, seen_at, latest or LatestTexts())


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
        for at, body in enumerate(("<main>a&nbsp;b 1</main><p>a", "<main>b&nbsp;b 2</main><p>b")):
            version = Version(0, float(at), "text/html", body.encode(), f"{at:032x}")
            seen = Observation(0, float(at), Outcome.CHANGED)
            store.commit(Batch(polls=(PollResult(seen, PageMemory(), version),)))
    assert found_in(tmp_path / "x.db", 1.0) == Difference("", "a b", "b b")


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


def versions_of(db: Path) -> list[StoredVersion]:
    with Store.open_readonly(db) as store:
        return list(store.versions(0))


@pytest.mark.parametrize("content_type", ["text/html", "application/json", "application/rss+xml"])
def test_what_was_told_before_makes_no_difference(tmp_path, content_type):
    db, latest = tmp_path / "x.db", LatestTexts()
    bodies = ["<title>A</title><p>one", "<title>B</title><p>two", "<title>B</title><p>three", "4"]
    stored(db, *bodies, content_type=content_type)
    for seen_at in (1.0, 2.0, 3.0, 2.0, 1.0):
        assert found_in(db, seen_at, latest) == found_in(db, seen_at)


def test_a_version_that_was_told_is_not_read_anew_for_the_next(tmp_path):
    db, latest = tmp_path / "x.db", LatestTexts()
    stored(db, "<p>one", "<p>two")
    latest.keep(versions_of(db)[0], VersionText("", ("what was told",)))
    assert found_in(db, 1.0, latest) == Difference("", "what was told", "two")
    known = [latest.of(version) for version in versions_of(db)]
    assert known == [None, VersionText("", ("two",))]


def test_of_a_page_with_masks_what_was_told_is_not_asked_for(tmp_path):
    pages = [f"<p>Now: 12:0{n}<p>{'old' if n < 3 else 'new'}<p>An end" for n in range(4)]
    blocks = [blocks_of(page.encode(), "text/html") for page in pages]
    db, latest = tmp_path / "x.db", LatestTexts()
    stored(db, *pages[2:], noise=Noise(find_noise(blocks[:3])))
    latest.keep(versions_of(db)[0], VersionText("", ("Now: 12:02", "older", "An end")))
    assert found_in(db, 1.0, latest) == Difference("", "old", "new")


def test_the_texts_that_were_read_first_are_forgotten_first():
    latest = LatestTexts(most=20_000)
    versions = [StoredVersion(0.0, "text/html", str(number), 1) for number in range(100)]
    texts = [VersionText(str(number), (f"block {number}",)) for number in range(100)]
    for version, text in zip(versions, texts, strict=True):
        latest.keep(version, text)
    known = [latest.of(version) for version in versions]
    held = sum(text is not None for text in known)
    assert 30 < held < 40
    assert known == [None] * (100 - held) + texts[100 - held :]
    latest.keep(versions[0], VersionText("", tuple(map(str, range(20_000)))))
    assert [latest.of(version) for version in versions] == [None] * 100


def test_a_text_that_is_forgotten_or_known_twice_leaves_room_for_others():
    latest = LatestTexts(most=2_000)
    first, second = (StoredVersion(0.0, "text/html", body, 1) for body in ("1", "2"))
    text = VersionText("News", ("It rains",))
    latest.keep(first, text)
    for _ in range(10):
        latest.keep(second, text)
        latest.keep(second, text)
        assert latest.of(first) == latest.of(second) == text
        latest.forget(second)
        assert latest.of(second) is None


@pytest.mark.parametrize("before", ["a" * 3000, "Opening hours " * 300])
def test_what_differs_is_seen_behind_whatever_is_alike(before):
    found = difference([f"{before}nine"], [f"{before}ten"])
    assert found.removed.endswith("nine")
    assert found.added.endswith("ten")
    assert max(len(found.removed), len(found.added)) < 80
    assert len(difference(["x " * 3000], []).removed) == 2000
