"""The estimator: first look at all pages equally often, then act on what was seen."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import require_whole
from pollwise.errors import StateError
from pollwise.policies.arrays import all_watched, check_state, new_ids, observed, seen_at
from pollwise.policies.base import StateDict
from pollwise.policies.deadline.policy import DeadlinePolicy
from pollwise.policies.estimating.estimator_kernels import (
    PAGE,
    SHARED,
    EstimatorState,
    apply_frequencies,
    observe_pages,
)
from pollwise.types import Observation, Page, Selection

__all__ = ["Estimator"]

_LEARNED = ("phase_polls", "polled", "frequency")
_LONGEST_PHASE = 10**15


class _Turns(DeadlinePolicy):
    """Whose turn it is: every page's in the first phase, then that of the earliest deadline."""

    _clock = "estimator.clock"

    def __init__(self, shared: NDArray[Any]) -> None:
        super().__init__(tick=1.0)
        self._shared = shared

    def _intervals(self, pages: Sequence[Page]) -> NDArray[np.float64]:
        """Of pages of which nothing is known."""
        (common,) = self._shared
        in_phase = common["polled"] < common["phase_polls"]
        return np.full(len(pages), 0.0 if in_phase else 1.0 / common["frequency"])


class Estimator:
    """Polls in turn at first, and then in proportion to the change probabilities estimated so far.

    The first phase lasts for `phase_polls` polls, of all pages together, those that fail included.
    Then the estimates stay for good, as do the frequencies: it does not follow pages that change
    their ways. `pollwise.policies.estimating.estimator_kernels` has the estimates. A page added
    later, or never polled in the first phase, has the mean frequency of the others. It never waits;
    weights and costs play no part.

    This is "proportional" of Granmo and Oommen with estimates instead of the true probabilities,
    the conventional rule that their learning automata are compared with; the estimates of a page
    that changed at no poll, or at all of them, are ours.

    `InputError` for a `phase_polls` that is no whole number from 1 to 10^15.

    >>> from pollwise.types import Outcome
    >>> policy = Estimator(phase_polls=8)
    >>> policy.add([Page(0, seen_at=-2.0), Page(1, seen_at=-1.0)])
    >>> for now in range(9):
    ...     (page_id,) = policy.select(now, limit=1).page_ids.tolist()
    ...     policy.observe([Observation(page_id, now, Outcome(page_id == 0))])
    >>> policy.amounts().round(2)
    array([0.92, 0.08])
    """

    def __init__(self, *, phase_polls: int) -> None:
        require_whole("estimator", "phase_polls", phase_polls, least=1, most=_LONGEST_PHASE)
        self._shared = np.zeros(1, SHARED)
        self._shared["phase_polls"] = phase_polls
        self._shared["frequency"] = 1.0
        self._pages = np.zeros(0, PAGE)
        self._turns = _Turns(self._shared)

    @property
    def state(self) -> EstimatorState:
        """The whole state: what the functions of `estimation` work on.

        To be asked for anew after every `add`, which may need larger arrays.
        """
        return EstimatorState(self._turns.state, self._pages, self._shared)

    def amounts(self) -> NDArray[np.float64]:
        """The shares of polls by page id, 0 for ids that no page has."""
        page_ids = all_watched(self._turns.state.pages)
        amounts = np.zeros(page_ids.max(initial=-1) + 1)
        amounts[page_ids] = self._pages["frequency"][page_ids] / self._shared["total"]
        return amounts

    def add(self, pages: Sequence[Page]) -> None:
        """Take up pages; `InputError` for an id that is negative or watched already."""
        page_ids = new_ids(pages, self._turns.state.pages)
        self._turns.add(pages)
        more = len(self._turns.state.pages) - len(self._pages)
        self._pages = np.append(self._pages, np.zeros(more, PAGE))
        self._pages[page_ids] = np.zeros(1, PAGE)
        self._pages["seen_at"][page_ids] = seen_at(pages)
        self._pages["frequency"][page_ids] = self._shared["frequency"]
        self._shared["total"] += len(page_ids) * self._shared["frequency"]

    def discard(self, page_ids: Sequence[int]) -> None:
        """Forget pages; unknown ids are ignored."""
        self._turns.discard(page_ids)
        # Summed anew: what is left when large numbers are taken away is mostly rounding errors.
        left = all_watched(self._turns.state.pages)
        self._shared["total"] = self._pages["frequency"][left].sum()

    def select(self, now: float, limit: int) -> Selection:
        """The pages whose turn it is; they are leased."""
        return self._turns.select(now, limit)

    def observe(self, observations: Sequence[Observation]) -> None:
        """Count what was found, in the first phase, and end the leases of polled pages."""
        observe_pages(self.state, *observed(observations, self._pages))

    def defer(self, page_ids: Sequence[int], until: float) -> None:
        """Give leased pages back unpolled; they are not selected before `until`."""
        self._turns.defer(page_ids, until)

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """What was counted and estimated, and the deadlines; see `Policy`."""
        learned = self._turns.state_dict(page_ids)
        own = self._pages[learned["page_ids"].astype(np.int64)]
        learned.update({f"page.{name}": own[name].copy() for name in PAGE.names or ()})
        learned.update({f"estimator.{name}": self._shared[name].copy() for name in _LEARNED})
        return learned

    def load_state_dict(self, state: StateDict) -> None:
        """Put what was learned back; `StateError` if it does not fit or cannot be.

        Pages that it knows nothing of are taken as if they were added afterwards. The length of
        the first phase is that of the learned state from now on: so one that has ended stays so,
        and one that has not ends when it would have.
        """
        self._check_learned(state)
        for name in _LEARNED:
            self._shared[name] = state[f"estimator.{name}"]
        ids = state["page_ids"].astype(np.int64)
        known = np.isin(ids, all_watched(self._turns.state.pages))
        self._pages["frequency"] = self._shared["frequency"]
        for name in PAGE.names or ():
            self._pages[name][ids[known]] = state[f"page.{name}"][known]
        apply_frequencies(self.state)
        self._turns.load_state_dict({name: state[name] for name in self._turns.state_dict([])})

    def _check_learned(self, state: StateDict) -> None:
        """`StateError` unless it may be what such a policy has learned."""
        check_state(state, self.state_dict([]))
        given: Mapping[str, NDArray[Any]] = state
        polls, changes, waited = (given[f"page.{n}"] for n in ("polls", "changes", "waited"))
        frequencies = np.append(given["page.frequency"], given["estimator.frequency"])
        polled, phase_polls = given["estimator.polled"], given["estimator.phase_polls"]
        faults = {
            "phase": (polled < 0) | (polled > phase_polls) | (phase_polls > _LONGEST_PHASE),
            "count of changes": (changes < 0) | (changes > polls),
            "time between polls": (polls > 0) & ~((waited > 0.0) & np.isfinite(waited)),
            "frequency": ~((frequencies > 0.0) & np.isfinite(frequencies)),
            "clock": ~np.isfinite(given["estimator.clock"]),
            "deadline": np.isnan(given["page.deadline"]) & ~np.isnan(given["page.polled_at"]),
        }
        for what, wrong in faults.items():
            if wrong.any():
                raise StateError(
                    f"the learned state of the estimator is damaged: a {what} is not one that can"
                    " be; go back to a copy of it"
                )
