"""What differs between a version of a page and the one before, in a few words."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from pollwise.store import Store
from pollwise.types import Mask
from pollwise.web.large_bodies import LARGE
from pollwise.web.noise.blocks import Kind, blocks_of, kind_of_body
from pollwise.web.noise.masks import left_of
from pollwise.web.reading.page_parser import parse_page

__all__ = ["Difference", "difference", "read_difference"]

_KEPT = 3
"""Words that are kept on both sides of what differs."""
_CDATA = "<![CDATA[", "]]>"
_MOST_CHARACTERS = 2_000
"""Of a block of text that are looked at."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The title of a new version, and the first block of text that went and that came.

    `title` is empty where there is none. Of two blocks, what they begin and end with alike is left
    out, but for three words. None: no text went, or none came.
    """

    title: str = ""
    removed: str | None = None
    added: str | None = None


def read_difference(db: Path, page_id: int, url: str, seen_at: float) -> Difference:
    """What came with the version of a page that was first seen at `seen_at`.

    What is masked as noise does not count. Empty if the version, or the one before, is kept no more
    or is larger than 256 KiB. `StoreError` if the database cannot be read. Takes time in proportion
    to the sizes.
    """
    with Store.open_readonly(db) as store, store.snapshot():
        versions = [one for one in store.versions(page_id) if one.seen_at <= seen_at][-2:]
        if len(versions) < 2 or versions[-1].seen_at != seen_at:
            return Difference()
        if any(one.size > LARGE for one in versions):
            return Difference()
        bodies = [store.body(one.body_hash) for one in versions]
        record = store.find_page(url)
    before, after = (
        parse_page(body, one.content_type, url) for body, one in zip(bodies, versions, strict=True)
    )
    masks = () if record is None else record.memory.noise.masks
    if masks or not (before.blocks or after.blocks):  # data and feeds have none
        one, other = (
            _unmasked(body, version.content_type, masks)
            for body, version in zip(bodies, versions, strict=True)
        )
        return difference(one, other, after.title)
    if before.blocks == after.blocks:  # what else readers see is the title
        return difference([before.title], [after.title], after.title)
    return difference(before.blocks, after.blocks, after.title)


def _unmasked(body: bytes, content_type: str | None, masks: Sequence[Mask]) -> list[str]:
    """The blocks that count."""
    blocks = blocks_of(body, content_type)
    return _texts(left_of(blocks, masks), kind_of_body(body, content_type))


def _texts(blocks: Sequence[str], kind: Kind) -> list[str]:
    """Of blocks, what is no tag and no bracket.

    >>> _texts(["<title>", "News", "</title>", "<![CDATA[It rains]]>", "<![CDATA[<p>"], "xml")
    ['News', 'It rains']
    >>> _texts(["{", '"tags": [', '"a",', '"b"]}'], "json")
    ['"tags":', '"a"', '"b"']
    """
    if kind == "xml":
        bare = (block.removeprefix(_CDATA[0]).removesuffix(_CDATA[1]).strip() for block in blocks)
        return [block for block in bare if block and not block.startswith("<")]
    if kind == "json":
        return list(filter(None, (block.strip(" ,[]{}") for block in blocks)))
    return list(blocks)


def difference(before: Sequence[str], after: Sequence[str], title: str = "") -> Difference:
    """What went and what came between two sequences of blocks of text; takes linear time.

    >>> difference(["News", "Opens at nine o'clock"], ["News", "Opens at ten o'clock"])
    Difference(title='', removed="Opens at nine o'clock", added="Opens at ten o'clock")
    """
    removed, added = _first_missing(before, after), _first_missing(after, before)
    if removed is not None and added is not None:
        removed, added = _focused(removed.split(), added.split())
    return Difference(title, removed, added)


def _first_missing(blocks: Sequence[str], others: Sequence[str]) -> str | None:
    """The first block that the others do not have, as often as it comes."""
    left = Counter(others)
    for block in blocks:
        if left[block] == 0:
            return block[:_MOST_CHARACTERS]
        left[block] -= 1
    return None


def _focused(one: list[str], other: list[str]) -> tuple[str, str]:
    """The texts of some words, without most of what they begin and end with alike."""
    begin = _alike(one, other)
    end = _alike(one[begin:][::-1], other[begin:][::-1])
    return _around(one, begin, end), _around(other, begin, end)


def _alike(one: list[str], other: list[str]) -> int:
    """With how many words both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _around(words: list[str], begin: int, end: int) -> str:
    """The words but for the first `begin` and the last `end`, with a few on both sides."""
    first, last = max(begin - _KEPT, 0), len(words) - max(end - _KEPT, 0)
    ends = "…" if first > 0 else "", "…" if last < len(words) else ""
    return " ".join(filter(None, (ends[0], *words[first:last], ends[1])))
