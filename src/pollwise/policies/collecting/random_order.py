"""Requests in random order: the least that a request controller should beat."""

from collections.abc import Iterable, Sequence

import numpy as np

from pollwise.policies.collecting.group_queue import FrontierPolicy
from pollwise.types import Page

__all__ = ["RandomOrder"]


class RandomOrder(FrontierPolicy):
    """Requests any page of the fringe, all equally likely.

    One of the three that O'Meara and Patel (2001) hold their controller against.

    >>> policy = RandomOrder(generator=np.random.default_rng(1))
    >>> policy.add([Page(0), Page(1), Page(2)])
    >>> policy.select(now=1.0, limit=2).page_ids
    array([2, 0])
    """

    def __init__(self, *, generator: np.random.Generator) -> None:
        super().__init__("random", generator)

    def _groups(self, pages: Sequence[Page]) -> Iterable[float]:
        return [0.0] * len(pages)
