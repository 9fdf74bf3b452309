"""The index policy that learns the change rates: pollwise's default.

The index of a page is the mean of its Whittle index over the posterior of its change rate
(`pollwise.rates.posterior`): the price at which, as far as is known, polling now and waiting are
equally good. A posterior mean alone polls too little where little is known, since it does not
value what a poll teaches. So the posterior is tilted towards fast rates, the more the fewer polls
the page has had: multiplied with λ^κ, κ = 1/(1 + n)² after n polls (optimism in the
face of uncertainty, as in Lai and Robbins 1985, in a form that costs nothing). The numbers
were set by trial in simulated worlds of 500 pages; `docs/theory.md` has more.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pollwise.errors import InputError
from pollwise.objectives import Freshness, Objective
from pollwise.policies.arrays import ABSENT, watched
from pollwise.policies.index_chance import chances_of
from pollwise.policies.index_policy import IndexPolicy
from pollwise.policies.index_state import (
    LEASED,
    TILTS,
    index_of,
    time_to_reach,
)
from pollwise.rates.lattice import RATES
from pollwise.rates.recalibration import recalibrated_all

__all__ = ["BayesianIndex", "PageEstimate"]


@dataclass(frozen=True, slots=True)
class PageEstimate:
    """What a policy thinks of a page.

    `change_rate` is the posterior mean, per second; `rate_low` and `rate_high` bound the central
    90 % of the posterior. `index` is the page's index, `price` the one at which pages of its host
    are polled. `due_at` is the time (UTC seconds) at which the index reaches the price; infinite:
    never, by its index alone. `polls` are those that told something. `leased`: a poll is under
    way.
    """

    change_rate: float
    rate_low: float
    rate_high: float
    index: float
    price: float
    due_at: float
    polls: int
    leased: bool


class BayesianIndex(IndexPolicy):
    """Polls the page of the largest expected index and learns the change rates on the way.

    `objective` is what a poll is worth (detection, if None).

    >>> from pollwise.types import Page
    >>> policy = BayesianIndex()
    >>> policy.add([Page(0), Page(1, weight=2.0)])
    >>> policy.select(now=1.0, limit=1).page_ids
    array([1])
    """

    def __init__(self, *, objective: Objective | None = None) -> None:
        # The index of freshness falls again for fast pages, so that fast is not the hopeful side,
        # and a page that was too fast once would be left alone for good.
        fast_is_bad = isinstance(objective, Freshness)
        exponent = (0.0 if fast_is_bad else 1.0) / (1.0 + np.arange(TILTS)) ** 2
        super().__init__(
            objective=objective,
            tilt=RATES[None, :] ** exponent[:, None],
            patience=4.0 if fast_is_bad else 64.0,
        )

    def estimate(self, page_id: int, now: float) -> PageEstimate:
        """What is known of a page and why it is (not) polled next; `InputError` if unknown."""
        _, (posterior,) = self.rate_posteriors([page_id])
        state = self.state
        own, common = state.pages[page_id], state.shared[0]
        low, high = np.searchsorted(np.cumsum(posterior), (0.05, 0.95))
        price = float(common["price"] * state.hosts["price"][own["scope"]])
        wait = time_to_reach(state.pages, state.shared, page_id, price)
        has_copy = not math.isnan(own["seen_at"])
        return PageEstimate(
            change_rate=float(posterior @ RATES),
            rate_low=float(RATES[low]),
            rate_high=float(RATES[min(high, len(RATES) - 1)]),
            index=float(index_of(state.pages, state.shared, page_id, now)),
            price=price,
            due_at=float(own["seen_at"]) + wait if has_copy else now,
            polls=int(own["polls"]),
            leased=bool(own["where"] == LEASED),
        )

    def rate_posteriors(
        self, page_ids: Sequence[int] | NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The rates of the lattice, per second, and the probability of each for each page.

        `InputError` for a page that is not watched.
        """
        ids = self._watched(page_ids)
        weights = self.state.shared[0]["prior"] * self.state.pages["likelihood"][ids]
        return RATES, weights / weights.sum(axis=1, keepdims=True)

    def prior_probabilities(
        self, page_ids: Sequence[int] | NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The probability of each rate for each page before its own polls are looked at.

        From pages like it. `InputError` for a page that is not watched.
        """
        prior = self.state.shared[0]["prior"]
        return np.tile(prior / prior.sum(), (len(self._watched(page_ids)), 1))

    def chances(
        self, page_ids: Sequence[int] | NDArray[np.int64], now: float
    ) -> NDArray[np.float64]:
        """The probability, for each page, that a poll at `now` finds a change; NaN without a copy.

        `InputError` for a page that is not watched.
        """
        return chances_of(self.state, self._watched(page_ids), now)

    def recalibrated(self, chances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Chances of a change that follow from the rates, as experience says they should be."""
        return recalibrated_all(self.state.shared[0]["recalibration"], chances)

    @property
    def patience(self) -> float:
        """Rounds of all pages after which any page is polled, whatever it is worth."""
        return float(self.state.shared[0]["patience"])

    @property
    def examples(self) -> int:
        """Pages whose own polls have told something."""
        pages = self.state.pages
        return int(((pages["where"] != ABSENT) & (pages["polls"] > 0)).sum())

    def _watched(self, page_ids: ArrayLike) -> NDArray[np.int64]:
        """The ids as an array; `InputError` for one that no page has."""
        ids = np.asarray(page_ids, np.int64)
        known = watched(ids, self.state.pages)
        if len(known) < len(ids):
            missing = np.setdiff1d(ids, known)[0]
            raise InputError(f"no page with the id {missing} is watched")
        return ids
