"""What a watch has learned, read from its database: the policy, and what it predicts."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError, StateError
from pollwise.insight.dispersion import POISSON, Spread
from pollwise.insight.evidence import Evidence, of_pages
from pollwise.insight.forecaster import Forecaster
from pollwise.insight.forecasts import Forecast
from pollwise.insight.learned import learned_by
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.scheduler.scheduler import Scheduler
from pollwise.settings import WatchSettings, damaged_run, latest_settings
from pollwise.store import Place, Store
from pollwise.store.base import StoreReader
from pollwise.store.place import command
from pollwise.store.records import PageRecord
from pollwise.types import Page

if TYPE_CHECKING:
    from pollwise.insight.plan import PlannedBudget

__all__ = ["Knowledge", "PastPolls", "knowledge_of", "read_knowledge"]

_SEED = 1
_POLLS_AT_ONCE = 8192
_PAGES_AT_ONCE = 1024


@dataclass(frozen=True, slots=True, eq=False)
class PastPolls:
    """Polls that told something: of each its page, its time (`ends`) and that of the one before.

    Times are UTC seconds. `changed`: there was a change between them, for which `chances` are the
    probabilities.
    """

    pages: NDArray[np.int64]
    begins: NDArray[np.float64]
    ends: NDArray[np.float64]
    changed: NDArray[np.bool_]
    chances: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The pages of the `database` and what is known of them, as of its latest commit.

    `scheduler` has the stored pages, hosts and rests after failures. `outcomes` are those of
    `Store.outcomes`. `now` is the time in UTC seconds; that of the run at work, should its clock be
    ahead of this one.
    """

    database: Place
    records: tuple[PageRecord, ...]
    settings: WatchSettings
    scheduler: Scheduler
    outcomes: NDArray[np.void]
    now: float
    planned: "dict[float, PlannedBudget]" = field(default_factory=dict, init=False)
    """What multiples of the present budget would bring, as far as that was asked for: see
    `pollwise.insight.plan`."""

    @property
    def policy(self) -> BayesianIndex:
        """The policy that watches them."""
        assert isinstance(self.scheduler.policy, BayesianIndex)  # the one that settings make
        return self.scheduler.policy

    @property
    def rate(self) -> float:
        """The budget in cost units per second."""
        return self.scheduler.budget.rate

    @property
    def pages(self) -> list[Page]:
        """The pages that are watched."""
        return [record.page for record in self.records]

    @cached_property
    def polled_pages(self) -> list[Page]:
        """Those of them that are not paused: forecasts are of these."""
        return [page for page in self.pages if not page.paused]

    @cached_property
    def by_id(self) -> dict[int, PageRecord]:
        """The records by the ids of their pages."""
        return {record.page.id: record for record in self.records}

    @cached_property
    def estimates(self) -> NDArray[np.void]:
        """What the policy thinks of each page now: see `BayesianIndex.estimates`."""
        return np.concatenate(list(self._by_parts(self.policy.estimates)))

    @cached_property
    def chances(self) -> NDArray[np.float64]:
        """The probability that a poll of each page finds a change now; NaN without a copy."""
        return self.policy.recalibrated(self.uncorrected_chances)

    @cached_property
    def uncorrected_chances(self) -> NDArray[np.float64]:
        """The same as the policy's model has it: see `BayesianIndex.uncorrected_chances`."""
        return np.concatenate(list(self._by_parts(self.policy.uncorrected_chances)))

    def _by_parts(
        self, asked: Callable[[NDArray[np.int64], float], NDArray[Any]]
    ) -> Iterator[NDArray[Any]]:
        """What the policy says of all pages, some at a time: other threads wait for each part."""
        ids = np.array([page.id for page in self.pages], np.int64)
        for begin in range(0, len(ids), _PAGES_AT_ONCE):
            yield asked(ids[begin : begin + _PAGES_AT_ONCE], self.now)

    @cached_property
    def curve(self) -> "tuple[PlannedBudget, ...]":
        """What budgets would bring; made at the first use: see `plan.curve_of`."""
        from pollwise.insight.plan import curve_of

        return curve_of(self)

    @cached_property
    def forecaster(self) -> Forecaster:
        """Forecasts for all pages that are not paused, within their bounds and what their hosts
        take; `InputError` if there is none, and the evidence does not suffice.
        """
        pages = self.polled_pages
        return Forecaster.of(self.policy, pages, self.rate, self._intervals, self._hosts)

    @cached_property
    def found_without_bounds(self) -> float:
        """The changes a second that polls would find in the long run if pages had no bounds."""
        unbounded = Forecaster.of(self.policy, self.polled_pages, self.rate, hosts=self._hosts)
        return unbounded.found(self.rate)

    @cached_property
    def _hosts(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The number of the host of each page that is not paused, and the polls a second that each
        host takes.
        """
        scheduler = self.scheduler
        numbers: dict[str, int] = {}
        scopes = (scheduler.scope_of(page.id) for page in self.polled_pages)
        hosts = np.array([numbers.setdefault(scope, len(numbers)) for scope in scopes], np.int64)
        return hosts, np.array([scheduler.host_turn(scope).most_polls for scope in numbers])

    @cached_property
    def _intervals(self) -> Callable[[float], tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """By budgets, the least and the most seconds between two polls of each page not paused."""
        return self.scheduler.bounds.intervals_of([page.id for page in self.polled_pages])

    @cached_property
    def evidence(self) -> Evidence:
        """What there is for forecasts of all pages that are not paused."""
        return of_pages(self.policy.told([page.id for page in self.polled_pages]).tolist())

    @cached_property
    def told_pages(self) -> int:
        """How many pages had polls that told something, paused ones too."""
        return int(np.count_nonzero(self.policy.told([page.id for page in self.pages])))

    def forecast(self, horizon: float) -> Forecast:
        """What to expect of the coming `horizon` seconds under the present budget."""
        are_polled = np.array([not page.paused for page in self.pages])
        return self.forecaster.forecast(
            self.rate,
            horizon,
            generator=np.random.default_rng(_SEED),
            chances=self.uncorrected_chances[are_polled],
            spread=self.spread(horizon),
        )

    def spread(self, period: float) -> Spread:
        """How far predictions for so many seconds were off."""
        past = self.past
        if len(past.ends) == 0:
            return POISSON
        ages = past.ends.max() - past.ends
        return Spread.of_polls(ages, past.ends - past.begins, past.chances, past.changed, period)

    @cached_property
    def past(self) -> PastPolls:
        """The kept polls that told something.

        Predictions of them were not stored; they are computed for each from everything known now.
        """
        table = self.outcomes
        later = np.flatnonzero(table["page"][1:] == table["page"][:-1]) + 1
        polls, begins = table[later], table["time"][later - 1]
        gaps = polls["time"] - begins
        rates, _ = self.policy.rate_posteriors([])
        chances = np.empty(len(polls))
        for begin in range(0, len(polls), _POLLS_AT_ONCE):
            part = slice(begin, begin + _POLLS_AT_ONCE)
            ids, row = np.unique(polls["page"][part], return_inverse=True)
            _, probabilities = self.policy.rate_posteriors(ids)
            found = -np.expm1(-rates * gaps[part, None])
            chances[part] = (probabilities[row] * found).sum(axis=1)
        return PastPolls(
            pages=polls["page"],
            begins=begins,
            ends=polls["time"],
            changed=polls["changed"],
            chances=self.policy.recalibrated(chances),
        )


def read_knowledge(db: Place) -> Knowledge:
    """What the database of a watch tells; it may be at work meanwhile.

    `StoreError` if it is no database, `InputError` if it has no pages, no run or a collection.
    """
    with Store.open_readonly(db) as store, store.snapshot():
        records = store.pages()
        settings = latest_settings(store)
        if not records:
            raise InputError(f"{db} has no pages: `{command(db, 'add', 'URL')}` adds some")
        if settings is None:
            raise InputError(
                f"{db} was never watched, so that nothing is known yet: `{command(db, 'watch')}`"
                " begins"
            )
        if not isinstance(settings, WatchSettings):
            raise InputError(
                f"{db} holds a collection, of which nothing is forecast; `{command(db, 'status')}`"
                " tells what is in it"
            )
        return knowledge_of(store, db, records, settings)


def knowledge_of(
    store: StoreReader, db: Place, records: Sequence[PageRecord], settings: WatchSettings
) -> Knowledge:
    """What is known of all pages of a watch, of which there is one at least.

    Within a snapshot of the store from which they and the settings come. `StoreError` if what is
    stored is damaged.
    """
    scheduler = settings.scheduler_without_first_copies(len(records))
    state = store.scheduler_state()
    learned = learned_by(store, scheduler.policy)
    outcomes = store.outcomes()
    try:
        scheduler.restore([record.page for record in records], state)
        if learned is not None:
            scheduler.policy.load_state_dict(learned.state)
    except (StateError, InputError) as error:
        raise damaged_run(db) from error
    now = max(time.time(), scheduler.saved_at)
    scheduler.begin(now)
    return Knowledge(db, tuple(records), settings, scheduler, outcomes, now)
