"""The request controller of the topic-specific robot, as published: Q-values of local states.

T. O'Meara, A. Patel: A topic-specific Web robot model based on restless bandits, IEEE Internet
Computing 5(2), 2001. Every page is an arm of a restless bandit in a local state x, with the actions
1 (request it) and 2 (leave it for now). Published are: a Q-value for each local state and action,
learned over many traversals of the same documents; returns with the shape of a tree, because a page
that is requested brings the pages it links to as new arms (equation 10); a reward that is what the
request brings to the quality of the collection (equation 11); the index Q(x, 1) - Q(x, 2), which
decides on the next request. The state of a page of the fringe is the document that discovered it.

The full text was not available. Reconstructed are:

*   the reward: the relevance of the page, which is what it adds to the recall, but for a factor;
*   the return of a request: the sum of the rewards of all pages discovered through it, directly
    or not, each times `discount` to the power of the requests made in between;
*   Q(x, 1): the mean of the returns of all requests in state x so far;
*   Q(x, 2) = `discount` Q(x, 1): a page that is left stays as it is, and may be requested next
    time. So the order is that of Q(x, 1);
*   no exploration: every traversal requests every page, and ties are broken by chance.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from pollwise.checks import require_share
from pollwise.errors import InputError
from pollwise.policies.base import StateDict
from pollwise.policies.collecting.group_queue import FrontierPolicy
from pollwise.types import Links, Observation, Page

__all__ = ["RobotQ"]

_NOBODY = -1
"""The discoverer of pages that no known link leads to, such as the seeds."""
_NEGLIGIBLE = 1e-6
"""Rewards discounted to less than this are not passed on."""


class RobotQ(FrontierPolicy):
    """Requests the page whose discoverer led to the most relevance in earlier requests.

    `discount` is the factor on relevance that is found one request later, from 0 to below 1;
    `generator` breaks ties.
    """

    def __init__(self, *, generator: np.random.Generator, discount: float = 0.9) -> None:
        super().__init__("robot-q", generator)
        require_share("robot-q", "discount", discount)
        if discount == 1.0:
            raise InputError("robot-q: discount=1 makes all indices 0: give one below 1")
        self._discount = discount
        # By the id of the document that is the state: the sum of returns, and their number.
        self._returns: dict[int, float] = {}
        self._counts: dict[int, int] = {}
        self._made = 0
        self._made_at: dict[int, int] = {}
        """The number of requests made in this traversal, and before each of these."""
        self._undiscovered: set[int] = set()

    def q_values(self, page_id: int) -> tuple[float, float]:
        """Q(x, 1) and Q(x, 2) of the state of pages discovered by this one; 0 if unknown."""
        active = self._returns.get(page_id, 0.0) / max(self._counts.get(page_id, 0), 1)
        return active, self._discount * active

    def _groups(self, pages: Sequence[Page]) -> Iterable[float]:
        """None yet: `link` will tell the discoverer."""
        self._undiscovered.update(page.id for page in pages)
        return [_NOBODY] * len(pages)

    def link(self, page_id: int, links: Links) -> None:
        """Make the page the discoverer of those that had none before."""
        found = self._undiscovered.intersection(links.targets.tolist())
        self._undiscovered -= found
        for target in sorted(found):
            self._frontier.regroup(target, page_id)
        if found:
            self._prioritise(page_id)

    def observe(self, observations: Sequence[Observation]) -> None:
        """Add the relevance that was found to the returns of all requests that led there."""
        for observation in observations:
            page_id = observation.page_id
            self._undiscovered.discard(page_id)
            new = math.isnan(self._frontier.polled_at.get(page_id, 0.0))
            if self._frontier.observe(observation) and new:
                self._learn(page_id, observation.relevance or 0.0)

    def _learn(self, page_id: int, reward: float) -> None:
        self._made_at[page_id] = self._made
        state = self._state_of(page_id)
        if state != _NOBODY:
            self._counts[state] = self._counts.get(state, 0) + 1
        requested, worth = self._made, reward
        while state != _NOBODY:
            self._returns[state] = self._returns.get(state, 0.0) + worth
            self._prioritise(state)
            # The request for the discoverer, if it came before: pages may be added anew.
            earlier = self._made_at.get(state, requested)
            worth = reward * self._discount ** (self._made - earlier)
            if earlier >= requested or worth < _NEGLIGIBLE:
                break
            requested, state = earlier, self._state_of(state)
        self._made += 1

    def _state_of(self, page_id: int) -> int:
        """The document that a page was discovered by in this traversal."""
        return int(self._frontier.group.get(page_id, _NOBODY))

    def _prioritise(self, state: int) -> None:
        active, passive = self.q_values(state)
        self._frontier.prioritise(state, active - passive)

    def discard(self, page_ids: Sequence[int]) -> None:
        """Forget pages and what was learned of them as states; unknown ids are ignored."""
        super().discard(page_ids)
        self._undiscovered.difference_update(page_ids)
        for page_id in page_ids:
            for known in (self._returns, self._counts, self._made_at):
                known.pop(page_id, None)
            self._prioritise(page_id)

    def begin_traversal(self) -> None:
        """Forget which pages were requested; the Q-values stay."""
        super().begin_traversal()
        self._made = 0
        self._made_at.clear()
        self._undiscovered.clear()

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """When pages were polled, and the returns of their states; see `Policy`."""
        state = super().state_dict(page_ids)
        ids = state["page_ids"].tolist()
        return state | {
            "page.returns": np.array([self._returns.get(i, 0.0) for i in ids], np.float64),
            "page.requests": np.array([self._counts.get(i, 0) for i in ids], np.int64),
        }

    def load_state_dict(self, state: StateDict) -> None:
        """Put what was learned back; `StateError` if it does not fit."""
        super().load_state_dict(state)
        learned = zip(
            state["page_ids"].tolist(),
            state["page.returns"].tolist(),
            state["page.requests"].tolist(),
            strict=True,
        )
        for page_id, returns, requests in learned:
            if page_id in self._frontier.polled_at:
                self._returns[page_id], self._counts[page_id] = returns, requests
                self._prioritise(page_id)
