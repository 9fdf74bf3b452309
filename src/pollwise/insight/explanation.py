"""What `pollwise explain` tells of a page of a database, which may be at work meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pollwise.errors import InputError
from pollwise.insight.collection import (
    CollectedExplanation,
    explain_collected,
    holds_collection,
)
from pollwise.settings import WatchSettings
from pollwise.store import Store
from pollwise.store.records import PageRecord, Postponed
from pollwise.types import Observation, Outcome
from pollwise.web.urls import canonical

if TYPE_CHECKING:
    from pollwise.insight.knowledge import Knowledge

__all__ = ["Explanation", "RateSources", "RecentPoll", "read_explanation"]

_RECENT = 10
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class RateSources:
    """What the change rate of a page was learned from.

    `polls` counts its own that told something, `dates` those of the latest polls whose server told
    the time of the change. `prior_changes_per_day` is the expectation for a page like it.
    `own_share` (0 to 1) is the share of the prior's uncertainty, the variance of the rate's
    logarithm, that the page's own polls removed.
    """

    polls: int
    dates: int
    prior_changes_per_day: float
    own_share: float


@dataclass(frozen=True, slots=True)
class RecentPoll:
    """One of the latest polls; `reverted`: it found the page changed back to an earlier version."""

    polled_at: float
    outcome: Outcome
    reverted: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is known of a page that is watched, and why it is polled next or not.

    Times are UTC seconds. `polled_at`, `outcome` and `error` are those of the latest poll that was
    made, `failures` counts the failed ones in a row up to it, `postponed` is one since then that
    was not made; `recent` polls are newest first. `versions`
    counts the stored ones. `changes_per_day_between` is the central 90 % interval of
    `changes_per_day`. `chance` is the probability that the page has changed since its copy was
    made; None: there is no copy.

    `index` and `due_at` may be infinite: a page without a copy comes before all others, and one
    whose index never reaches the `price` of a poll is never due. `due_at` is None if the page rests
    after a failure, until `rests_until` if that was stored. `host_free_at` is None if the host may
    be polled now. `host_limit` is the limit on the polls of the host or its group, as it was given
    (None: it has none), `host_limited_until` when it allows the next one. `next_poll_at` is when
    nothing but the budget holds the page back any more; None: not known.
    """

    url: str
    objective: str
    weight: float
    cost: float
    polls: int
    changes: int
    versions: int
    polled_at: float | None
    last_changed_at: float | None
    outcome: Outcome | None
    failures: int
    error: str | None
    postponed: Postponed | None
    changes_per_day: float
    changes_per_day_between: tuple[float, float]
    chance: float | None
    learned_from: RateSources
    index: float
    price: float
    budget: str
    due_at: float | None
    rests_until: float | None
    host_free_at: float | None
    host_limit: str | None
    host_limited_until: float | None
    next_poll_at: float | None
    recent: tuple[RecentPoll, ...]


def read_explanation(db: Path, url: str) -> Explanation | CollectedExplanation:
    """What is known of one page of a watch or a collection; `InputError` if nothing is."""
    address = canonical(url)  # a bad URL is reported before a bad database
    return explain_collected(db, url) if holds_collection(db) else _explain_watched(db, address)


def _explain_watched(db: Path, address: str) -> Explanation:
    # Late, because numba, which the knowledge of a watch needs, takes a while to load.
    from pollwise.insight.knowledge import read_knowledge

    record, recent, versions = _records(db, address)
    known = read_knowledge(db)
    page, now = record.page, known.now
    estimate = known.policy.estimate(page.id, now)
    due_at, rests_until, host_free_at, next_poll_at = _waits(known, record, estimate.due_at, now)
    limited_until = known.scheduler.host_limited_until(page.scope)
    has_copy = page.seen_at is not None
    return Explanation(
        url=page.url,
        objective=known.settings.objective,
        weight=page.weight,
        cost=page.cost,
        polls=record.polls,
        changes=record.changes,
        versions=versions,
        polled_at=record.polled_at,
        last_changed_at=record.last_changed_at,
        outcome=record.outcome,
        failures=record.failures,
        error=record.error,
        postponed=record.postponed,
        changes_per_day=estimate.change_rate * _DAY,
        changes_per_day_between=(estimate.rate_low * _DAY, estimate.rate_high * _DAY),
        chance=float(known.policy.chances([page.id], now)[0]) if has_copy else None,
        learned_from=_sources(known, page.id, estimate.polls, recent),
        index=estimate.index,
        price=estimate.price,
        budget=known.settings.budget,
        due_at=due_at,
        rests_until=rests_until,
        host_free_at=host_free_at,
        host_limit=_limit(known.settings, page.scope),
        host_limited_until=limited_until if limited_until > now else None,
        next_poll_at=next_poll_at,
        recent=tuple(RecentPoll(o.polled_at, o.outcome, o.reverted) for o in recent),
    )


def _records(db: Path, address: str) -> tuple[PageRecord, list[Observation], int]:
    """A page's record, its latest polls and the number of its versions."""
    with Store.open_readonly(db) as store:
        record = store.find_page(address)
        if record is None:
            raise InputError(
                f"{address} is not watched in {db}; `pollwise watch {address} --db {db}` does"
            )
        recent = store.recent_outcomes(record.page.id, _RECENT)
        return record, recent, len(store.versions(record.page.id))


def _waits(
    known: "Knowledge", record: PageRecord, index_due_at: float, now: float
) -> tuple[float | None, float | None, float | None, float | None]:
    """`due_at`, `rests_until`, `host_free_at` and `next_poll_at`.

    `index_due_at` is when the index reaches the price; a page that rests is not due by its index.
    """
    rests = record.outcome in (Outcome.FAILED, Outcome.GONE)
    due_at = None if rests else index_due_at
    rests_until = known.scheduler.rests_until(record.page.id) if rests else None
    host_free_at = known.scheduler.host_free_at(record.page.scope, now)
    waits_for = rests_until if rests else due_at
    return (
        due_at,
        rests_until,
        host_free_at if host_free_at > now else None,
        None if waits_for is None else max(waits_for, host_free_at, now),
    )


def _limit(settings: WatchSettings, scope: str) -> str | None:
    return settings.limit_texts().get(settings.group_scopes().get(scope, scope))


def _sources(
    known: "Knowledge", page_id: int, polls: int, recent: Sequence[Observation]
) -> RateSources:
    rates, (posterior,) = known.policy.rate_posteriors([page_id])
    (prior,) = known.policy.prior_probabilities([page_id])
    logs = np.log(rates)
    before, after = (float(p @ logs**2 - (p @ logs) ** 2) for p in (prior, posterior))
    return RateSources(
        polls=polls,
        dates=sum(one.last_changed_at is not None for one in recent),
        prior_changes_per_day=float(prior @ rates) * _DAY,
        own_share=min(max(1.0 - after / before, 0.0), 1.0) if before > 0 else 0.0,
    )
