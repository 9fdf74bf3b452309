"""What `pollwise status` tells of a database, which may be at work meanwhile."""

import time
from dataclasses import dataclass
from pathlib import Path

from pollwise.insight.collection import CollectionStatus, summarise_collection
from pollwise.insight.evidence import Evidence
from pollwise.insight.forecasts import Forecast, Interval
from pollwise.scheduler.bounds import ALWAYS
from pollwise.settings import WatchSettings, latest_settings
from pollwise.store import Store
from pollwise.store.records import ClockSetBack
from pollwise.types import Outcome

__all__ = [
    "ChangedPage",
    "FailingPage",
    "Outlook",
    "PeriodOutlook",
    "Status",
    "read_status",
]

_AHEAD = 60.0
"""Seconds; less is the time that a commit takes, or a clock that is set a little."""
_RECENT = 10
_DAY = 86_400.0


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
        return cls(forecast.found_per_day, forecast.freshness, forecast.delay / _DAY)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What to expect of the coming day and week."""

    day: PeriodOutlook
    week: PeriodOutlook


@dataclass(frozen=True, slots=True)
class Status:
    """What a database says of its pages.

    `budget`, `objective`, `started_at` (UTC seconds) and the versions to `keep` are those of the
    latest run, None without one; a collection has no objective. `event_bytes` and `version_bytes`
    are those of `Sizes`, the other numbers those of `Totals`. `clock_ahead` are the seconds by
    which the latest stored time is ahead of this machine's clock (None: it is not).
    `clock_set_back` is the latest time that stored times were found to be in the future.
    `last_changes` and `failures` name up to ten pages, the latest and the longest failing ones
    first. `gone` counts the pages whose latest poll found them gone, `paused` those that users
    paused. `always_changing` pages differed at every one of their latest 12 polls;
    `always_changes` names up to ten of them.
    `evidence` says what there is for a forecast: None without pages, before the first run, and for
    a `collection`. `forecast` is None then too, and as long as the evidence does not suffice.
    """

    database: str
    budget: str | None
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
    failing: int
    gone: int
    paused: int
    always_changing: int
    clock_ahead: float | None
    clock_set_back: ClockSetBack | None
    last_changes: tuple[ChangedPage, ...]
    failures: tuple[FailingPage, ...]
    evidence: Evidence | None
    always_changes: tuple[str, ...]
    forecast: Outlook | None
    collection: CollectionStatus | None


def read_status(db: Path) -> Status:
    """What the database says of its pages; `StoreError` if it is no database."""
    with Store.open_readonly(db) as store:
        totals = store.totals()
        runs = store.runs()
        settings = latest_settings(store)
        records = store.pages()
        collection = summarise_collection(store, records)
        sizes = store.sizes()
        clock_set_back = store.clock_set_back()
    times = [record.polled_at for record in records if record.polled_at is not None]
    ahead = max([*times, *(run.started_at for run in runs)], default=0.0) - time.time()
    changed = [record for record in records if record.changes > 0]
    changed.sort(key=lambda record: -(record.last_changed_at or 0.0))
    failing = [record for record in records if record.failures > 0]
    failing.sort(key=lambda record: -record.failures)
    watched = records and runs and collection is None
    evidence, forecast = _outlook(db) if watched else (None, None)
    restless = [record.page.url for record in records if record.page.changes_in_a_row >= ALWAYS]
    return Status(
        database=str(db),
        budget=None if settings is None else settings.budget,
        objective=settings.objective if isinstance(settings, WatchSettings) else None,
        started_at=runs[-1].started_at if runs else None,
        pages=totals.pages,
        polls=totals.polls,
        changes=totals.changes,
        versions=totals.versions,
        version_bytes=sizes.bodies,
        keep=None if settings is None else settings.keep,
        event_bytes=sizes.events,
        bytes=totals.bytes,
        failing=totals.failing,
        gone=sum(record.outcome is Outcome.GONE for record in records),
        paused=sum(record.page.paused for record in records),
        always_changing=len(restless),
        clock_ahead=ahead if ahead > _AHEAD else None,
        clock_set_back=clock_set_back,
        last_changes=tuple(
            ChangedPage(r.page.url, r.last_changed_at, r.changes) for r in changed[:_RECENT]
        ),
        failures=tuple(FailingPage(r.page.url, r.error, r.failures) for r in failing[:_RECENT]),
        evidence=evidence,
        always_changes=tuple(restless[:_RECENT]),
        forecast=forecast,
        collection=collection,
    )


def _outlook(db: Path) -> tuple[Evidence, Outlook | None]:
    """What there is for a forecast, and the forecast if that suffices."""
    # Late, because numba, which the knowledge of a watch needs, takes a while to load.
    from pollwise.insight.knowledge import read_knowledge

    known = read_knowledge(db)
    if not known.evidence.suffices:
        return known.evidence, None
    day, week = (PeriodOutlook.of(known.forecast(days * _DAY)) for days in (1, 7))
    return known.evidence, Outlook(day, week)
