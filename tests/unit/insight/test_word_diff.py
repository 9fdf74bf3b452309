"""All that differs between two sequences of blocks, and how much work it is at worst."""

from bisect import bisect_left
from collections.abc import Sequence
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.insight.word_diff import Edit, Hunk, word_diff

BLOCKS = st.lists(st.lists(st.sampled_from("abc"), min_size=1).map(" ".join), max_size=8)
STEPS = 1e8
"""A few seconds of `difflib`."""


def side(hunk: Hunk, kind: Edit) -> list[str]:
    """The blocks of a hunk as they were (REMOVED) or became (ADDED)."""
    texts = (
        " ".join(some.text for some in block.words if some.kind in (Edit.SAME, kind))
        for block in hunk.blocks
    )
    return [text for text in texts if text]


@given(BLOCKS, BLOCKS)
def test_both_versions_can_be_read_from_what_differs(before, after):
    hunks = word_diff(before, after)
    assert (hunks == ()) == (before == after)
    rebuilt = list(before)
    for hunk in reversed(hunks):
        old, new = side(hunk, Edit.REMOVED), side(hunk, Edit.ADDED)
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
    assert [block.kind for block in second.blocks] == [Edit.SAME, Edit.REMOVED, Edit.SAME]


def test_blocks_with_little_in_common_are_shown_whole():
    [hunk] = word_diff(["one two three four"], ["five six seven four"])
    assert [block.kind for block in hunk.blocks] == [Edit.REMOVED, Edit.ADDED]


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


class Steps:
    """Counts steps, up to those that are too many."""

    def __init__(self) -> None:
        self.done = 0

    def add(self, steps: int) -> None:
        self.done += steps
        assert self.done < STEPS


def counted(texts: Sequence[str], steps: Steps) -> list[str]:
    """Blocks of which each look is a step."""

    class Block(str):
        def __hash__(self) -> int:
            steps.add(1)
            return super().__hash__()

        def __eq__(self, other: object) -> bool:
            steps.add(1)
            return super().__eq__(other)

    return [Block(text) for text in texts]


@pytest.mark.parametrize("name", hostile())
def test_it_takes_seconds_on_what_is_hard_to_match(name, monkeypatch):
    class Matcher(SequenceMatcher[str]):
        """Counts the pairs of like elements that the original looks at, all of them each time."""

        def find_longest_match(self, alo=0, ahi=None, blo=0, bhi=None):
            for element in self.a[alo:ahi]:
                places = self.b2j.get(element, ())
                steps.add(1 + (len(places) if bhi is None else bisect_left(places, bhi)))
            return super().find_longest_match(alo, ahi, blo, bhi)

    steps = Steps()
    monkeypatch.setattr("pollwise.insight.word_diff.SequenceMatcher", Matcher)
    before, after = hostile()[name]
    assert word_diff(counted(before, steps), counted(after, steps))
    assert steps.done > 0
