"""Requests by relevance among all pages: no order of requests is better."""

from pollwise.policies.collecting.fringe_greedy import FringeGreedy

__all__ = ["UpperBound"]


class UpperBound(FringeGreedy):
    """Requests the most relevant of all pages, whether a link leads there or not.

    The upper bound that O'Meara and Patel (2001) measure performance by. To be one, it must be
    given all pages before the first request (`traverse(..., known=range(len(graph)))`).
    """
