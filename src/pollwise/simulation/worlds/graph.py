"""Worlds of pages that link to each other, for collecting pages about a topic.

Recorded graphs lie in files (`pollwise.simulation.recorded.graph_files` has their format and
origin); small ones for tests are made from lists::

    Graph(["a.example"] * 3, ["", "x", "y"], [0, 0], [1, 2], ["to x", "to y"],
          {"physics": [0.0, 0.2, 1.0]})

Relevance says how much a page is about a topic, from 0 to 1. A crawl starts at page 0.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pollwise.errors import InputError
from pollwise.simulation.recorded.graph_files import GraphFiles
from pollwise.types import Links, Page

__all__ = ["Graph"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Graph:
    """Pages, the links among them in document order, and how relevant each is to some topics.

    `topic` is the topic of a crawl (by default the first one), and `relevance` an array of the
    relevance to it by page id. Of several links from one page to another only the first counts.
    """

    START = 0
    """The page that a crawl knows at first."""

    def __init__(
        self,
        hosts: Sequence[str],
        paths: Sequence[str],
        sources: ArrayLike,
        targets: ArrayLike,
        anchors: Sequence[str],
        relevance: Mapping[str, ArrayLike],
        *,
        topic: str | None = None,
    ) -> None:
        """`hosts` and `paths` by page id; `sources`, `targets` and `anchors` by link.

        Links of one page are in document order. `relevance`: by topic, an array by page id.
        `InputError` for lengths that do not match, and for numbers out of range.
        """
        pages = len(hosts)
        begin: Ints = np.asarray(sources, np.int64)
        end: Ints = np.asarray(targets, np.int64)
        if len(paths) != pages or not len(begin) == len(end) == len(anchors):
            raise InputError(
                f"graph: {pages} hosts, {len(paths)} paths; {len(begin)} sources, {len(end)}"
                f" targets, {len(anchors)} anchors: give a host and a path for each page, a source,"
                " a target and an anchor for each link"
            )
        for name, ids in (("source", begin), ("target", end)):
            if len(ids) and not (ids.min() >= 0 and ids.max() < pages):
                raise InputError(f"graph: a {name} of a link is no page; ids are 0 to {pages - 1}")
        _, first = np.unique(begin * pages + end, return_index=True)
        kept = np.sort(first)
        order = kept[np.argsort(begin[kept], kind="stable")]
        texts = list(dict.fromkeys(anchors))
        anchor_of = {text: number for number, text in enumerate(texts)}
        self._take(
            GraphFiles(
                hosts=hosts,
                paths=paths,
                offsets=np.searchsorted(begin[order], np.arange(pages + 1)),
                targets=end[order],
                anchor_ids=np.array([anchor_of[text] for text in anchors], np.int64)[order],
                anchors=texts,
                relevance={name: _relevance(name, r, pages) for name, r in relevance.items()},
            ),
            topic,
        )

    @classmethod
    def read(cls, prefix: Path | str, topic: str | None = None) -> "Graph":
        """Read a recorded graph, such as DIR/debdocs; `topic` None: the first of its topics.

        `InputError` names the file that is missing or damaged, or lists the topics if there is
        none of this name.
        """
        graph = cls.__new__(cls)
        graph._take(GraphFiles.read(Path(prefix)), topic)
        return graph

    @classmethod
    def bundled(cls, topic: str | None = None) -> "Graph":
        """The articles of "Wikipedia for Schools"; see `read`."""
        folder = resources.files("pollwise") / "data" / "graphs"
        with resources.as_file(folder) as path:
            return cls.read(path / "wikispeedia", topic)

    def _take(self, files: GraphFiles, topic: str | None) -> None:
        self._files = files
        self.hosts, self.paths = files.hosts, files.paths
        self.offsets: Ints = files.offsets
        """The links of page i are those from `offsets[i]` to before `offsets[i + 1]`."""
        self.targets: Ints = files.targets
        """The page that each link leads to."""
        self.topics = tuple(files.relevance)
        chosen = self.topics[0] if topic is None and self.topics else topic
        if chosen is None or chosen not in files.relevance:
            there = ", ".join(self.topics) if self.topics else "none"
            raise InputError(f"the graph has no topic {chosen!r}; its topics: {there}")
        self.topic = chosen
        self.relevance: Floats = files.relevance[chosen]

    def __len__(self) -> int:
        """The number of pages."""
        return len(self.hosts)

    @cached_property
    def pages(self) -> Sequence[Page]:
        """All pages by id: what a crawler knows of them before it fetches them."""
        return [
            Page(number, f"http://{host}/{path}", host, site=host)
            for number, (host, path) in enumerate(zip(self.hosts, self.paths, strict=True))
        ]

    def links(self, page_id: int) -> Links:
        """The links of a page in document order, with their anchor texts."""
        begin, end = self.offsets[page_id], self.offsets[page_id + 1]
        texts = self._files.anchors
        ids = self._files.anchor_ids[begin:end].tolist()
        return Links(self.targets[begin:end], [texts[number] for number in ids])

    @cached_property
    def best_recall(self) -> Floats:
        """The recall after each number of fetches (0 to all) if no page had to be discovered.

        The most relevant pages come first, so this is the upper bound of every order. Recall is
        the fetched pages' share of all relevance (O'Meara and Patel 2001); 0 if there is none.
        """
        return recall_of(-np.sort(-self.relevance), float(self.relevance.sum()))


def recall_of(gains: Floats, total: float) -> Floats:
    """The recall before the first and after each fetch, from the relevance that each brought.

    >>> recall_of(np.array([1.0, 0.0, 3.0]), 4.0)
    array([0.  , 0.25, 0.25, 1.  ])
    """
    reached = np.concatenate([[0.0], np.cumsum(gains)])
    return reached / total if total > 0 else reached


def _relevance(topic: str, values: ArrayLike, pages: int) -> Floats:
    relevance = np.asarray(values, np.float64)
    if relevance.shape != (pages,) or not ((relevance >= 0) & (relevance <= 1)).all():
        raise InputError(
            f"graph: the relevance to {topic!r} must be a number from 0 to 1 for each of the"
            f" {pages} pages"
        )
    return relevance
