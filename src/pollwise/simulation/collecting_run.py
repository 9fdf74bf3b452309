"""The loop in which a request controller builds and keeps up a collection, one request a second.

Source: T. O'Meara, A. Patel: A topic-specific Web robot model based on restless bandits, IEEE
Internet Computing 5(2), 2001: recall, freshness and quality (equations 1 to 3), with the
modifications and deletions that the paper left to future work.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError
from pollwise.policies.collecting.request_controller import RequestController
from pollwise.simulation.worlds.changing_graph import ChangingGraph
from pollwise.simulation.worlds.graph import Graph
from pollwise.types import Observation, Outcome

__all__ = ["CollectingRun", "collect_run"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class CollectingRun:
    """The state of a collection after each request.

    Equation 1 sees a modification as a deletion and an addition, so only entries that are up to
    date count. `recall`: their share of all relevance that exists; 1 if there is none. `freshness`:
    their share of the relevance held, where a deleted document counts until a request finds it
    gone; 1 where nothing relevant is held.
    """

    recall: Floats
    freshness: Floats

    @property
    def quality(self) -> Floats:
        """min(R, F) after each request (equation 2).

        R and F have one numerator: this is the relevance that is held and up to date, over the
        larger of all that exists and all that is held.
        """
        return np.minimum(self.recall, self.freshness)


class _Collection:
    """The documents held, and the sums of relevance."""

    def __init__(self, world: ChangingGraph) -> None:
        self._world = world
        self._relevance = world.graph.relevance.tolist()
        self.copied_at: dict[int, float] = {}
        self._fresh_spots: set[int] = set()
        self.held = self.fresh = 0.0

    def changed(self, spot: int) -> None:
        """Something happened on a spot: its document, if held, is out of date."""
        if spot in self._fresh_spots:
            self._fresh_spots.remove(spot)
            self.fresh -= self._relevance[spot]

    def poll(self, document: int, now: float) -> Outcome:
        """Fetch a document."""
        spot = self._world.spot(document)
        relevance = self._relevance[spot]
        before = self.copied_at.get(document)
        if not self._world.exists(document):
            if self.copied_at.pop(document, None) is not None:
                self.held -= relevance
            return Outcome.GONE
        self.copied_at[document] = now
        if before is not None and before >= self._world.modified_at(document):
            return Outcome.UNCHANGED
        self._fresh_spots.add(spot)
        self.fresh += relevance
        if before is None:
            self.held += relevance
        return Outcome.CHANGED


def collect_run(
    world: ChangingGraph, controller: RequestController, requests: int
) -> CollectingRun:
    """Have a controller collect for so many requests, beginning at the start page.

    It is told the relevance and links of documents that are new or modified. `InputError` for
    fewer than one request.
    """
    if requests < 1:
        raise InputError(f"collect_run: requests={requests} must be 1 at least")
    relevance = world.graph.relevance
    total = float(relevance.sum())
    collection = _Collection(world)
    result = CollectingRun(np.zeros(requests), np.ones(requests))
    seen = {Graph.START}
    controller.add(world.pages([Graph.START]))
    for step in range(requests):
        now = float(step + 1)
        for spot in world.advance(now):
            collection.changed(spot)
        for document in controller.select(now, 1).page_ids.tolist():
            outcome = collection.poll(document, now)
            if outcome != Outcome.CHANGED:
                controller.observe([Observation(document, now, outcome)])
                continue
            told = float(relevance[world.spot(document)])
            controller.observe([Observation(document, now, outcome, relevance=told)])
            links = world.links(document)
            new = [target for target in links.targets.tolist() if target not in seen]
            seen.update(new)
            controller.add(world.pages(new))
            controller.link(document, links)
        result.recall[step] = collection.fresh / total if total > 0 else 1.0
        if collection.held > 1e-9:
            result.freshness[step] = collection.fresh / collection.held
    return result
