"""What people see of `pollwise status`."""

import math
from collections.abc import Iterator, Sequence

from rich.table import Table

from pollwise.console.quantities import (
    between,
    count,
    duration,
    durations,
    not_known,
    percent,
    storage,
)
from pollwise.console.remedies import always_remedy
from pollwise.console.streams import stdout
from pollwise.console.tables import brief, folded, moment, pairs
from pollwise.insight.capacity import shortfall_words, taken_words
from pollwise.insight.collection import CollectionStatus
from pollwise.insight.forecasts import Interval
from pollwise.insight.growth import Growth
from pollwise.insight.receivers import FailingReceiver
from pollwise.insight.status import PeriodOutlook, Status
from pollwise.insight.words import all_paused
from pollwise.store.records import ClockSetBack
from pollwise.store.retention import MOST_EVENT_BYTES, parse_retention
from pollwise.units import DAY

__all__ = ["print_status"]


def print_status(status: Status) -> None:
    """The answer of `pollwise status`."""
    console = stdout()
    console.print(pairs(status.database, _rows(status)))
    if status.collection is not None:
        for table in _collection_tables(status.collection):
            console.print(table)
    if status.last_changes:
        changes = Table("changed (UTC)", "times", folded("page"), title="Latest changes")
        for changed in status.last_changes:
            changes.add_row(moment(changed.changed_at), str(changed.changes), brief(changed.url))
        console.print(changes)
    if status.failures:
        failures = Table(
            "in a row",
            folded("page"),
            "error",
            title=_titled("Failing pages", status.failures, status.failing),
        )
        for failing in status.failures:
            failures.add_row(str(failing.failures), brief(failing.url), failing.error or "-")
        console.print(failures)
    if status.gone_pages:
        gone = Table(
            folded("page"), title=_titled("Pages that are gone", status.gone_pages, status.gone)
        )
        for url in status.gone_pages:
            gone.add_row(brief(url))
        console.print(gone)
    if status.always_changes:
        restless = Table(
            folded("page"),
            title=_titled(
                "Pages that differ at every poll", status.always_changes, status.always_changing
            ),
        )
        for url in status.always_changes:
            restless.add_row(brief(url))
        console.print(restless)
        console.print(f"differs at every poll: {always_remedy(status.database)}")


def _titled(title: str, shown: Sequence[object], count: int) -> str:
    return title if len(shown) == count else f"{title}: {len(shown)} of {count:,}"


def _rows(status: Status) -> list[tuple[str, str]]:
    paused = f", {status.paused:,} paused" if status.paused else ""
    rows = [
        ("pages", f"{status.pages:,} ({status.failing:,} failing, {status.gone:,} gone{paused})"),
        ("polls", f"{status.polls:,}, of these pages"),
        ("changes found", f"{status.changes:,}, by these polls"),
        ("versions kept", _versions(status)),
        ("event log", f"{storage(status.event_bytes)} of at most {storage(MOST_EVENT_BYTES)}"),
        ("size", _size(status)),
        *([] if status.growth is None else [("growth", _growth(status.growth))]),
        ("budget", status.budget or "-"),
        *(
            (f"share of {share.tag}", f"{100 * share.share:g} %, for {count(share.pages, 'page')}")
            for share in status.shares
        ),
        # A collection has none.
        *([("objective", status.objective or "-")] if status.collection is None else []),
        ("last start (UTC)", _started(status)),
    ]
    if status.quiet_until is not None:
        told = f"no poll begins until {moment(status.quiet_until)} (UTC)"
        rows.insert(1, ("quiet hours", told))
    if status.with_hub:
        trouble = f"; one is not: {status.hub_error}" if status.hub_error else ""
        told = f"{status.subscribed:,} of {count(status.with_hub, 'page')} with a hub{trouble}"
        rows.insert(1, ("subscribed", told))
    if status.always_changing:
        rows.insert(1, ("differ at every poll", count(status.always_changing, "page")))
    rows += [("notices", _receiver(failing)) for failing in status.failing_receivers]
    if status.clock_ahead is not None:
        rows.append(
            ("clock", f"stored times are {duration(status.clock_ahead)} ahead of this machine's")
        )
    if status.clock_set_back is not None:
        rows.append(("clock", _clock(status.clock_set_back)))
    if (short := status.shortfall) is not None:
        told = shortfall_words(short, status.budget or "-", short.budget_per_day)
        rows.append(("hosts", told))
    if status.forecast is not None:
        if status.paused:
            polled = count(status.pages - status.paused, "page")
            rows.append(("forecast", f"of the {polled} not paused"))
        rows += [
            ("the coming day", _outlook(status.forecast.day, 1)),
            ("the coming week", _outlook(status.forecast.week, 7)),
        ]
    elif status.evidence is not None:
        are_all_paused = status.paused == status.pages
        few = not_known(status.evidence.polls, status.evidence.needed)
        rows.append(("forecast", all_paused(status.database) if are_all_paused else few))
    if status.collection is not None:
        rows += _collection_rows(status.collection)
    return rows


def _started(status: Status) -> str:
    if status.started_at is None:
        return "never"
    # A first run of a collection compiles before it polls.
    waits = status.collection is not None and status.polls == 0
    return moment(status.started_at) + ("; getting ready, no poll has ended yet" if waits else "")


def _versions(status: Status) -> str:
    size = f"{status.versions:,} ({storage(status.version_bytes)})"
    return size if status.keep is None else f"{size}, to keep: {parse_retention(status.keep)}"


def _size(status: Status) -> str:
    unused = 0 if status.growth is None else status.growth.unused_bytes
    free = f", {storage(unused)} of it free for what comes next" if unused else ""
    return storage(status.bytes) + free


def _growth(growth: Growth) -> str:
    rate = f"{storage(round(growth.bytes_per_day))} a day over {duration(growth.days * DAY)}"
    most = "" if growth.most_bytes is None else f", up to {storage(round(growth.most_bytes))}"
    free = storage(growth.disk_free_bytes)
    if growth.full_in_days is None:
        return f"{rate}{most}; {free} of the disk are free"
    return f"{rate}{most}; the disk ({free} free) is full in {duration(growth.full_in_days * DAY)}"


def _receiver(failing: FailingReceiver) -> str:
    return (
        f"those to {failing.name} fail ({failing.error or 'for no known reason'}):"
        f" {count(failing.waiting, 'change')} to be told since {moment(failing.waiting_since)},"
        f" tried again from {moment(failing.next_try_at)} (UTC) on"
    )


def _clock(told: ClockSetBack) -> str:
    return (
        f"was {duration(told.ahead)} ahead until {moment(told.at)} (UTC):"
        f" times of {count(told.polls, 'poll')} were set back"
    )


def _outlook(period: PeriodOutlook, days: int) -> str:
    return (
        f"{between(period.found_per_day * days)} changes found,\n"
        f"copies fresh {percent(period.freshness)} of the time,\n"
        f"{_delay(period.delay_days * DAY)}"
    )


def _delay(seconds: Interval) -> str:
    if not math.isfinite(seconds.mean):
        return "changes of some pages never found"
    return f"changes found after {durations(seconds)}"


def _collection_rows(collection: CollectionStatus) -> list[tuple[str, str]]:
    rows = [
        ("topic", collection.topic or "-"),
        (
            "documents",
            f"{collection.documents:,} of {count(collection.hosts, 'host')},"
            f" {collection.relevant:,} relevant (sum {collection.relevance:.1f}),"
            f" {collection.copies:,} {'copy' if collection.copies == 1 else 'copies'}",
        ),
        ("fringe", f"{count(collection.fringe, 'page')} known by links only"),
        ("gone", f"{collection.gone:,}"),
    ]
    if collection.left_out:
        told = f"{count(collection.left_out, 'page')}, by --allow and --deny: not polled"
        rows.append(("left out", told))
    if collection.terms:
        rows.insert(1, ("main terms (stems)", ", ".join(collection.terms)))
    if collection.hosts_take is not None:
        told = taken_words(collection.hosts_that_take, collection.hosts_take, collection.allowed)
        rows.append(("pace", told))
    return rows


def _collection_tables(collection: CollectionStatus) -> Iterator[Table]:
    """Those that have rows."""
    if collection.best:
        best = Table("relevance", folded("title"), folded("page"), title="Most relevant")
        for relevant in collection.best:
            best.add_row(f"{relevant.relevance:.2f}", relevant.title or "-", brief(relevant.url))
        yield best
    if collection.newest:
        newest = Table("read (UTC)", folded("title"), folded("page"), title="Newest of the topic")
        for new in collection.newest:
            newest.add_row(moment(new.first_seen_at), new.title or "-", brief(new.url))
        yield newest
    if collection.sites:
        sites = Table(folded("host"), "relevant", "documents", title="Sites")
        for site in collection.sites:
            sites.add_row(site.host, f"{site.relevant:,}", f"{site.documents:,}")
        yield sites
    if collection.next_links:
        links = Table("value", folded("link"), folded("page"), title="Followed next")
        for link in collection.next_links:
            links.add_row(f"{link.value:.2f}", link.anchor or "-", brief(link.url))
        yield links
