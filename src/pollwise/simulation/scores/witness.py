"""Records the polls of a simulated run, with the chance of a change that the policy gave each."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.compiled import Kernels, register
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.chance import chance_of
from pollwise.policies.index.queue import observe_page, select_page
from pollwise.policies.index.state import IndexState
from pollwise.types import Outcome, Page

__all__ = ["WITNESSED", "Witness", "WitnessedState", "observe_witnessed", "select_witnessed"]

WITNESSED = np.dtype(
    [
        ("page", "i8"),
        ("time", "f8"),  # UTC seconds
        ("seen_at", "f8"),  # time of the previous copy; NaN: none
        ("chance", "f8"),  # of a change, predicted just before the poll; NaN without a copy
        ("changed", "?"),
    ]
)
"""What is kept of each poll."""

_UNCHANGED = int(Outcome.UNCHANGED)


class WitnessedState(NamedTuple):
    """The state of an index policy, and its polls, of which `recorded[0]` are filled in."""

    inner: IndexState
    polls: NDArray[Any]  # of WITNESSED
    recorded: NDArray[np.int64]


class Witness:
    """Takes the place of a policy in the compiled loop, and polls as it does.

    There is room for `most` polls; further ones are not recorded.
    """

    def __init__(self, policy: BayesianIndex, most: int) -> None:
        self.policy = policy
        self._polls = np.zeros(most, WITNESSED)
        self._count = np.zeros(1, np.int64)

    @property
    def state(self) -> WitnessedState:
        """For the compiled loop."""
        return WitnessedState(self.policy.state, self._polls, self._count)

    @property
    def polls(self) -> NDArray[Any]:
        """The polls so far, an array of WITNESSED."""
        return self._polls[: self._count[0]]

    def add(self, pages: Sequence[Page]) -> None:
        """Take up pages."""
        self.policy.add(pages)

    def discard(self, page_ids: Sequence[int]) -> None:
        """Forget pages."""
        self.policy.discard(page_ids)


@kernel
def select_witnessed(state: WitnessedState, now: float) -> int:
    """Lease the next page, and note what is expected of its poll."""
    page = select_page(state.inner, now)
    count = state.recorded[0]
    if page >= 0 and count < len(state.polls):
        poll = state.polls[count]
        poll.page = page
        poll.time = now
        poll.seen_at = state.inner.pages[page].seen_at
        poll.chance = chance_of(state.inner, page, now)
        state.recorded[0] += 1
    return page


@kernel
def observe_witnessed(state: WitnessedState, observation: Any) -> None:
    """Take in the poll of the page that was selected last, and note what it found."""
    poll = state.polls[state.recorded[0] - 1]
    if poll.page == observation.page and poll.time == observation.polled_at:
        poll.changed = observation.outcome != _UNCHANGED
    observe_page(state.inner, observation)


register(WitnessedState, Kernels(select_witnessed, observe_witnessed))
