"""A graph whose pages are modified and deleted while a robot collects them.

Every page changes as a Poisson process. The rates are log-normal and do not depend on the relevance
or links of a page: their logarithms have a standard deviation of 1, so a tenth of the pages make
39 % of the changes. The `change_load` is the expected number of changes on the whole graph in a
second, in which a robot makes one request.

A change is a deletion with the probability `deletions`, else a modification. A new page of another
address replaces a deleted one at once, with the same relevance, links and rate, so the number of
pages is constant. A page that linked to the deleted one links to the new one after its own next
modification. The start page is never deleted.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import require_share
from pollwise.errors import InputError
from pollwise.simulation.worlds.graph import Graph
from pollwise.types import Links, Page

__all__ = ["ChangingGraph"]

_SPREAD = 1.0
"""The standard deviation of the logarithms of rates."""


class ChangingGraph:
    """The pages of a graph and their changes, which depend on the seed alone.

    A page of the graph is a *spot*, on which one document follows another. Controllers know the
    ids of documents; the first documents have those of their spots. `InputError` for a load that
    is not above 0, or a share out of range.
    """

    def __init__(
        self, graph: Graph, *, change_load: float, seed: int, deletions: float = 0.05
    ) -> None:
        if not 0 < change_load < np.inf:
            raise InputError(
                f"change_load={change_load!r} must be a finite number above 0; for a graph without"
                " changes leave it out"
            )
        require_share("changing graph", "deletions", deletions)
        self.graph = graph
        self._generator = np.random.default_rng(seed)
        self._load, self._deletions = change_load, deletions
        rates = self._generator.lognormal(0.0, _SPREAD, len(graph))
        self.rates: NDArray[np.float64] = change_load * rates / rates.sum()
        """Changes per second, by spot."""
        self._cumulated = np.cumsum(rates) / rates.sum()
        self._document = np.arange(len(graph))
        self._born_at = np.full(len(graph), -np.inf)
        self._modified_at = np.full(len(graph), -np.inf)
        self._spots: list[int] = list(range(len(graph)))
        self._before: dict[int, tuple[int, float]] = {}
        self._now = 0.0

    def advance(self, now: float) -> list[int]:
        """Let time pass; the spots on which something changed, in the order of the changes."""
        count = self._generator.poisson(self._load * (now - self._now))
        self._now = now
        spots = np.searchsorted(self._cumulated, self._generator.random(count), side="right")
        deleted = self._generator.random(count) < self._deletions
        changed: list[int] = np.minimum(spots, len(self.graph) - 1).tolist()
        for spot, is_deleted in zip(changed, deleted.tolist(), strict=True):
            self._modified_at[spot] = now
            if is_deleted and spot != Graph.START:
                self._replace(spot, now)
        return changed

    def _replace(self, spot: int, now: float) -> None:
        new = len(self._spots)
        self._before[new] = (int(self._document[spot]), float(self._born_at[spot]))
        self._document[spot] = new
        self._born_at[spot] = now
        self._spots.append(spot)

    def spot(self, document: int) -> int:
        """The spot of a document."""
        return self._spots[document]

    def exists(self, document: int) -> bool:
        """Whether a document is not deleted."""
        return bool(self._document[self._spots[document]] == document)

    def modified_at(self, document: int) -> float:
        """When an existing document became what it is now."""
        return float(self._modified_at[self._spots[document]])

    def pages(self, documents: Sequence[int]) -> list[Page]:
        """What a crawler knows of documents before it fetches them."""
        return [self._page(document) for document in documents]

    def _page(self, document: int) -> Page:
        first = self.graph.pages[self._spots[document]]
        if document < len(self.graph):
            return first
        url = f"{first.url}?edition={document}"
        return Page(document, url, first.scope, site=first.site)

    def links(self, document: int) -> Links:
        """The links of an existing document, as of its latest modification."""
        spot = self._spots[document]
        links = self.graph.links(spot)
        written_at = self._modified_at[spot]
        targets = self._document[links.targets]
        for at in np.flatnonzero(self._born_at[links.targets] > written_at):
            target, born_at = int(targets[at]), float(self._born_at[links.targets[at]])
            while born_at > written_at:
                target, born_at = self._before[target]
            targets[at] = target
        return Links(targets, links.anchors)
