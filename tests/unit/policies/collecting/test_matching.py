"""Matches of texts with the topic that was told."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.policies.collecting.evidence import N_EVIDENCE, gather, link
from pollwise.policies.collecting.known_web import KnownWeb
from pollwise.policies.collecting.matching import Aim
from pollwise.types import Links, Page

URL, BEST_ANCHOR, MEAN_ANCHOR, NEAR, BEST_NEAR = 30, 31, 32, 33, 34


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
    assert [evidence(known, n)[URL] for n in range(3)] == pytest.approx(expected)


def test_anchors_and_their_neighbours_match():
    known = KnownWeb()
    known.add([Page(n, f"http://h.example/{n}") for n in range(6)])
    known.aim({"squid": 1.0})
    linked(known, 0, [1, 2, 3, 4, 5], ["squid", "home", "news", "imprint", "contact"])
    linked(known, 5, [1], ["here"])
    named, beside, far = (evidence(known, n) for n in (1, 2, 5))
    assert 0.0 < named[BEST_ANCHOR] < 1.0
    assert named[MEAN_ANCHOR] == named[BEST_ANCHOR] / 2
    assert beside[BEST_ANCHOR] == far[BEST_ANCHOR] == 0.0
    assert beside[NEAR] > 0.0 == far[NEAR]


def test_nothing_matches_unless_a_topic_is_told():
    known = KnownWeb()
    known.add([Page(n, "http://h.example/squid") for n in range(2)])
    linked(known, 0, [1], ["squid"])
    assert evidence(known, 1)[URL:] == [0.0] * (N_EVIDENCE - URL)


def test_a_later_aim_takes_the_place_of_an_earlier_one():
    known = KnownWeb()
    known.aim({"squid": 1.0})
    known.add([Page(0, "http://h.example/squid"), Page(1, "http://h.example/stone")])
    known.aim({"stone": 1.0})
    matches = [evidence(known, n)[URL] for n in range(2)]
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
    assert told[NEAR] == told[BEST_NEAR] > 0.0
    assert told[BEST_ANCHOR] == beside[NEAR] == 0.0
    # Where neighbouring anchors tell more, these count.
    bare = KnownWeb()
    bare.add([Page(n, f"http://h.example/{n}") for n in range(8)])
    linked(bare, 0, [1, 2, 3, 4, 5, 6, 7], ["home"] * 5 + ["squid"] * 2)
    bare.aim({"squid": 1.0})
    assert other[NEAR] > 0.0 < near[NEAR]
    assert evidence(bare, 1)[NEAR] == 0.0 < evidence(bare, 4)[NEAR]


def test_texts_around_links_are_matched_anew_when_the_aim_changes():
    known = KnownWeb()
    known.add([Page(n, f"http://h.example/{n}") for n in range(3)])
    linked(known, 0, [1, 2], ["home", "news"], ["about a squid", "about a stone"])
    assert evidence(known, 1)[NEAR] == evidence(known, 2)[NEAR] == 0.0
    known.aim({"stone": 1.0})
    assert evidence(known, 1)[NEAR] == 0.0 < evidence(known, 2)[NEAR]


def test_a_page_that_links_anew_tells_what_is_around_the_new_links_only():
    known = KnownWeb()
    known.add([Page(n, f"http://h.example/{n}") for n in range(4)])
    known.aim({"squid": 1.0})
    linked(known, 0, [1], ["home"])
    linked(known, 0, [2, 1, 3], ["news", "home", "more"], ["a squid", "a squid", "a stone"])
    assert evidence(known, 1)[BEST_NEAR] == 0.0
    assert evidence(known, 2)[BEST_NEAR] > 0.0 == evidence(known, 3)[BEST_NEAR]
