"""The index policy that learns the change rates: pollwise's default.

The index of a page is the mean of its Whittle index over the belief in its change rate
(`pollwise.policies.index.belief`). By itself that polls too little where little is known, because
it does not value what a poll teaches. So the belief is tilted towards the hopeful side (optimism in
the face of uncertainty, as in Lai and Robbins 1985, in a form that costs nothing). For detection
fast rates are hopeful, the more so the fewer polls the page has had: min(λT, 4)^κ,
κ = 1/(1 + n)² after n polls, T being the time in which there is a poll for every page. For
freshness, delay and age slow ones are, among rates that polls cannot tell apart unless they come
more often: 1/(1 + λT/2).

The numbers were set by trial, in simulated worlds of 500 pages and on recorded histories;
`docs/theory.md` has more.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pollwise.checks import require_share
from pollwise.errors import InputError
from pollwise.objectives import Objective
from pollwise.objectives import objective as objective_of
from pollwise.policies.arrays import ABSENT, watched
from pollwise.policies.index.belief import form_belief
from pollwise.policies.index.chance import beliefs_of, chances_of, posteriors_of, priors_of
from pollwise.policies.index.estimates import ESTIMATE, estimates_of
from pollwise.policies.index.fields import sites_of
from pollwise.policies.index.groups import share_of
from pollwise.policies.index.page_index import SURELY, index_of, own_price, worth_after
from pollwise.policies.index.policy import IndexPolicy, Learning
from pollwise.policies.index.prior import fast_hope, slow_hope
from pollwise.policies.index.queue import head_wins
from pollwise.policies.index.state import NEW, TILTS
from pollwise.policies.structures.heap import entries
from pollwise.rates.lattice import RATES
from pollwise.rates.recalibration import recalibrated_all

__all__ = ["BayesianIndex", "PageEstimate"]


@dataclass(frozen=True, slots=True)
class PageEstimate:
    """What a policy thinks of a page.

    `change_rate` is the posterior mean, per second; `rate_low` and `rate_high` bound the central
    90 % of the posterior. `index` is the page's index, `price` the one at which pages of its host
    and its share of the budget are polled. `due_at` is the time (UTC seconds) at which the index
    reaches the price; infinite: never, by its index alone. `polls` are those that told whether the
    page had changed.
    `leased`: a poll is under way. `signal` is the probability that it has changed as somebody said
    at `signalled_at`, since its copy was made; None: nobody did. A page that changes by the clock
    does so between `daily_from` and `daily_until`: seconds of the day, UTC; None: at any time, or a
    signal is pending.
    """

    change_rate: float
    rate_low: float
    rate_high: float
    index: float
    price: float
    due_at: float
    polls: int
    leased: bool
    signal: float | None = None
    signalled_at: float | None = None
    daily_from: float | None = None
    daily_until: float | None = None


def _figure(told: Any) -> Any:
    """A number of Python; None for NaN."""
    return None if told != told else told.item()


class BayesianIndex(IndexPolicy):
    """Polls the page of the largest expected index and learns the change rates on the way.

    `objective`, or its name, is what a poll is worth; `revert_worth` (0 to 1) what a change
    back to a version that was seen before is worth, compared with another change. `InputError` if
    `revert_worth` is out of range, and from all methods that look at pages for one that is not
    watched.

    >>> from pollwise.types import Page
    >>> policy = BayesianIndex()
    >>> policy.add([Page(0), Page(1, weight=2.0)])
    >>> policy.select(now=1.0, limit=1).page_ids
    array([1])
    """

    def __init__(
        self,
        *,
        objective: str | Objective = "detection",
        revert_worth: float = 1.0,
    ) -> None:
        require_share("bayes-index", "revert_worth", revert_worth)
        objective = objective_of(objective)
        # Slow is hopeful where the index falls with the rate, or polls cannot tell fast pages apart
        # unless they come more often; where the index only rises, fast is.
        slow_is_hopeful = objective.power > 0
        super().__init__(
            objective=objective,
            learning=Learning(
                slow_is_hopeful=slow_is_hopeful,
                patience=4.0 if slow_is_hopeful else 64.0,
                revert_worth=revert_worth,
            ),
        )

    def estimate(self, page_id: int, now: float) -> PageEstimate:
        """What is known of a page and why it is (not) polled next."""
        (told,) = self.estimates([page_id], now)
        return PageEstimate(**{name: _figure(told[name]) for name in ESTIMATE.names or ()})

    def estimates(
        self, page_ids: Sequence[int] | NDArray[np.int64], now: float
    ) -> NDArray[np.void]:
        """The same of many pages: records with the fields of `PageEstimate`, NaN for None."""
        ids = self._watched(page_ids)
        estimates = np.zeros(len(ids), ESTIMATE)
        with self._only_looking():
            estimates_of(self.state, ids, float(now), estimates)
        return estimates

    def likely_next(self, now: float) -> int | None:
        """The page that `select` would most likely give at `now`; None: there is none.

        It changes nothing, and looks at a few dozen pages at most.
        """
        state, common = self.state, self.state.shared[0]
        waiting = [*common["pool"][: common["pool_size"]]]
        waiting += entries(state.calendar)["page"][:1].tolist()
        if common["new_size"] > 0:
            waiting.append(common["first_new"])
        blocked_until, scopes = state.hosts["blocked_until"], state.pages["scope"]
        ids = [int(page) for page in waiting if blocked_until[scopes[page]] <= now]
        if not ids:
            return None
        sites, kinds = np.unique(sites_of(state, ids)), np.unique(state.pages["kind"][ids])
        looked_at = (
            (state.sites, sites[sites >= 0]),
            (state.kinds, kinds[kinds >= 0]),
            (state.shared, [0]),
        )
        before = [rows[numbers].copy() for rows, numbers in looked_at]
        bids: dict[int, float] = {}
        for page_id in ids:
            form_belief(state, page_id)
            index = float(index_of(state.pages, state.shared, page_id, now))
            bids[page_id] = index / own_price(state, page_id)
        head = ids[-1] if state.pages["where"][ids[-1]] == NEW else -1
        others = [page_id for page_id in ids if page_id != head]
        likely = max(others, key=bids.__getitem__, default=-1)
        largest = bids.get(likely, -1.0)
        if head >= 0 and head_wins(state, head, bids[head], likely, largest, now):
            likely = head
        for (rows, numbers), was in zip(looked_at, before, strict=True):
            rows[numbers] = was
        return likely

    def rate_posteriors(
        self, page_ids: Sequence[int] | NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The rates of the lattice, per second, and the probability of each for each page.

        They are about the long run, not about how soon a page that has just changed changes again.
        """
        ids = self._watched(page_ids)
        return RATES, posteriors_of(self.state, ids)

    def rate_beliefs(
        self, page_ids: Sequence[int] | NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same rates with the probabilities until the next poll, by which the policy decides.

        A page that has just changed is soon expected to change again. Of a page of which fewer than
        two polls told something they are those of the long run: nothing tells yet whether it
        changes in bursts. Of signals and of the hours at which pages change they say nothing.
        """
        ids = self._watched(page_ids)
        with self._only_looking():
            return RATES, beliefs_of(self.state, ids)

    def prior_probabilities(
        self, page_ids: Sequence[int] | NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The probability of each rate for each page before its own polls, from pages like it."""
        return priors_of(self.state, self._watched(page_ids))

    def chances(
        self, page_ids: Sequence[int] | NDArray[np.int64], now: float
    ) -> NDArray[np.float64]:
        """The probability that a poll of each page at `now` finds a change; NaN without a copy."""
        return self.recalibrated(self.uncorrected_chances(page_ids, now))

    def uncorrected_chances(
        self, page_ids: Sequence[int] | NDArray[np.int64], now: float
    ) -> NDArray[np.float64]:
        """The same as the model has it, not corrected by the outcomes of polls.

        The correction is for the moment at which a page is polled: few polls tell of the others.
        """
        ids = self._watched(page_ids)
        with self._only_looking():
            chances: NDArray[np.float64] = chances_of(self.state, ids, now)
        return chances

    @contextmanager
    def _only_looking(self) -> Iterator[None]:
        """A context in which beliefs are worked out; the one at hand is put back."""
        shared = self.state.shared
        before = shared["believed"].copy(), shared["belief"].copy()
        try:
            yield
        finally:
            shared["believed"], shared["belief"] = before

    def recalibrated(self, chances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Chances of a change that follow from the rates, corrected by experience."""
        return recalibrated_all(self.state.shared[0]["recalibration"], chances)

    def worths(self, page_ids: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
        """The factors on the weights of pages for their reverts; 1: it had none."""
        own = self.state.pages[self._watched(page_ids)]
        revert_worth = float(self.state.shared[0]["revert_worth"])
        worths: NDArray[np.float64] = worth_after(
            own["reverts"].astype(np.float64), own["changes"].astype(np.float64), revert_worth
        )
        return worths

    def hope(
        self, page_ids: Sequence[int] | NDArray[np.int64], round_time: float
    ) -> NDArray[np.float64]:
        """The factor on the probability of each rate in the index, for each page.

        As if there were a poll for every page in `round_time` seconds; one row, if all share it.
        """
        ids = self._watched(page_ids)
        common = self.state.shared[0]
        if common["slow_is_hopeful"]:
            slow: NDArray[np.float64] = slow_hope(round_time)
            return slow[None, :]
        polls = np.minimum(self.state.pages["polls"][ids], TILTS - 1)
        return fast_hope(float(common["hope"]), round_time)[polls]

    @property
    def patience(self) -> float:
        """Rounds of polls of all pages after which a page is polled, whatever it is worth."""
        return float(self.state.shared[0]["patience"])

    @property
    def patience_chance(self) -> float:
        """How likely a page must be to have changed by then to be polled for that reason."""
        return SURELY if self.state.shared[0]["slow_is_hopeful"] else 0.0

    def told(self, page_ids: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """How many polls of each page told something of its change rate."""
        return self.state.pages["polls"][self._watched(page_ids)].copy()

    def group_shares(
        self, page_ids: Sequence[int] | NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The group of each page that has a share of the budget together, and all their shares.

        Shares are those of groups that have pages; without shares there is one group.
        """
        state = self.state
        groups = state.pages["group"][self._watched(page_ids)].astype(np.int64)
        count = max(int(state.shared[0]["groups"]), 1)
        if count == 1:
            return groups, np.ones(1)
        return groups, np.array([share_of(state.shared, group) for group in range(count)])

    @property
    def examples(self) -> int:
        """How many pages have polls that told something."""
        pages = self.state.pages
        has_told = (pages["polls"] > 0) | (pages["dates"] > 0)  # their sum may be too large
        return int(((pages["where"] != ABSENT) & has_told).sum())

    def _watched(self, page_ids: ArrayLike) -> NDArray[np.int64]:
        """The ids as an array; `InputError` for one that no page has."""
        ids = np.asarray(page_ids, np.int64)
        known = watched(ids, self.state.pages)
        if len(known) < len(ids):
            missing = np.setdiff1d(ids, known)[0]
            raise InputError(f"no page with the id {missing} is watched")
        return ids
