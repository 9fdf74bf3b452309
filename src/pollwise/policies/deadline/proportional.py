"""The more often a page changes, the more often it is polled.

A natural idea and a common rule; with known rates it is the "proportional" scheme of Granmo and
Oommen, whose time goes in unit steps. For detection it is close to the best, for freshness it is
worse than polling all pages equally often (Cho and Garcia-Molina 2003).
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pollwise.policies.deadline.policy import DeadlinePolicy
from pollwise.policies.known_rates import known_rates
from pollwise.types import Page

__all__ = ["Proportional"]


class Proportional(DeadlinePolicy):
    """Polls at frequencies in proportion to 1 - e^-rate, the probability of a change in a second.

    `rates` are changes per second by page id (for slow pages 1 - e^-rate is the rate itself, so
    that only proportions matter); weights and costs play no part. It never waits: it shares out
    all polls that it is asked for. A page of rate 0 without a copy is polled once.

    >>> from pollwise.types import Observation, Outcome
    >>> policy = Proportional(rates={0: 0.01, 1: 0.03})
    >>> policy.add([Page(0), Page(1)])
    >>> polled = []
    >>> for now in range(10):
    ...     (page_id,) = policy.select(now, limit=1).page_ids.tolist()
    ...     policy.observe([Observation(page_id, now, Outcome.UNCHANGED)])
    ...     polled.append(page_id)
    >>> polled
    [0, 1, 1, 1, 0, 1, 1, 1, 0, 1]
    """

    def __init__(self, *, rates: Mapping[int, float]) -> None:
        super().__init__()
        self._rates = rates

    def _intervals(self, pages: Sequence[Page]) -> NDArray[np.float64]:
        rates = known_rates("proportional", self._rates, [page.id for page in pages])
        with np.errstate(divide="ignore"):
            return -1.0 / np.expm1(-rates)
