"""Every page equally often: what crawlers do that know nothing about their pages."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pollwise.policies.deadline.policy import DeadlinePolicy
from pollwise.types import Page

__all__ = ["Uniform"]


class Uniform(DeadlinePolicy):
    """Polls the page that was selected longest ago, in the first round in the order of adding.

    For freshness, better than polling in proportion to change rates (Cho and Garcia-Molina 2003).

    >>> policy = Uniform()
    >>> policy.add([Page(2), Page(0), Page(1)])
    >>> policy.select(now=1.0, limit=3).page_ids
    array([2, 0, 1])
    """

    def __init__(self) -> None:
        # The clock counts selections: without intervals, the deadlines are a queue.
        super().__init__(tick=1.0)

    def _intervals(self, pages: Sequence[Page]) -> NDArray[np.float64]:
        return np.zeros(len(pages))
