"""Matches of texts with the topic that was told."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.policies.collecting.evidence import (
    ANCHOR_MATCH,
    ANY_MATCH,
    MATCH,
    N_EVIDENCE,
    NEAR_MATCH,
    URL_MATCH,
    gather,
    link,
)
from pollwise.policies.collecting.known_web import KnownWeb
from pollwise.policies.collecting.matching import Aim
from pollwise.types import Links, Page


def evidence(known: KnownWeb, page_id: int) -> list[float]:
    row = np.zeros(N_EVIDENCE, np.float32)
    gather(known.web, page_id, row)
    return row.tolist()


def linked(
    known: KnownWeb, source: int, targets: list[int], anchors: list[str], around: Sequence[str] = ()
) -> None:
    first, end = known.add_links(source, Links(np.array(targets), anchors, around=around))
    link(known.web, source, first, end)


def test_a_match_is_the_share_of_the_words_by_their_rarity():
    known = KnownWeb()
    known.aim({"squid": 1.0})
    known.add([Page(0, "http://h.example/squid"), Page(1, "http://h.example/giant-squids.html")])
    known.add([Page(2, "http://h.example/giant")])
    known.match()
    # Three texts: two with "giant", one with "squid", one with "squids".
    common, rare, rarest = math.log(4 / 2.5), math.log(4 / 1.5), math.log(4 / 0.5)
    expected = [rare / rarest, rare / (rare + common) * rare / rarest, 0.0]
    assert [evidence(known, n)[URL_MATCH] for n in range(3)] == pytest.approx(expected)


URLS = st.lists(
    st.sampled_from(["h", "www.h", "i"]).flatmap(
        lambda host: st.lists(
            st.sampled_from(["squid", "giantSquids", "a", "7", "index.html", ""]), max_size=3
        ).map(lambda parts: f"http://{host}/{'/'.join(parts)}")
    ),
    min_size=1,
    max_size=8,
)


@given(URLS, st.booleans())
def test_pages_that_come_together_are_taken_in_as_one_by_one(urls, aimed):
    together, apart = KnownWeb(), KnownWeb()
    pages = [Page(n, url) for n, url in enumerate(urls)]
    for known in (together, apart):
        if aimed:
            known.aim({"squid": 1.0, "a": 0.5})
        known.add(pages[:1])
    together.add(pages)  # the first one is known
    for page in pages:
        apart.add([page])
    for name in ("pages", "hosts", "directories", "words", "page_words", "totals"):
        one, other = getattr(together.web, name), getattr(apart.web, name)
        length = min(len(one), len(other))  # the rest is room for more
        assert repr(one[:length].tolist()) == repr(other[:length].tolist()), name


def test_anchors_and_their_neighbours_match():
    known = KnownWeb()
    known.add([Page(n, f"http://h.example/{n}") for n in range(6)])
    known.aim({"squid": 1.0})
    linked(known, 0, [1, 2, 3, 4, 5], ["squid", "home", "news", "imprint", "contact"])
    linked(known, 5, [1], ["here"])
    named, beside, far = (evidence(known, n) for n in (1, 2, 5))
    assert 0.0 < named[ANCHOR_MATCH] < 1.0
    # Half of its URL's match (none), a quarter of the best and of the mean of two anchors.
    assert named[MATCH] == pytest.approx(0.25 * 1.5 * named[ANCHOR_MATCH])
    assert named[ANY_MATCH] == 1.0
    assert far[ANY_MATCH] == 0.0
    assert beside[ANCHOR_MATCH] == far[ANCHOR_MATCH] == 0.0
    assert beside[NEAR_MATCH] > 0.0 == far[NEAR_MATCH]


def test_nothing_matches_unless_a_topic_is_told():
    known = KnownWeb()
    known.add([Page(n, "http://h.example/squid") for n in range(2)])
    linked(known, 0, [1], ["squid"])
    assert evidence(known, 1)[ANY_MATCH:] == [0.0] * (N_EVIDENCE - ANY_MATCH)


def test_a_later_aim_takes_the_place_of_an_earlier_one():
    known = KnownWeb()
    known.aim({"squid": 1.0})
    known.add([Page(0, "http://h.example/squid"), Page(1, "http://h.example/stone")])
    known.aim({"stone": 1.0})
    matches = [evidence(known, n)[URL_MATCH] for n in range(2)]
    assert matches[0] == 0.0 < matches[1]


@given(st.dictionaries(st.text(), st.floats(0.0, 1e6)), st.text())
def test_any_word_has_a_credit_from_0_to_1(weights, word):
    assert 0.0 <= Aim(weights).credit(word) <= 1.0


def test_the_text_around_a_link_counts_beside_its_neighbours():
    known = KnownWeb()
    known.add([Page(n, f"http://h.example/{n}") for n in range(8)])
    known.aim({"squid": 1.0})
    around = ["about a squid", "", "", "about a stone", "", "", "| 2"]
    linked(known, 0, [1, 2, 3, 4, 5, 6, 7], ["home"] * 5 + ["squid"] * 2, around)
    known.match()
    told, beside, other, near = (evidence(known, n) for n in (1, 2, 4, 6))
    assert told[NEAR_MATCH] > 0.0
    assert told[ANCHOR_MATCH] == beside[NEAR_MATCH] == 0.0
    # Where neighbouring anchors tell more, these count.
    bare = KnownWeb()
    bare.add([Page(n, f"http://h.example/{n}") for n in range(8)])
    linked(bare, 0, [1, 2, 3, 4, 5, 6, 7], ["home"] * 5 + ["squid"] * 2)
    bare.aim({"squid": 1.0})
    assert other[NEAR_MATCH] > 0.0 < near[NEAR_MATCH]
    assert evidence(bare, 1)[NEAR_MATCH] == 0.0 < evidence(bare, 4)[NEAR_MATCH]


def test_texts_around_links_are_matched_anew_when_the_aim_changes():
    known = KnownWeb()
    known.add([Page(n, f"http://h.example/{n}") for n in range(3)])
    linked(known, 0, [1, 2], ["home", "news"], ["about a squid", "about a stone"])
    assert evidence(known, 1)[NEAR_MATCH] == evidence(known, 2)[NEAR_MATCH] == 0.0
    known.aim({"stone": 1.0})
    assert evidence(known, 1)[NEAR_MATCH] == 0.0 < evidence(known, 2)[NEAR_MATCH]


def test_a_page_that_links_anew_tells_what_is_around_the_new_links_only():
    known = KnownWeb()
    known.add([Page(n, f"http://h.example/{n}") for n in range(4)])
    known.aim({"squid": 1.0})
    linked(known, 0, [1], ["home"])
    linked(known, 0, [2, 1, 3], ["news", "home", "more"], ["a squid", "a squid", "a stone"])
    assert evidence(known, 1)[NEAR_MATCH] == 0.0
    assert evidence(known, 2)[NEAR_MATCH] > 0.0 == evidence(known, 3)[NEAR_MATCH]
