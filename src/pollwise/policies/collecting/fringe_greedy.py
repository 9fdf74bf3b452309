"""Requests by relevance among the pages that are linked to: an oracle."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from pollwise.policies.collecting.group_queue import FrontierPolicy
from pollwise.types import Page

__all__ = ["FringeGreedy"]


class FringeGreedy(FrontierPolicy):
    """Requests the most relevant page of the fringe; it is told how relevant pages are.

    It knows what no robot knows before the fetch, but does not see what lies behind a page that
    is not relevant itself. O'Meara and Patel (2001) hold their controller against it. `relevance`
    is by page id; a page beyond its end is not relevant. `generator` breaks ties.

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
