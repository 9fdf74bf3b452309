import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.relevance.terms import MAX_TERMS, term_counts, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Statistics, statistical and STATISTIC", ["statist"] * 3),
        ("in 1999, 42 of x", []),
        ("utf8 snake_case C++11", ["utf", "snake", "case"]),
        ("don't they're", []),
        ("\ufb01ne cafe\u0301", ["fine", "caf\xe9"]),
        ("Ökologie der Straße", ["ökologi", "der", "strass"]),
        ("море и океан", ["море", "океан"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("海洋生物学", ["海洋", "洋生", "生物", "物学"]),
        ("Python入門 海", ["python", "入門"]),
        ("a" * 41 + " whale", ["whale"]),
    ],
)
def test_terms_of_many_scripts(text, expected):
    assert terms(text) == expected


@given(st.text(max_size=200))
def test_counts_are_those_of_the_terms(text):
    found = terms(text)
    assert term_counts(text) == {term: found.count(term) for term in found}


@given(st.text(st.characters(max_codepoint=127), max_size=200))
def test_case_does_not_matter(text):
    assert terms(text) == terms(text.upper())


@given(st.text(st.characters(max_codepoint=127), max_size=200))
def test_words_in_ascii_are_runs_of_letters(text):
    words = re.findall("[a-z]{2,}", text.lower())
    assert terms(text) == [term for word in words for term in terms(word)]


def test_at_most_so_many_terms_and_the_frequent_ones_stay():
    letters = "bcdfghjklmnpqrtvwxz"
    words = [a + "o" + b + "u" + c + "a" for a in letters for b in letters for c in letters]
    counts = term_counts(" ".join(words) + " whale" * 3)
    assert len(counts) == MAX_TERMS
    assert counts["whale"] == 3


def test_words_as_long_as_a_page_are_not_kept_in_memory():
    terms("whale")
    tracemalloc.start()
    try:
        for number in range(20):
            assert terms(chr(97 + number) * 100_000) == []
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 200_000
