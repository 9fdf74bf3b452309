"""A page's text as the topic filter takes it: terms by block, made where the page is parsed.

A block is the text of one block-level element (a paragraph, a list item, a table cell, a heading;
the title of the page, too). What a site repeats on page after page, it repeats by blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from pollwise.relevance.languages import language_of
from pollwise.relevance.remembered import Remembered
from pollwise.relevance.terms import MAX_TERMS, terms_of_each

__all__ = ["ParsedText", "parse_text", "term_hashes"]

_MAX_CHARACTERS = 400_000
_MAX_BLOCKS = 10_000
_REMEMBERED = 2**16

UInts = NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False)
class ParsedText:
    """The terms of a page and the blocks they stand in; small, and quick to pickle.

    `terms` are the distinct terms of the page, `hashes` their 32-bit hashes, `blocks` the hashes
    of its distinct blocks. `counts[i]` says how often the term `terms[term_of[i]]` stands in the
    block `blocks[block_of[i]]`, with an entry for each distinct term of a block. `language` is
    that of the text (see `language_of`), empty if it is not clear. `judgement` is what the callable
    of a topic said of the page, if the topic has one.
    """

    terms: tuple[str, ...]
    hashes: UInts
    blocks: UInts
    block_of: NDArray[np.uint16]
    term_of: NDArray[np.uint16]
    counts: NDArray[np.uint16]
    language: str = ""
    judgement: float | None = None

    def __reduce__(self) -> tuple[object, ...]:
        # One string is pickled and read in a fiftieth of the time of so many.
        arrays = (self.hashes, self.blocks, self.block_of, self.term_of, self.counts)
        return _restored, (" ".join(self.terms), *arrays, self.language, self.judgement)

    def term_counts(self, kept: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """How often each term stands in the blocks that are `kept` (None: in all of them)."""
        weights = self.counts if kept is None else self.counts * kept[self.block_of]
        counts = np.bincount(self.term_of, weights, minlength=len(self.terms))
        return counts.astype(np.float64, copy=False)


def _restored(terms: str, *fields: Any) -> ParsedText:
    return ParsedText(tuple(terms.split()), *fields)


def parse_text(blocks: Sequence[str], judgement: float | None = None) -> ParsedText:
    """The terms of a page's blocks, in document order.

    Reads up to 400,000 characters and 10,000 blocks; terms beyond the first `MAX_TERMS` distinct
    ones are left out.
    """
    read = _read(blocks)
    found = [own for own in terms_of_each(read) if own]
    block_numbers: dict[int, int] = {}
    entries = [block_numbers.setdefault(_hash(" ".join(own)), len(block_numbers)) for own in found]
    spoken = [*chain.from_iterable(found)]
    numbers = dict(zip(dict.fromkeys(spoken), count()))
    said = np.array([*map(numbers.__getitem__, spoken)], np.int64)
    keys = np.repeat(np.array(entries, np.int64) * MAX_TERMS, [*map(len, found)]) + said
    keys, firsts, counts = np.unique(keys[said < MAX_TERMS], return_index=True, return_counts=True)
    order = np.argsort(firsts)
    places, counts = keys[order], counts[order]
    distinct = tuple(numbers)[:MAX_TERMS]
    return ParsedText(
        terms=distinct,
        hashes=term_hashes(distinct),
        blocks=np.fromiter(block_numbers, np.uint32, len(block_numbers)),
        block_of=(places // MAX_TERMS).astype(np.uint16),
        term_of=(places % MAX_TERMS).astype(np.uint16),
        counts=np.minimum(counts, 65535).astype(np.uint16),
        language=language_of(" ".join(read)) or "",
        judgement=judgement,
    )


def _read(blocks: Sequence[str]) -> list[str]:
    """What is read of the blocks."""
    read = []
    room = _MAX_CHARACTERS
    for block in blocks[:_MAX_BLOCKS]:
        if room <= 0:
            break
        read.append(block[:room])
        room -= len(block)
    return read


def term_hashes(terms: Sequence[str]) -> UInts:
    """The 32-bit hashes by which terms are counted, packed and compared."""
    return np.fromiter(map(_HASHES.__getitem__, terms), np.uint32, len(terms))


def _hash(term: str) -> int:
    return xxhash.xxh32_intdigest(term.encode())


_HASHES = Remembered(_hash, _REMEMBERED)
