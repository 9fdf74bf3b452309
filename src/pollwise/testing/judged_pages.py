"""Pages that were judged to be about a topic or not, for tests of the topic filter.

The folder `tests/data/topics` of the source has such pages; its README says how they were made.
"""

import csv
import json
import lzma
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from pollwise.relevance.parsed_text import ParsedText, term_hashes
from pollwise.relevance.topic import Topic, topic

__all__ = ["Judged", "JudgedPages"]


@dataclass(frozen=True, slots=True)
class Judged:
    """The judgement on a page: its host and path, and whether it is about the topic.

    `is_held_out`: nothing was tuned to it.
    """

    host: str
    path: str
    topic: str
    is_held_out: bool
    is_about: bool


@dataclass(frozen=True, slots=True)
class JudgedPages:
    """All pages by host and path, the judgements, and the topics, each told in three ways."""

    pages: dict[tuple[str, str], ParsedText]
    judged: tuple[Judged, ...]
    topics: dict[str, dict[str, Topic]]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read `pages.json.xz`, `judged.tsv` and `topics.json` of a folder."""
        data = json.loads(lzma.decompress((folder / "pages.json.xz").read_bytes()))
        pages = {
            (host, path): _page(data["terms"], data["blocks"], blocks)
            for host, path, blocks in data["pages"]
        }
        with (folder / "judged.tsv").open(encoding="utf-8", newline="") as file:
            judged = tuple(
                Judged(
                    row["package"],
                    row["path"],
                    row["topic"],
                    row["half"] == "held-out",
                    row["by_reading"] == "1",
                )
                for row in csv.DictReader(file, delimiter="\t")
            )
        told = json.loads((folder / "topics.json").read_text(encoding="utf-8"))
        topics = {name: _topics(ways, pages) for name, ways in told.items()}
        return cls(pages, judged, topics)


def _topics(ways: dict[str, Any], pages: dict[tuple[str, str], ParsedText]) -> dict[str, Topic]:
    examples = [pages[host, path] for host, path in ways["examples"]]
    counts = tuple(
        dict(zip(page.terms, page.term_counts().astype(int).tolist(), strict=True))
        for page in examples
    )
    few, dozen = topic(ways["few words"]), topic(ways["a dozen words"])
    return {"few words": few, "a dozen words": dozen, "examples": Topic(examples=counts)}


def _page(
    vocabulary: Sequence[str], contents: Sequence[list[int]], blocks: list[int]
) -> ParsedText:
    """The page with these `blocks`; each has pairs of a term's number and its count."""
    rows = np.array(
        [
            (place, term, count)
            for place, block in enumerate(blocks)
            for term, count in zip(contents[block][::2], contents[block][1::2], strict=True)
        ]
    ).reshape(-1, 3)
    numbers, term_of = np.unique(rows[:, 1], return_inverse=True)
    terms = tuple(vocabulary[number] for number in numbers)
    return ParsedText(
        terms=terms,
        hashes=term_hashes(terms),
        blocks=np.array(blocks, np.uint32),
        block_of=rows[:, 0].astype(np.uint16),
        term_of=term_of.astype(np.uint16),
        counts=np.minimum(rows[:, 2], 65535).astype(np.uint16),
    )
