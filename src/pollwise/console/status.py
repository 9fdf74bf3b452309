"""What people see of `pollwise status`."""

from rich.table import Table

from pollwise.console.remedies import ALWAYS_REMEDY
from pollwise.console.streams import stdout
from pollwise.console.tables import count, folded, interval, moment, pairs
from pollwise.insight.collection import CollectionStatus
from pollwise.insight.status import PeriodOutlook, Status
from pollwise.store.records import ClockSetBack
from pollwise.store.retention import MOST_EVENT_BYTES, parse_retention

__all__ = ["print_status"]

_UNITS = ((86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes"))


def print_status(status: Status) -> None:
    """The answer of `pollwise status`."""
    console = stdout()
    console.print(pairs(status.database, _rows(status)))
    if status.collection is not None and status.collection.best:
        best = Table("relevance", folded("title"), folded("page"), title="Most relevant")
        for relevant in status.collection.best:
            best.add_row(f"{relevant.relevance:.2f}", relevant.title or "-", relevant.url)
        console.print(best)
    if status.last_changes:
        changes = Table("changed (UTC)", "times", folded("page"), title="Latest changes")
        for changed in status.last_changes:
            changes.add_row(moment(changed.changed_at), str(changed.changes), changed.url)
        console.print(changes)
    if status.failures:
        failures = Table("in a row", folded("page"), "error", title="Failing pages")
        for failing in status.failures:
            failures.add_row(str(failing.failures), failing.url, failing.error or "-")
        console.print(failures)
    if status.always_changes:
        restless = Table(folded("page"), title="Pages that differ at every poll")
        for url in status.always_changes:
            restless.add_row(url)
        console.print(restless)
        console.print(f"differs at every poll: {ALWAYS_REMEDY}")


def _rows(status: Status) -> list[tuple[str, str]]:
    rows = [
        ("pages", f"{status.pages:,} ({status.failing:,} failing)"),
        ("polls", f"{status.polls:,}"),
        ("changes found", f"{status.changes:,}"),
        ("versions kept", _versions(status)),
        ("event log", f"{status.event_bytes / 1e6:.1f} MB of at most {MOST_EVENT_BYTES / 1e6:.0f}"),
        ("size", f"{status.bytes / 1e6:.1f} MB"),
        ("budget", status.budget or "-"),
        ("objective", status.objective or "-"),
        ("last start (UTC)", moment(status.started_at)),
    ]
    if status.always_changing:
        rows.insert(1, ("differ at every poll", count(status.always_changing, "page")))
    if status.clock_ahead is not None:
        rows.append(
            ("clock", f"stored times are {_told(status.clock_ahead)} ahead of this machine's")
        )
    if status.clock_set_back is not None:
        rows.append(("clock", _clock(status.clock_set_back)))
    if status.forecast is not None:
        rows += [
            ("the coming day", _outlook(status.forecast.day)),
            ("the coming week", _outlook(status.forecast.week)),
        ]
    if status.collection is not None:
        rows += _collection_rows(status.collection)
    return rows


def _versions(status: Status) -> str:
    size = f"{status.versions:,} ({status.version_bytes / 1e6:.1f} MB)"
    return size if status.keep is None else f"{size}, to keep: {parse_retention(status.keep)}"


def _told(seconds: float) -> str:
    size, unit = next(
        ((seconds / size, unit) for size, unit in _UNITS if seconds >= size), (seconds, "seconds")
    )
    return f"{size:.3g} {unit}"


def _clock(told: ClockSetBack) -> str:
    return (
        f"was {_told(told.ahead)} ahead until {moment(told.at)} (UTC):"
        f" times of {count(told.polls, 'poll')} were set back"
    )


def _outlook(period: PeriodOutlook) -> str:
    return (
        f"{interval(period.found_per_day, '.3g')} changes found a day, freshness"
        f" {interval(period.freshness, '.3f')}, delay"
        f" {interval(period.delay_days, '.3g')} days"
    )


def _collection_rows(collection: CollectionStatus) -> list[tuple[str, str]]:
    return [
        ("topic", collection.topic or "-"),
        (
            "documents",
            f"{collection.documents:,} of {collection.hosts:,} hosts,"
            f" {collection.relevant:,} relevant (sum {collection.relevance:.1f}),"
            f" {collection.copies:,} copies",
        ),
        ("fringe", f"{collection.fringe:,} pages known by links only"),
        ("gone", f"{collection.gone:,}"),
    ]
