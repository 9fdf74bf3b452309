import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pollwise.relevance.parsed_text import parse_text, term_hashes
from pollwise.relevance.terms import MAX_TERMS, term_counts

blocks = st.lists(st.text("whale sea ship 12", max_size=40), max_size=10)


@given(blocks)
def test_the_counts_are_those_of_the_whole_text(texts):
    page = parse_text(texts)
    counted = dict(zip(page.terms, page.term_counts(), strict=True))
    assert counted == term_counts("\n".join(texts))


@given(blocks)
def test_blocks_left_out_are_not_counted(texts):
    page = parse_text(texts)
    assert not page.term_counts(np.zeros(len(page.blocks), bool)).any()


def test_blocks_are_the_same_whatever_their_numbers_and_spaces():
    a, b = parse_text(["Page 3 of  12"]), parse_text(["page 4 of 12", "12"])
    assert a.blocks.tolist() == b.blocks.tolist()


def test_a_page_survives_pickling():
    page = parse_text(["Whales", "The whale sings."], judgement=0.5)
    again = pickle.loads(pickle.dumps(page))
    assert again.terms == page.terms
    assert again.judgement == 0.5
    assert again.hashes.tolist() == term_hashes(page.terms).tolist()


def test_a_huge_page_is_cut():
    letters = "bcdfghjklmnpqrtvwxz"
    words = [a + "o" + b + "u" + c + "a" for a in letters for b in letters for c in letters]
    page = parse_text([" ".join(words)] * 3 + words + [f"x{word}x" for word in words])
    assert len(page.terms) == MAX_TERMS
    assert page.term_of.max() < MAX_TERMS
    assert len(parse_text(["sea " * 1_000_000]).term_counts()) == 1
    assert parse_text(["sea " * 1_000_000]).counts.tolist() == [65535]


def test_a_page_without_text():
    page = parse_text([])
    assert page.terms == ()
    assert page.term_counts().tolist() == []
