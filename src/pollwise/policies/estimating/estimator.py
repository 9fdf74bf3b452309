"""The estimator: first look at all pages equally often, then act on what was seen."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import require_whole
from pollwise.policies.arrays import all_watched, check_sound
from pollwise.policies.base import StateDict
from pollwise.policies.deadline.adaptive import AdaptivePolicy
from pollwise.policies.estimating.estimator_kernels import (
    ESTIMATOR_PAGE,
    ESTIMATOR_SHARED,
    EstimatorState,
    apply_frequencies,
)
from pollwise.types import Page

__all__ = ["Estimator"]

_LONGEST_PHASE = 10**15


class Estimator(AdaptivePolicy):
    """Polls in turn at first, and then in proportion to the change probabilities estimated so far.

    The first phase lasts for `phase_polls` polls of all pages together, failed ones included. Then
    estimates and frequencies are fixed for good: later changes of rates are not followed.
    `pollwise.policies.estimating.estimator_kernels` has the estimates. A page added later, or never
    polled in the first phase, has the mean frequency of the others. It never waits; weights and
    costs play no part.

    This is the policy "estimator" that learning automata are compared with: "polling web pages
    uniformly in a parameter estimation phase", and then the proportional policy "based on the
    estimated update frequencies" (O.-C. Granmo, B. J. Oommen, S. A. Myrer, M. G. Olsen,
    "Determining optimal polling frequency using a learning automata-based solution to the
    fractional knapsack problem", 2006, section III.C). How they estimate is not said; the estimates
    are Cho and Garcia-Molina's. With n pages each is polled every n steps, so of pages that change
    much more often than that one learns only that they do: with 500 pages, a phase of 50,000 polls
    ends at about half the optimum.

    When learned state is loaded, pages that it does not know count as added afterwards. The length
    of the first phase is then that of the learned state: a phase that has ended stays ended, and
    one that has not ends when it would have.

    `InputError` for a `phase_polls` that is no whole number from 1 to 10^15.

    >>> from pollwise.types import Observation, Outcome
    >>> policy = Estimator(phase_polls=8)
    >>> policy.add([Page(0, seen_at=-2.0), Page(1, seen_at=-1.0)])
    >>> for now in range(9):
    ...     (page_id,) = policy.select(now, limit=1).page_ids.tolist()
    ...     policy.observe([Observation(page_id, now, Outcome(page_id == 0))])
    >>> policy.amounts().round(2)
    array([0.92, 0.08])
    """

    name = "estimator"
    _state_type = EstimatorState
    _learned = ("phase_polls", "polled", "frequency")

    def __init__(self, *, phase_polls: int) -> None:
        require_whole("estimator", "phase_polls", phase_polls, least=1, most=_LONGEST_PHASE)
        shared = np.zeros(1, ESTIMATOR_SHARED)
        shared["phase_polls"] = phase_polls
        shared["frequency"] = 1.0
        # The clock counts polls in the first phase.
        super().__init__(shared, ESTIMATOR_PAGE, tick=1.0)

    def amounts(self) -> NDArray[np.float64]:
        """The shares of polls by page id, 0 for ids that no page has."""
        page_ids = all_watched(self._state.pages)
        amounts = np.zeros(page_ids.max(initial=-1) + 1)
        amounts[page_ids] = self._pages["frequency"][page_ids] / self._shared["total"]
        return amounts

    def _intervals(self, pages: Sequence[Page]) -> NDArray[np.float64]:
        """Of pages of which nothing is known."""
        (common,) = self._shared
        in_phase = common["polled"] < common["phase_polls"]
        return np.full(len(pages), 0.0 if in_phase else 1.0 / common["frequency"])

    def _new(self, pages: Sequence[Page]) -> NDArray[Any]:
        new = super()._new(pages)
        new["frequency"] = self._shared["frequency"]
        self._shared["total"] += len(pages) * self._shared["frequency"]
        return new

    def _remove(self, page_ids: NDArray[np.int64]) -> None:
        super()._remove(page_ids)
        # Summed anew: what is left when large numbers are taken away is mostly rounding errors.
        left = all_watched(self._state.pages)
        self._shared["total"] = self._pages["frequency"][left].sum()

    def _learned_intervals(self, page_ids: NDArray[np.int64]) -> StateDict:
        return {}  # they follow from the frequencies

    def _restore_intervals(
        self, state: StateDict, page_ids: NDArray[np.int64], known: NDArray[np.bool_]
    ) -> None:
        others = np.setdiff1d(all_watched(self._state.pages), page_ids)
        self._pages["frequency"][others] = self._shared["frequency"]
        apply_frequencies(self.state)

    def _check_learned(self, state: StateDict) -> None:
        """`StateError` unless it may be what such a policy has learned."""
        given: Mapping[str, NDArray[Any]] = state
        polls, changes, waited = (given[f"page.{n}"] for n in ("polls", "changes", "waited"))
        frequencies = np.append(given["page.frequency"], given["estimator.frequency"])
        polled, phase_polls = given["estimator.polled"], given["estimator.phase_polls"]
        sound = {
            "phase": (polled >= 0) & (polled <= phase_polls) & (phase_polls <= _LONGEST_PHASE),
            "count of changes": (changes >= 0) & (changes <= polls),
            "time between polls": (polls <= 0) | ((waited > 0.0) & np.isfinite(waited)),
            "frequency": (frequencies > 0.0) & np.isfinite(frequencies),
            "clock": np.isfinite(given["estimator.clock"]),
            "deadline": ~np.isnan(given["page.deadline"]) | np.isnan(given["page.polled_at"]),
        }
        check_sound("the estimator", sound)
