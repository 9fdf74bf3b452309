"""Masks: what they cover of a page, and what is left.

A mask finds its place by the blocks around it, so it stays where it belongs while other parts of
the page change. If the blocks on one side have changed, those on the other are enough, unless the
mask covers now more and now fewer blocks; it then follows the change. What one with a shape leaves
of a block is all but the tokens that were seen to vary: "Build 7, 12:03:04" becomes "Build 7, #",
and another word or number there is a change. One without a shape leaves nothing, but covers little
more text than was seen to come and go there.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import xxhash

from pollwise.types import Mask, MaskState
from pollwise.web.noise.tokens import shape_of, without

__all__ = [
    "LONGEST",
    "covered",
    "covered_blocks",
    "digest",
    "left_of",
    "mask_blocks",
    "neighbours",
    "place_of",
    "sample_of",
]

START, END = "\x02", "\x03"
"""The neighbours of the first and the last block."""

LONGEST = 2000
"""Characters of a text with a shape."""

_BEGINNING = 40
"""Characters of a block by which it is recognised as a neighbour."""
_SAMPLE = 60
_EFFORT = 250_000
"""Characters of a page that are compared with shapes, over all masks: no page takes long, and a
neighbour that is everywhere marks no place."""
_TRY = 50
"""The effort of a try, in characters, besides its text."""

Place = tuple[int, int]
"""The first block that is covered, and the one behind the last."""


def beginning(block: str) -> str:
    """What a block is recognised by as the neighbour of a mask."""
    return block[:_BEGINNING]


def place_of(mask: Mask) -> tuple[str, str]:
    """What a mask is for, whatever it allows there."""
    return mask.before[1], mask.after[0]


def sample_of(text: str) -> str:
    """The beginning of a text, on one line, to show to people.

    >>> sample_of("a " * 40)[-6:]
    ' a a …'
    """
    line = " ".join(text.split())
    return line if len(line) <= _SAMPLE else f"{line[: _SAMPLE - 2].rstrip()} …"


def covered(blocks: Sequence[str], masks: Sequence[Mask]) -> list[list[Place]]:
    """What each mask covers of a page, in order; no two places overlap."""
    found: list[list[Place]] = [[] for _ in masks]
    nearer_before, nearer_after = defaultdict(list), defaultdict(list)
    for number, mask in enumerate(masks):
        nearer_before[mask.before[1]].append(number)
        if mask.shape:
            nearer_after[mask.after[0]].append(number)
    seen = [START, START, *(block[:_BEGINNING] for block in blocks), END, END]
    effort = _EFFORT
    taken: set[int] = set()
    empty: set[tuple[int, int]] = set()

    def take(number: int, first: int, end: int) -> bool:
        # Places are counted in `seen`, which has two more at the begin.
        nonlocal effort
        effort -= _TRY
        if first < 2 or end > len(seen) - 2 or not taken.isdisjoint(range(first, end)):
            return False
        mask = masks[number]
        within = blocks[first - 2 : end - 2]
        length = sum(map(len, within))
        fits = length <= mask.room
        if fits and mask.shape:
            effort -= length
            fits = digest(shape_of(" ".join(within))) == mask.shape
        if fits and (first, number) not in empty:
            taken.update(range(first, end))
            found[number].append((first - 2, end - 2))
            if first == end:
                empty.add((first, number))
        return fits

    for at, text in enumerate(seen):
        if effort <= 0:
            break
        for number in nearer_before.get(text, ()):
            effort -= _TRY
            mask = masks[number]
            if mask.shape:
                end = at + 1 + mask.most
                if end < len(seen) and (
                    seen[end] == mask.after[0] or seen[at - 1] == mask.before[0]
                ):
                    take(number, at + 1, end)
                continue
            for end in range(at + 1, min(at + 2 + mask.most, len(seen))):
                if seen[end] == mask.after[0] and take(number, at + 1, end):
                    break
        for number in nearer_after.get(text, ()):
            effort -= _TRY
            mask = masks[number]
            if at + 1 < len(seen) and seen[at + 1] == mask.after[1]:
                take(number, at - mask.most, at)
    lost = [
        number
        for number, mask in enumerate(masks)
        if not (found[number] or mask.shape) and mask.least == mask.most
    ]
    pairs = _pairs(seen, {pair for n in lost for pair in (masks[n].before, masks[n].after)})
    for number in lost:
        mask = masks[number]
        begins, ends = pairs[mask.before], pairs[mask.after]
        # With both, something has come between: which part is the noise cannot be known.
        if len(begins) == 1 and not ends:
            take(number, begins[0] + 2, begins[0] + 2 + mask.most)
        elif len(ends) == 1 and not begins:
            take(number, ends[0] - mask.most, ends[0])
    return found


def covered_blocks(blocks: Sequence[str], masks: Sequence[Mask]) -> set[int]:
    """Which blocks of a page are covered, by their numbers from 0."""
    return {n for places in covered(blocks, masks) for place in places for n in range(*place)}


def _pairs(seen: Sequence[str], pairs: set[tuple[str, str]]) -> dict[tuple[str, str], list[int]]:
    """Where two blocks with these beginnings follow each other."""
    found: dict[tuple[str, str], list[int]] = {pair: [] for pair in pairs}
    for at, pair in enumerate(pairwise(seen) if pairs else ()):
        if pair in found:
            found[pair].append(at)
    return found


def mask_blocks(blocks: Sequence[str], masks: Sequence[Mask]) -> tuple[str, tuple[Mask, ...]]:
    """The text of a page without what masks cover, and the masks as they found the page.

    A mask that covers one place has the neighbours of now. One that finds another value there than
    last time is not `quiet`; one that finds the same, or no place, is so for one poll more.
    """
    places = covered(blocks, masks)
    return " ".join(_left(blocks, masks, places)), tuple(
        _as_found(mask, blocks, own) for mask, own in zip(masks, places, strict=True)
    )


def left_of(blocks: Sequence[str], masks: Sequence[Mask]) -> list[str]:
    """What masks leave of a page: its blocks, `#` for what is hidden in them.

    Those that were refused hide nothing.
    """
    held = [mask for mask in masks if mask.state is not MaskState.REFUSED]
    return _left(blocks, held, covered(blocks, held))


def _left(
    blocks: Sequence[str], masks: Sequence[Mask], places: Sequence[Sequence[Place]]
) -> list[str]:
    left: list[str] = []
    at = 0
    order = sorted((place, number) for number, own in enumerate(places) for place in own)
    for (first, end), number in order:
        left += blocks[at:first]
        if masks[number].shape:
            left.append(without(" ".join(blocks[first:end]), masks[number].varying))
        at = end
    return left + list(blocks[at:])


def digest(text: str) -> str:
    """A hash of a short text, hexadecimal."""
    return xxhash.xxh3_64_hexdigest(text.encode("utf-8", "surrogatepass"))


def _as_found(mask: Mask, blocks: Sequence[str], places: Sequence[Place]) -> Mask:
    if not places:
        return replace(mask, quiet=mask.quiet + 1)
    value = digest("\n".join(" ".join(blocks[first:end]) for first, end in places))
    quiet = mask.quiet + 1 if value == mask.value else 0
    mask = replace(mask, value=value, quiet=quiet)
    if len(places) > 1:
        return mask
    before, after = neighbours(blocks, *places[0])
    return replace(mask, before=before, after=after)


def neighbours(
    blocks: Sequence[str], first: int, end: int
) -> tuple[tuple[str, str], tuple[str, str]]:
    """What stands `before` and `after` a place, as a mask has it."""
    around = [START, START, *map(beginning, blocks[max(first - 2, 0) : first])]
    behind = [*map(beginning, blocks[end : end + 2]), END, END]
    return (around[-2], around[-1]), (behind[0], behind[1])
