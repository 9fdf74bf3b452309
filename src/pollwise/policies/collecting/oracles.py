"""What a robot is compared with: oracles that are told how relevant pages are, and chance.

All three are those of T. O'Meara and A. Patel, "A topic-specific Web robot model based on restless
bandits", IEEE Internet Computing 5(2), 2001.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from pollwise.policies.collecting.group_queue import FrontierPolicy
from pollwise.types import Page

__all__ = ["FringeGreedy", "RandomOrder", "UpperBound"]


class FringeGreedy(FrontierPolicy):
    """Requests the most relevant page of the fringe; it is told how relevant pages are.

    It knows what no robot knows before the fetch, but does not see what lies behind a page that is
    not relevant itself. `relevance` is by page id; a page beyond its end is not relevant.
    `generator` breaks ties.

    >>> policy = FringeGreedy(relevance=[0.1, 0.0, 0.7], generator=np.random.default_rng(1))
    >>> policy.add([Page(0), Page(1), Page(2)])
    >>> policy.select(now=1.0, limit=2).page_ids
    array([2, 0])
    """

    def __init__(self, *, relevance: ArrayLike, generator: np.random.Generator) -> None:
        super().__init__("fringe-greedy", generator)
        self._relevance: list[float] = np.asarray(relevance, np.float64).tolist()

    def _groups(self, pages: Sequence[Page]) -> Iterable[float]:
        """Those of one relevance."""
        known = len(self._relevance)
        groups = [self._relevance[page.id] if page.id < known else 0.0 for page in pages]
        for group in set(groups):
            self._frontier.prioritise(group, group)
        return groups


class UpperBound(FringeGreedy):
    """Requests the most relevant of all pages, whether a link leads there or not.

    No order of requests is better, so performance is measured by it. It must be given all pages
    before the first request (`traverse(..., known=range(len(graph)))`).
    """


class RandomOrder(FrontierPolicy):
    """Requests any page of the fringe, all equally likely.

    >>> policy = RandomOrder(generator=np.random.default_rng(1))
    >>> policy.add([Page(0), Page(1), Page(2)])
    >>> policy.select(now=1.0, limit=2).page_ids
    array([2, 0])
    """

    def __init__(self, *, generator: np.random.Generator) -> None:
        super().__init__("random", generator)

    def _groups(self, pages: Sequence[Page]) -> Iterable[float]:
        return [0.0] * len(pages)
