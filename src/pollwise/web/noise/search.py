"""Which parts of a page are noise: three fetches within seconds tell.

A part is noise if it differs between the first and the second fetch, and again between the second
and the third, at the same place. So what the page really says is safe, however rarely it is polled:
news would have to come twice within seconds, in place of each other. An article that is added to a
list stays where it is or moves down, which is not the same place.

Two kinds of noise are masked. In the first, nothing but numbers, dates, names of months and long
random words differ (`tokens`): only those of them that do are left out. Of the second, such as a
quotation of the moment, nothing is the same; it is only masked while all of it is at most half of
the page. A page of which nothing would be left is not masked at all.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, pairwise
from operator import itemgetter
from typing import NamedTuple

from pollwise.types import Mask, MaskState
from pollwise.web.noise.masks import (
    LONGEST,
    covered,
    covered_blocks,
    digest,
    neighbours,
    place_of,
    sample_of,
)
from pollwise.web.noise.tokens import shape_of, varying_in

__all__ = ["MOST_MASKS", "Difference", "differences", "find_noise", "leaves_words"]

MOST_MASKS = 24
"""Of one page: more noise is not masked, but its page said to differ at every poll."""
_MOST_BLOCKS = 20_000
"""Of a page that is searched."""
_MOST_TEXT = 100_000
"""Characters of what differs: a page with more of them is not noisy, but another one each time."""
_MOST_COVERED = 40
"""Blocks under one mask."""

Blocks = Sequence[str]


class Difference(NamedTuple):
    """The blocks `begin` to `end` (exclusive) of one page stand for those of another."""

    begin: int
    end: int
    other_begin: int
    other_end: int


def find_noise(pages: Sequence[Blocks], known: Sequence[Mask] = ()) -> tuple[Mask, ...]:
    """The masks for the noise in three fetches of one page, besides those that it has.

    `pages` are the blocks of the fetches, in order. Masks that do not fit any more are replaced;
    what is covered by a mask that was refused is left alone. Empty: there is no more noise, or too
    much of it.
    """
    first, second, third = pages
    if max(map(len, pages)) > _MOST_BLOCKS:
        return ()
    under = sorted(place for places in covered(second, known) for place in places)
    new: dict[tuple[str, str], Mask] = {}
    times: Counter[tuple[str, str]] = Counter()
    text = 0
    for here, before, after in _restless(first, second, third):
        at = bisect_right(under, here[0], key=itemgetter(0))
        if at and here[1] <= under[at - 1][1]:
            continue
        contents = [first[slice(*before)], second[slice(*here)], third[slice(*after)]]
        mask = _mask(second, here, contents)
        place = place_of(mask)
        old = new.get(place, mask)
        new[place] = replace(
            old,
            least=min(old.least, mask.least),
            most=max(old.most, mask.most),
            room=max(old.room, mask.room),
            varying=tuple(sorted({*old.varying, *mask.varying})),
        )
        times[place] += 1
        text += sum(map(len, chain.from_iterable(contents)))
        if len(new) > MOST_MASKS or text > _MOST_TEXT:
            return ()
    half = sum(map(len, second)) / 2
    likely = [
        mask
        for mask in new.values()
        if mask.most <= _MOST_COVERED and (mask.shape or mask.room / 2 <= half)
    ]
    places = [covered(page, likely) for page in pages]
    masks = [
        mask
        for mask, *found in zip(likely, *places, strict=True)
        if all(len(each) == times[place_of(mask)] for each in found)
    ]
    refused = {place_of(mask) for mask in known if mask.state is not MaskState.SET}
    masks = [mask for mask in masks if place_of(mask) not in refused]
    found_now = {place_of(mask) for mask in masks}
    kept = [mask for mask in known if place_of(mask) not in found_now]
    set_now = [mask for mask in kept if mask.state is MaskState.SET] + masks
    too_much = len(kept) + len(masks) > MOST_MASKS or _hidden(second, set_now) > half
    if too_much or not leaves_words(second, set_now):
        return ()
    return tuple(masks)


def differences(one: Blocks, other: Blocks) -> list[Difference]:
    """Where two pages differ, in order; in time n log n.

    Blocks that are unique in both pages, in the longest order that both have, hold the pages
    together, and whatever is equal around them.
    """
    begin, least = 0, min(len(one), len(other))
    while begin < least and one[begin] == other[begin]:
        begin += 1
    tail = 0
    while tail < least - begin and one[-1 - tail] == other[-1 - tail]:
        tail += 1
    ends = (len(one) - tail, len(other) - tail)
    fixed = [(begin - 1, begin - 1), *_common(one, other, begin, *ends), ends]
    found: list[Difference] = []
    for (before, other_before), (after, other_after) in pairwise(fixed):
        found += _gap(one, other, before + 1, after, other_before + 1, other_after)
    return found


def _common(
    one: Blocks, other: Blocks, begin: int, end: int, other_end: int
) -> list[tuple[int, int]]:
    """Equal blocks, each once in either page, in the longest order that both have."""
    counts, other_counts = Counter(one[begin:end]), Counter(other[begin:other_end])
    place = {other[n]: n for n in range(begin, other_end)}
    pairs = [
        (n, place[one[n]])
        for n in range(begin, end)
        if counts[one[n]] == 1 and other_counts[one[n]] == 1
    ]
    # The longest increasing subsequence, by the piles of patience sorting.
    tops: list[int] = []
    last: list[int] = []
    links: list[int] = []
    for number, (_, there) in enumerate(pairs):
        pile = bisect_left(tops, there)
        links.append(last[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [there]
        last[pile : pile + 1] = [number]
    chosen = []
    number = last[-1] if last else -1
    while number >= 0:
        chosen.append(pairs[number])
        number = links[number]
    return chosen[::-1]


def _gap(
    one: Blocks, other: Blocks, begin: int, end: int, other_begin: int, other_end: int
) -> list[Difference]:
    """The differences between two blocks that hold the pages together."""
    while begin < end and other_begin < other_end and one[begin] == other[other_begin]:
        begin, other_begin = begin + 1, other_begin + 1
    while begin < end and other_begin < other_end and one[end - 1] == other[other_end - 1]:
        end, other_end = end - 1, other_end - 1
    if begin == end and other_begin == other_end:
        return []
    if end - begin != other_end - other_begin:
        return [Difference(begin, end, other_begin, other_end)]
    found: list[Difference] = []
    shift = other_begin - begin
    for n in range(begin, end):
        if one[n] == other[n + shift]:
            continue
        if found and found[-1].end == n:
            found[-1] = found[-1]._replace(end=n + 1, other_end=n + 1 + shift)
        else:
            found.append(Difference(n, n + 1, n + shift, n + 1 + shift))
    return found


_Range = tuple[int, int]


def _restless(first: Blocks, second: Blocks, third: Blocks) -> list[tuple[_Range, _Range, _Range]]:
    """The places in the second page that differ from both others, and those in the others.

    Two differences meet in one place if they are the same place, or share a part and neither is
    empty: a block that is random may by chance begin as it did before.
    """
    earlier = [
        Difference(d.other_begin, d.other_end, d.begin, d.end) for d in differences(first, second)
    ]
    later = differences(second, third)
    found = []
    number = 0
    for one in earlier:
        while number < len(later) and later[number].end < one.begin:
            number += 1
        for two in later[number : number + 2]:
            overlaps = max(one.begin, two.begin) < min(one.end, two.end)
            if (one.begin, one.end) != (two.begin, two.end) and not overlaps:
                continue
            begin, end = min(one.begin, two.begin), max(one.end, two.end)
            before, after = (
                (d.other_begin - (d.begin - begin), d.other_end + (end - d.end)) for d in (one, two)
            )
            found.append(((begin, end), before, after))
            break
    return found


def _mask(page: Blocks, here: _Range, contents: Sequence[Blocks]) -> Mask:
    texts = [" ".join(content) for content in contents]
    lengths = {len(content) for content in contents}
    shapes = set(map(shape_of, texts)) if max(map(len, texts)) <= LONGEST else set()
    shaped = len(shapes) == len(lengths) == 1
    before, after = neighbours(page, *here)
    return Mask(
        before=before,
        after=after,
        shape=digest(shapes.pop()) if shaped else "",
        least=min(lengths),
        most=max(lengths),
        room=LONGEST if shaped else 2 * max(sum(map(len, content)) for content in contents),
        sample=sample_of(next(filter(None, texts), "")),
        varying=varying_in(texts) if shaped else (),
    )


def _hidden(page: Blocks, masks: Sequence[Mask]) -> float:
    """The characters of a page that masks without a shape cover, at their longest."""
    whole = [mask for mask in masks if not mask.shape]
    places = covered(page, whole)
    return sum(len(own) * mask.room / 2 for mask, own in zip(whole, places, strict=True))


def leaves_words(page: Blocks, masks: Sequence[Mask]) -> bool:
    """Whether anything that can be read is left outside the masks."""
    under = covered_blocks(page, masks)
    return any(n not in under and any(map(str.isalnum, block)) for n, block in enumerate(page))
