"""The loop in which a request controller traverses a graph, one request a second.

Source: T. O'Meara, A. Patel: A topic-specific Web robot model based on restless bandits, IEEE
Internet Computing 5(2), 2001: recall, quality and performance (equations 1 to 3). Without changes
every copy is fresh, so the quality of a collection is its recall.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError
from pollwise.policies.collecting.request_controller import RequestController
from pollwise.simulation.worlds.graph import Graph, recall_of
from pollwise.types import Observation, Outcome

__all__ = ["SHARES", "Traversal", "traverse"]

Floats = NDArray[np.float64]

SHARES = (0.01, 0.05, 0.1, 0.25, 0.5)
"""The shares of its requests at which the recall of a traversal is looked at."""


@dataclass(frozen=True, slots=True, eq=False)
class Traversal:
    """What one traversal brought.

    `recalls` and `best` have the recall before the first request and after each one: that of the
    controller, and that of the upper bound, which fetches all pages in the order of relevance as
    if none had to be discovered. `requested` has the id of the page that each request was for, -1
    where there was none.
    """

    recalls: Floats
    best: Floats
    requested: NDArray[np.int64]

    @property
    def performance(self) -> float:
        """The integral of the recall over the traversal, in seconds (equation 3)."""
        return float(self.recalls[1:].sum())

    @property
    def of_upper_bound(self) -> float:
        """The performance as a share of that of the upper bound; 0 where nothing is relevant."""
        bound = float(self.best[1:].sum())
        return self.performance / bound if bound > 0 else 0.0

    def recall(self, share: float) -> float:
        """The recall after this share of the requests, from 0 to 1."""
        return float(self.recalls[round(share * (len(self.recalls) - 1))])


def traverse(
    graph: Graph,
    controller: RequestController,
    traversals: int = 1,
    requests: int | None = None,
    *,
    known: Sequence[int] = (Graph.START,),
) -> list[Traversal]:
    """Have a controller traverse a graph so many times, and keep what it learns from each.

    `requests` None: a traversal makes as many as the graph has pages. It starts with the pages
    `known`; the others are added when a page that links to them is fetched. Requests are a second
    apart, also from one traversal to the next. `InputError` for fewer than one traversal or
    request.
    """
    length = len(graph) if requests is None else requests
    if traversals < 1 or length < 1:
        raise InputError(
            f"traverse: traversals={traversals} and requests={length} must be 1 at least"
        )
    results = []
    for number in range(traversals):
        if number:
            controller.begin_traversal()
        gains, requested = _traverse(graph, controller, number * length, length, known)
        best = graph.best_recall[: length + 1]
        best = np.append(best, np.full(length + 1 - len(best), best[-1]))
        recalls = recall_of(gains, float(graph.relevance.sum()))
        results.append(Traversal(recalls, best, requested))
    return results


def _traverse(
    graph: Graph, controller: RequestController, begin: int, requests: int, known: Sequence[int]
) -> tuple[Floats, NDArray[np.int64]]:
    """The relevance that each request brought (a page counts once), and the pages requested."""
    pages, relevance = graph.pages, graph.relevance.tolist()
    seen = np.zeros(len(graph), np.bool_)
    fetched = bytearray(len(graph))
    gains = np.zeros(requests)
    requested = np.full(requests, -1, np.int64)
    seen[list(known)] = True
    controller.add([pages[page_id] for page_id in known])
    for step in range(requests):
        now = float(begin + step + 1)
        selected = controller.select(now, 1).page_ids
        if not len(selected):
            continue
        page_id = int(selected[0])
        requested[step] = page_id
        outcome = Outcome.UNCHANGED if fetched[page_id] else Outcome.CHANGED
        controller.observe([Observation(page_id, now, outcome, relevance=relevance[page_id])])
        links = graph.links(page_id)
        new = links.targets[~seen[links.targets]]
        if len(new):
            seen[new] = True
            controller.add([pages[target] for target in new.tolist()])
        controller.link(page_id, links)
        if not fetched[page_id]:
            fetched[page_id] = True
            gains[step] = relevance[page_id]
    return gains, requested
