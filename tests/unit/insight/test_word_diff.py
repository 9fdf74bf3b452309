"""All that differs between two sequences of blocks, and how long it takes at worst."""

import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.insight.word_diff import Hunk, Kind, word_diff

BLOCKS = st.lists(st.lists(st.sampled_from("abc"), min_size=1).map(" ".join), max_size=8)
SECONDS = 30.0
"""Many times what it takes."""


def side(hunk: Hunk, kind: Kind) -> list[str]:
    """The blocks of a hunk as they were (REMOVED) or became (ADDED)."""
    texts = (
        " ".join(some.text for some in block.words if some.kind in (Kind.SAME, kind))
        for block in hunk.blocks
    )
    return [text for text in texts if text]


@given(BLOCKS, BLOCKS)
def test_both_versions_can_be_read_from_what_differs(before, after):
    hunks = word_diff(before, after)
    assert (hunks == ()) == (before == after)
    rebuilt = list(before)
    for hunk in reversed(hunks):
        old, new = side(hunk, Kind.REMOVED), side(hunk, Kind.ADDED)
        begin = hunk.before_block - 1
        assert rebuilt[begin : begin + len(old)] == old
        rebuilt[begin : begin + len(old)] = new
        assert after[hunk.after_block - 1 :][: len(new)] == new
    assert rebuilt == after


def test_what_is_far_apart_is_in_hunks_of_its_own():
    before = [f"block {n}" for n in range(20)]
    after = [*before[:3], "new here", *before[3:15], *before[16:]]
    first, second = word_diff(before, after)
    assert (first.before_block, first.after_block, len(first.blocks)) == (3, 3, 3)
    assert (second.before_block, second.after_block) == (15, 16)
    assert [block.kind for block in second.blocks] == [Kind.SAME, Kind.REMOVED, Kind.SAME]


def test_blocks_with_little_in_common_are_shown_whole():
    [hunk] = word_diff(["one two three four"], ["five six seven four"])
    assert [block.kind for block in hunk.blocks] == [Kind.REMOVED, Kind.ADDED]


def hostile() -> dict[str, tuple[Sequence[str], Sequence[str]]]:
    comb = ["x"] * 1_500, ["x", "a"] * 750
    return {
        "blocks": (["x"] * 50_000, ["x", "a"] * 25_000),
        "fewer blocks": comb,
        "words": ([" ".join(comb[0])], [" ".join(comb[1])]),
        "many long blocks": (
            [f"{n} " + "x " * 190 for n in range(500)],
            [f"{n} " + "x a " * 95 for n in range(500)],
        ),
        "all other": ([f"a {n}" for n in range(50_000)], [f"b {n}" for n in range(50_000)]),
    }


@pytest.mark.parametrize("name", hostile())
def test_it_takes_seconds_on_what_is_hard_to_match(name):
    begun = time.perf_counter()
    assert word_diff(*hostile()[name])
    assert time.perf_counter() - begun < SECONDS
