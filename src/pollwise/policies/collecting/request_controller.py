"""The contract of a policy that discovers pages through links.

The request controller of O'Meara and Patel's topic-specific Web robot decides what to request
next: a page that it knows by links only (the fringe), or a page of the collection again. It adds to
the contract of a policy what a fetched page tells about others. `pollwise.simulation.traversal` and
the live collection loop drive it by the same calls:

1.  Pages come by `add` when their URLs are first seen: first the seeds, then those that a page
    links to, which come before the `link` that names them.
2.  What a poll found comes by `observe`, with `Observation.relevance` where the page has content;
    the links of that content come by `link` after it, before the next `select`.
3.  As more is learned about the topic, `rescore` tells the relevance of fetched pages anew.
4.  `aim` tells the terms of the topic and their weights, first and whenever they are known better.
5.  `link` of a page that was linked before replaces its links.
6.  `begin_traversal` has the controller start anew on the same web: no page is fetched, the
    fringe are the pages added next. What was learned stays, and ids keep their meaning.

Source: T. O'Meara, A. Patel: A topic-specific Web robot model based on restless bandits, IEEE
Internet Computing 5(2), 2001.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from pollwise.policies.base import Policy
from pollwise.types import Links

__all__ = ["RequestController"]


@runtime_checkable
class RequestController(Policy, Protocol):
    """What collecting needs of a policy; the rules are in the module's docstring."""

    def link(self, page_id: int, links: Links) -> None:
        """Learn what a page links to, after it was observed."""

    def rescore(self, page_ids: Sequence[int], relevances: Sequence[float]) -> None:
        """Correct the relevance of fetched pages that `observe` told; unknown ids are ignored."""

    def aim(self, weights: Mapping[str, float]) -> None:
        """Aim at a topic, as the weights of its terms, from now on."""

    def begin_traversal(self) -> None:
        """Forget which pages were fetched, and keep what was learned."""
