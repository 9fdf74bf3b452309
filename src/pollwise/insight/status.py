"""What `pollwise status` tells of a database, which may be at work meanwhile."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pollwise.insight.collection import CollectionStatus
from pollwise.insight.evidence import Evidence
from pollwise.insight.forecasts import Forecast, Interval
from pollwise.insight.growth import Growth, read_growth
from pollwise.insight.receivers import FailingReceiver, failing_receivers
from pollwise.insight.snapshot import Snapshot, snapshot_of
from pollwise.scheduler.bounds import ALWAYS
from pollwise.scheduler.budgets import parse_shares, shared_tag
from pollwise.scheduler.capacity import Shortfall
from pollwise.settings import WatchSettings
from pollwise.store import Place, Store
from pollwise.store.base import StoreReader
from pollwise.store.records import ClockSetBack, PageRecord
from pollwise.store.retention import parse_retention
from pollwise.types import Outcome
from pollwise.units import DAY

if TYPE_CHECKING:
    from pollwise.insight.knowledge import Knowledge

__all__ = [
    "ChangedPage",
    "FailingPage",
    "Outlook",
    "PeriodOutlook",
    "Status",
    "TagShare",
    "outlook_of",
    "read_status",
    "status_of",
]

_AHEAD = 60.0
"""Seconds; less is the time that a commit takes, or a clock that is set a little."""
_RECENT = 10


@dataclass(frozen=True, slots=True)
class ChangedPage:
    """A page that changed lately (UTC seconds), and how many of its changes were found in all."""

    url: str
    changed_at: float | None
    changes: int


@dataclass(frozen=True, slots=True)
class FailingPage:
    """A page whose polls failed, how often in a row, and the latest error."""

    url: str
    error: str | None
    failures: int


@dataclass(frozen=True, slots=True)
class PeriodOutlook:
    """What to expect of a period under the present budget; as in `Forecast`, but delay in days."""

    found_per_day: Interval
    freshness: Interval
    delay_days: Interval

    @classmethod
    def of(cls, forecast: Forecast) -> "PeriodOutlook":
        """The figures of a forecast."""
        return cls(forecast.found_per_day, forecast.freshness, forecast.delay / DAY)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What to expect of the coming day and week."""

    day: PeriodOutlook
    week: PeriodOutlook


@dataclass(frozen=True, slots=True)
class TagShare:
    """The share of the budget (0 to 1) of the pages that have a tag, and how many they are."""

    tag: str
    share: float
    pages: int


@dataclass(frozen=True, slots=True)
class Status:
    """What a database says of its pages.

    `started_at` (UTC seconds) is when the latest run began; None: none did. `budget`, `objective`
    and the versions to `keep` are those of the next run, None before anything is known of them; a
    collection has no objective. `shares` are those of the budget, if tags have any. `event_bytes`
    and `version_bytes` are those of `Sizes`, the other numbers those of `Totals`. `clock_ahead` are
    the seconds by which the latest stored time is ahead of this machine's clock (None: it is not).
    `clock_set_back` is the latest time that stored times were found to be in the future.
    `last_changes` and `failures` name up to ten pages, the latest and the longest failing ones
    first; `failing_receivers` are those of notices. `gone` counts the pages whose latest poll found
    them gone, of which `gone_pages` names up to ten, and `paused` those that users paused.
    `quiet_until` is when these quiet hours end, in which nothing is polled (None: these are none).
    `with_hub` counts those whose hubs are asked to tell of changes, `subscribed` those whose hubs
    do; `hub_error` is what went wrong with another one, if it is known. `always_changing` pages
    differed at every one of their latest 12 polls; `always_changes` names up to ten of them.
    `shortfall` says what hosts cannot take of the budget; None: they take it, or it is not known.
    `evidence` says what there is for a forecast: None without pages, for a `collection`, and
    before there was a run or an import. `forecast` is None then too, and as long as the evidence
    does not suffice; `growth` in the first hour.
    """

    database: str
    budget: str | None
    shares: tuple[TagShare, ...]
    objective: str | None
    started_at: float | None
    pages: int
    polls: int
    changes: int
    versions: int
    version_bytes: int
    keep: str | None
    event_bytes: int
    bytes: int
    growth: Growth | None
    failing: int
    gone: int
    paused: int
    quiet_until: float | None
    with_hub: int
    subscribed: int
    hub_error: str | None
    always_changing: int
    clock_ahead: float | None
    clock_set_back: ClockSetBack | None
    last_changes: tuple[ChangedPage, ...]
    failures: tuple[FailingPage, ...]
    gone_pages: tuple[str, ...]
    failing_receivers: tuple[FailingReceiver, ...]
    evidence: Evidence | None
    always_changes: tuple[str, ...]
    shortfall: Shortfall | None
    forecast: Outlook | None
    collection: CollectionStatus | None


def read_status(db: Place) -> Status:
    """What the database says of its pages; `StoreError` if it is no database."""
    with Store.open_readonly(db) as store, store.snapshot():
        return status_of(snapshot_of(store, db), store)


def status_of(snapshot: Snapshot, store: StoreReader, *, foreseen: bool = True) -> Status:
    """How the pages of a snapshot stand; the store tells of receivers and hubs as of now.

    Not `foreseen`: without the forecast, which takes longer than all else.
    """
    totals, sizes, settings = snapshot.totals, snapshot.sizes, snapshot.settings
    records, runs = snapshot.records, snapshot.runs
    collection = snapshot.collection
    now = time.time()
    watch = settings if isinstance(settings, WatchSettings) else None
    receivers = failing_receivers(store, now)
    subscriptions = store.subscriptions()
    unconfirmed = [own for own in subscriptions if (own.lease_until or 0.0) <= now]
    times = [record.polled_at for record in records if record.polled_at is not None]
    ahead = max([*times, *(run.started_at for run in runs)], default=0.0) - now
    changed = [record for record in records if record.changes > 0]
    changed.sort(key=lambda record: -(record.last_changed_at or 0.0))
    failing = [record for record in records if record.failures > 0]
    failing.sort(key=lambda record: -record.failures)
    keep = parse_retention("all" if settings is None else settings.keep)
    growth = read_growth(store, records, keep, now, discovers=collection is not None)
    known = snapshot.known
    evidence = None if known is None else known.evidence
    forecast = outlook_of(known) if known is not None and foreseen else None
    gone = [record.page.url for record in records if record.outcome is Outcome.GONE]
    restless = [record.page.url for record in records if record.page.changes_in_a_row >= ALWAYS]
    return Status(
        database=str(snapshot.database),
        budget=None if settings is None else settings.budget,
        shares=() if watch is None else tuple(_shares(watch, records)),
        objective=None if watch is None else watch.objective,
        started_at=runs[-1].started_at if runs else None,
        pages=totals.pages,
        polls=totals.polls,
        changes=totals.changes,
        versions=totals.versions,
        version_bytes=sizes.bodies,
        keep=None if settings is None else settings.keep,
        event_bytes=sizes.events,
        bytes=totals.bytes,
        growth=growth,
        failing=totals.failing,
        gone=len(gone),
        paused=sum(record.page.paused for record in records),
        quiet_until=None if watch is None else watch.quiet_hours().end(now),
        with_hub=len(subscriptions),
        subscribed=len(subscriptions) - len(unconfirmed),
        hub_error=next((own.error for own in unconfirmed if own.error), None),
        always_changing=len(restless),
        clock_ahead=ahead if ahead > _AHEAD else None,
        clock_set_back=store.clock_set_back(),
        last_changes=tuple(
            ChangedPage(r.page.url, r.last_changed_at, r.changes) for r in changed[:_RECENT]
        ),
        failures=tuple(FailingPage(r.page.url, r.error, r.failures) for r in failing[:_RECENT]),
        gone_pages=tuple(gone[:_RECENT]),
        failing_receivers=receivers,
        evidence=evidence,
        always_changes=tuple(restless[:_RECENT]),
        shortfall=None if known is None else known.scheduler.shortfall(),
        forecast=forecast,
        collection=collection,
    )


def _shares(settings: WatchSettings, records: Sequence[PageRecord]) -> Iterator[TagShare]:
    """A page counts where it has its share: at the first of its tags with one."""
    shares = parse_shares(settings.shares)
    owners = Counter(shared_tag(shares, record.page.tags) for record in records)
    for tag, share in shares.items():
        yield TagShare(tag, share, owners[tag])


def outlook_of(known: "Knowledge") -> Outlook | None:
    """What to expect of what is known; None: that does not suffice."""
    if not known.evidence.suffices:
        return None
    day, week = (PeriodOutlook.of(known.forecast(days * DAY)) for days in (1, 7))
    return Outlook(day, week)
