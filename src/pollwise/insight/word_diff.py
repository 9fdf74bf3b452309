"""All that differs between two versions of a page, word by word."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum
from itertools import zip_longest

__all__ = ["BlockDiff", "Edit", "Hunk", "Words", "word_diff"]

_CONTEXT = 1
"""Blocks that are kept before and behind what differs."""
_ALIKE = 0.3
"""The share of words from which on one block has become the other."""
_MOST_WORK = 1e8
"""Steps, a few seconds. Matching takes cubic time on the texts of those who want it to."""
_LONG = 200
"""Elements from which on `difflib` leaves out those that are in more than a hundredth of places."""


class Edit(Enum):
    """What became of a block or of some words; CHANGED, of a block, some of its words did."""

    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Words:
    """Some words in a row, and what became of them."""

    kind: Edit
    text: str


@dataclass(frozen=True, slots=True)
class BlockDiff:
    """A block of text, with its words in order."""

    kind: Edit
    words: tuple[Words, ...]


@dataclass(frozen=True, slots=True)
class Hunk:
    """Blocks that differ, and those around them.

    The first one is the `before_block`-th of the version before and the `after_block`-th of the one
    after, counted from 1.
    """

    before_block: int
    after_block: int
    blocks: tuple[BlockDiff, ...]


class _Work:
    """How much may still be done, in steps."""

    def __init__(self) -> None:
        self._left = _MOST_WORK

    def suffices(self, before: int, after: int) -> bool:
        """Whether so many elements may be matched with so many; if so, that is taken off."""
        steps = before * after * min(before, after) / (100 if after >= _LONG else 1)
        if steps > self._left:
            return False
        self._left -= steps
        return True


_Span = tuple[bool, int, int, int, int]
"""Whether elements are the same, and from where to where they stand before and after."""


def word_diff(before: Sequence[str], after: Sequence[str]) -> tuple[Hunk, ...]:
    """What differs between two sequences of blocks of text; takes a few seconds at most.

    Where matching would take longer, whole blocks are shown for single words, and then those that
    went before all that came.

    >>> [hunk] = word_diff(["News", "Opens at nine"], ["News", "Opens at ten"])
    >>> [(block.kind.value, [words.text for words in block.words]) for block in hunk.blocks]
    [('same', ['News']), ('changed', ['Opens at', 'nine', 'ten'])]
    """
    work = _Work()
    rows: list[tuple[BlockDiff, int, int]] = []
    for same, i, i_end, j, j_end in _spans(before, after, work):
        if same:
            rows += [
                (_whole(Edit.SAME, text), i + n, j + n) for n, text in enumerate(before[i:i_end])
            ]
        else:
            rows += _replaced(before[i:i_end], after[j:j_end], i, j, work)
    return tuple(_hunks(rows))


def _spans(before: Sequence[str], after: Sequence[str], work: _Work) -> list[_Span]:
    """What is the same and what is not, in order."""
    begin = _alike(before, after)
    end = _alike(before[begin:][::-1], after[begin:][::-1])
    i_end, j_end = len(before) - end, len(after) - end
    one, other = before[begin:i_end], after[begin:j_end]
    spans: list[_Span] = [(True, 0, begin, 0, begin)]
    if not work.suffices(len(one), len(other)):
        spans.append((False, begin, i_end, begin, j_end))
    else:
        for tag, i, i_to, j, j_to in SequenceMatcher(None, one, other).get_opcodes():
            spans.append((tag == "equal", begin + i, begin + i_to, begin + j, begin + j_to))
    spans.append((True, i_end, len(before), j_end, len(after)))
    return spans


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """With how many elements both begin."""
    for number, (here, there) in enumerate(zip(one, other, strict=False)):
        if here != there:
            return number
    return min(len(one), len(other))


def _replaced(
    before: Sequence[str], after: Sequence[str], i: int, j: int, work: _Work
) -> Iterable[tuple[BlockDiff, int, int]]:
    """Blocks that others came for; those that stand in both went nowhere."""
    gone, come = _without(before, after), _without(after, before)
    for number, (old, new) in enumerate(zip_longest(gone, come)):
        place = i + min(number, len(before)), j + min(number, len(after))
        changed = None if old is None or new is None else _changed(old, new, work)
        if changed is not None:
            yield changed, *place
            continue
        if old is not None:
            yield _whole(Edit.REMOVED, old), *place
        if new is not None:
            yield _whole(Edit.ADDED, new), *place


def _without(blocks: Sequence[str], others: Sequence[str]) -> list[str]:
    """The blocks that the others do not have, as often as they come."""
    left = Counter(others)
    missing = []
    for block in blocks:
        if left[block] > 0:
            left[block] -= 1
        else:
            missing.append(block)
    return missing


def _changed(old: str, new: str, work: _Work) -> BlockDiff | None:
    """How one block became the other; None: they have too little in common to tell."""
    one, other = old.split(), new.split()
    shared = (Counter(one) & Counter(other)).total()
    if shared < _ALIKE * max(len(one), len(other)):
        return None
    words = []
    for same, i, i_end, j, j_end in _spans(one, other, work):
        if same:
            words.append(Words(Edit.SAME, " ".join(one[i:i_end])))
        else:
            words.append(Words(Edit.REMOVED, " ".join(one[i:i_end])))
            words.append(Words(Edit.ADDED, " ".join(other[j:j_end])))
    return BlockDiff(Edit.CHANGED, tuple(some for some in words if some.text))


def _whole(kind: Edit, text: str) -> BlockDiff:
    return BlockDiff(kind, (Words(kind, " ".join(text.split())),))


def _hunks(rows: Sequence[tuple[BlockDiff, int, int]]) -> Iterable[Hunk]:
    """What differs, with a block around it; what stands closer together is one hunk."""
    hunk: list[tuple[BlockDiff, int, int]] = []
    quiet = 0
    for number, row in enumerate(rows):
        if row[0].kind is not Edit.SAME:
            if not hunk:
                hunk = list(rows[max(number - _CONTEXT, 0) : number])
            hunk.append(row)
            quiet = 0
        elif hunk:
            quiet += 1
            hunk.append(row)
            if quiet > 2 * _CONTEXT:
                yield _hunk(hunk[: -quiet + _CONTEXT])
                hunk = []
    if hunk:
        yield _hunk(hunk[: len(hunk) - max(quiet - _CONTEXT, 0)])


def _hunk(rows: Sequence[tuple[BlockDiff, int, int]]) -> Hunk:
    _, i, j = rows[0]
    return Hunk(i + 1, j + 1, tuple(block for block, _, _ in rows))
