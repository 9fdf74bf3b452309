"""What `pollwise explain` tells of a page of a database, which may be at work meanwhile."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError, PostponedError
from pollwise.insight.collection import (
    CollectedExplanation,
    explain_collected,
    holds_collection,
)
from pollwise.insight.evidence import FEWEST_OTHERS, Evidence, of_page
from pollwise.insight.hosts import stopped_by
from pollwise.insight.noise import MaskedPart, masked_parts
from pollwise.insight.waits import waits_of
from pollwise.scheduler.budgets import parse_shares, shared_tag
from pollwise.sources.conditions import Standing, number_of, standings
from pollwise.sources.reading import LARGE, read, takes_long
from pollwise.sources.view import WHOLE, Parts, UnreadableError
from pollwise.store import Place, Store
from pollwise.store.base import StoreReader
from pollwise.store.place import command
from pollwise.store.records import PageRecord, Postponed, StoredVersion
from pollwise.types import Observation, Outcome, PageMemory
from pollwise.units import DAY
from pollwise.web.beside import Beside
from pollwise.web.judging import counted, measured_from
from pollwise.web.seeing import read_beside
from pollwise.web.urls import canonical

if TYPE_CHECKING:
    from pollwise.insight.knowledge import Knowledge
    from pollwise.policies.index.bayes_index import PageEstimate

__all__ = [
    "Explanation",
    "HostBlock",
    "RateSources",
    "RecentPoll",
    "explain",
    "read_explanation",
]

_RECENT = 10


@dataclass(frozen=True, slots=True)
class RateSources:
    """What the change rate of a page was learned from.

    `polls` counts its own that told something, `dates` those of the latest polls whose server told
    the time of the change. About `polls_needed` are needed before its change rate is told.
    `prior_changes_per_day` is what half of the pages like it are thought to exceed; None: too
    little is known of other pages. `own_share` (0 to 1) is the share of the prior's uncertainty,
    the variance of the rate's logarithm, that the page's own polls removed.
    """

    polls: int
    polls_needed: int
    dates: int
    prior_changes_per_day: float | None
    own_share: float


@dataclass(frozen=True, slots=True)
class RecentPoll:
    """One of the latest polls.

    `reverted`: it found the page changed back to an earlier version. `first_copy`: it brought the
    first copy, so that its outcome CHANGED tells of no change.
    """

    polled_at: float
    outcome: Outcome
    reverted: bool
    first_copy: bool


@dataclass(frozen=True, slots=True)
class HostBlock:
    """The page of a host whose failed poll had the host left alone, and what its error was."""

    url: str
    error: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is known of a page that is watched, and why it is polled next or not.

    Times are UTC seconds. `polled_at`, `outcome` and `error` are those of the latest poll that was
    made, `failures` counts the failed ones in a row up to it, `postponed` is one since then that
    was not made; `recent` polls are newest first. `versions`
    counts the stored ones. `changes_per_day_between` is the central 90 % interval of
    `changes_per_day`. `chance` is the probability that the page has changed since its copy was
    made; None: there is no copy. If the page changes by the clock, it does so in the part of the
    day that `daily_between` bounds: seconds since midnight UTC, the first perhaps the later one.
    All four are None as long as too few polls told something.

    `index` and `due_at` may be infinite: a page without a copy comes before all others, and one
    whose index never reaches the `price` of a poll is due at `latest_poll_at`. `host_price` is the
    factor in that price which is its host's own, as it cannot keep up with its pages (None: it
    can). `due_at` is None if the page rests after a failure, until `rests_until` if that was
    stored. `host_free_at` is None if the host may be polled now; `host_blocked_by` says why it
    is left alone, if an answer asked for that and is known. `host_limit` is the limit on the
    polls of the host or its group, as it was given (None: it has none), `host_limited_until` when
    it allows the next one.
    `next_poll_at` is when nothing but the budget holds the page back any more; None: not known.

    `earliest_poll_at` and `latest_poll_at` are the bounds on the next poll; None: it may be made
    now, and there is no copy yet. `demanded`: the latter is as a user asked for it.
    `changes_in_row` counts the latest polls that all found a change; `slowed`: so many that the
    page is polled once a round of all pages at most. `masked` are the parts of the page that count
    for no change. `quiet_until` is when these quiet hours end, in which nothing is polled (None:
    these are none). `signal` is the probability that the page has changed as somebody said at
    `signalled_at` (None: nobody did since its copy was made). `share_of` is the tag whose share of
    the budget it has, None: that of all pages without such a tag. A page that is `paused` is not
    polled: it has no `due_at`, `latest_poll_at` and `next_poll_at` then. `name`, `tags`, `select`,
    `ignore`, `render` and `notify_when`: see `Page`. `conditions` are these as they stand in the
    latest copy; there are none if that cannot be read, and where nobody waits for it, as in the
    dashboard, if it is larger than 256 KiB, or is a list or a PDF.
    """

    url: str
    name: str
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
    changes_per_day: float | None
    changes_per_day_between: tuple[float, float] | None
    daily_between: tuple[float, float] | None
    chance: float | None
    learned_from: RateSources
    index: float
    price: float
    host_price: float | None
    budget: str
    due_at: float | None
    rests_until: float | None
    host_free_at: float | None
    host_blocked_by: HostBlock | None
    earliest_poll_at: float | None
    latest_poll_at: float | None
    demanded: bool
    changes_in_row: int
    slowed: bool
    host_limit: str | None
    host_limited_until: float | None
    next_poll_at: float | None
    recent: tuple[RecentPoll, ...]
    masked: tuple[MaskedPart, ...]
    paused: bool
    tags: tuple[str, ...]
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    render: bool
    notify_when: tuple[str, ...]
    conditions: tuple[Standing, ...]
    quiet_until: float | None
    signal: float | None
    signalled_at: float | None
    share_of: str | None


def read_explanation(db: Place, url: str) -> Explanation | CollectedExplanation:
    """What is known of one page of a watch or a collection; `InputError` if nothing is.

    To read a latest copy that takes long may take twenty seconds. Not within an event loop.
    """
    address = canonical(url)  # a bad URL is reported before a bad database
    if holds_collection(db):
        return explain_collected(db, url)
    # Late, because numba, which the knowledge of a watch needs, takes a while to load.
    from pollwise.insight.knowledge import read_knowledge

    with Store.open_readonly(db) as store:
        _record(store, db, address)
        known = read_knowledge(db)
        return explain(known, store, address, patient=True)


def explain(
    known: "Knowledge", store: StoreReader, url: str, *, patient: bool = False
) -> Explanation:
    """What is known of a page of a watch, and what the store of the same watch tells of it now.

    `patient`: a latest copy that takes long is read as well. `InputError` if the page is not
    watched, or was added after `known` was read.
    """
    address = canonical(url)
    record = _record(store, known.database, address)
    if record.page.id not in known.by_id:
        raise InputError(f"{address} was added just now: ask again in some seconds")
    recent = store.recent_outcomes(record.page.id, _RECENT)
    versions = store.versions(record.page.id)
    page, now = record.page, known.now
    scope = known.scheduler.scope_of(page.id)
    estimate = known.policy.estimate(page.id, now)
    quiet_until = known.settings.quiet_hours().end(now)
    waits = waits_of(known.scheduler, record, estimate.due_at, now, quiet_until=quiet_until)
    limited_until = known.scheduler.host_limited_until(page.scope)
    bounds = known.scheduler.bounds
    evidence = of_page(estimate.polls)
    is_known = evidence.suffices
    has_copy = page.seen_at is not None
    chance = float(known.policy.chances([page.id], now)[0])
    return Explanation(
        url=page.url,
        name=page.name,
        objective=known.settings.objective,
        weight=page.weight,
        cost=page.cost,
        polls=record.polls,
        changes=record.changes,
        versions=len(versions),
        polled_at=record.polled_at,
        last_changed_at=record.last_changed_at,
        outcome=record.outcome,
        failures=record.failures,
        error=record.error,
        postponed=record.postponed,
        changes_per_day=estimate.change_rate * DAY if is_known else None,
        changes_per_day_between=(
            (estimate.rate_low * DAY, estimate.rate_high * DAY) if is_known else None
        ),
        daily_between=_daily_between(estimate) if is_known else None,
        chance=chance if is_known and has_copy else None,
        learned_from=_sources(known, page.id, evidence, recent),
        index=estimate.index,
        price=estimate.price,
        host_price=known.policy.host_price(scope),
        budget=known.settings.budget,
        due_at=None if page.paused else waits.due_at,
        rests_until=waits.rests_until,
        host_free_at=waits.host_free_at,
        host_blocked_by=_blocked_by(known, page.scope),
        host_limit=known.settings.limit_texts().get(scope),
        host_limited_until=limited_until if limited_until > now else None,
        earliest_poll_at=None if page.paused else waits.earliest,
        latest_poll_at=None if page.paused else waits.latest,
        demanded=bounds.is_demanded(page.id),
        changes_in_row=page.changes_in_a_row,
        slowed=bounds.is_slowed(page.id),
        next_poll_at=None if page.paused else waits.next_poll_at,
        recent=tuple(
            RecentPoll(o.polled_at, o.outcome, o.reverted, o.polled_at == record.first_seen_at)
            for o in recent
        ),
        masked=masked_parts(record.memory.noise.masks),
        paused=page.paused,
        tags=page.tags,
        select=page.select,
        ignore=page.ignore,
        render=page.render,
        notify_when=page.notify_when,
        conditions=_conditions(store, record, versions[-1], patient) if versions else (),
        quiet_until=quiet_until,
        signal=estimate.signal,
        signalled_at=estimate.signalled_at,
        share_of=shared_tag(parse_shares(known.settings.shares), page.tags),
    )


def _blocked_by(known: "Knowledge", scope: str) -> HostBlock | None:
    """The latest failure of a host that wants to be left alone now, if it told so by an answer."""
    if known.scheduler.host_blocked_until(scope) <= known.now:
        return None
    latest = stopped_by(record for record in known.records if record.page.scope == scope)
    return None if latest is None else HostBlock(latest.page.url, str(latest.error))


def _conditions(
    store: StoreReader, record: PageRecord, latest: StoredVersion, patient: bool
) -> tuple[Standing, ...]:
    page = record.page
    if not page.notify_when or (latest.size > LARGE and not patient):
        return ()
    body, content_type = store.body(latest.body_hash), latest.content_type or None
    parts = Parts.of(page)
    long = latest.size > LARGE or (parts == WHOLE and takes_long(body, content_type))
    if long and not patient:
        return ()
    with suppress(UnreadableError, PostponedError):  # as by other selectors than then
        told = page.notify_when, body, content_type, parts, record.memory
        return asyncio.run(_read_beside(*told)) if long else _standings(*told)
    return ()


async def _read_beside(*told: Any) -> tuple[Standing, ...]:
    async with Beside() as beside:
        return await read_beside(beside, _standings, *told)


def _standings(
    told: Sequence[str],
    body: bytes,
    content_type: str | None,
    parts: Parts,
    memory: PageMemory,
) -> tuple[Standing, ...]:
    view = counted(read(body, content_type, parts), memory.noise.masks)
    return standings(told, view, measured_from(memory.told_number, number_of(view)))


def _record(store: StoreReader, db: Place, address: str) -> PageRecord:
    record = store.find_page(address)
    if record is None:
        raise InputError(
            f"{address} is not watched in {db}; `{command(db, 'add', address)}` adds it"
        )
    return record


def _daily_between(estimate: "PageEstimate") -> tuple[float, float] | None:
    if estimate.daily_from is None or estimate.daily_until is None:
        return None
    return estimate.daily_from, estimate.daily_until


def _dates(recent: Sequence[Observation]) -> int:
    """How many of these polls, newest first, told the time of a change that they do not belie."""
    told = 0
    for one, before in zip_longest(recent, recent[1:]):
        if one.last_changed_at is not None:
            is_unchanged = before is not None and one.outcome is Outcome.UNCHANGED
            told += not (is_unchanged and one.last_changed_at > before.polled_at)
    return told


def _sources(
    known: "Knowledge", page_id: int, own: Evidence, recent: Sequence[Observation]
) -> RateSources:
    rates, (posterior,) = known.policy.rate_posteriors([page_id])
    (prior,) = known.policy.prior_probabilities([page_id])
    logs = np.log(rates)
    others = known.told_pages - (own.polls > 0)
    is_known = known.evidence.suffices and others >= FEWEST_OTHERS
    before, after = (float(p @ logs**2 - (p @ logs) ** 2) for p in (prior, posterior))
    return RateSources(
        polls=own.polls,
        polls_needed=own.needed,
        dates=_dates(recent),
        prior_changes_per_day=_median(rates, prior) * DAY if is_known else None,
        own_share=min(max(1.0 - after / before, 0.0), 1.0) if before > 0 else 0.0,
    )


def _median(rates: NDArray[np.float64], probabilities: NDArray[np.float64]) -> float:
    """The rate that is exceeded as likely as not.

    The mean would be that of the few highest rates, which little ever excludes.
    """
    return float(rates[np.searchsorted(np.cumsum(probabilities), 0.5)])
