"""How a database grows, and how long the disk has room for that."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pollwise.store.base import StoreReader
from pollwise.store.records import PageRecord
from pollwise.store.retention import KEPT_POLLS, MOST_EVENT_BYTES, Retention
from pollwise.units import DAY, HOUR, WEEK

__all__ = ["Growth", "read_growth"]

_PERIOD = WEEK
_SHORTEST = HOUR
"""Seconds; of less nothing can be said."""
_POLL = 25.0
"""Bytes that a poll takes."""
_CHANGE = 700.0
"""Bytes that a version takes besides its body: its head, its change, and their indexes."""
_ALMOST = 0.95
_MOST_READ = 10_000
"""Versions that are looked at."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How a database has grown of late, in bytes a day, and what becomes of that.

    `bytes_per_day` are those of new versions, of the event log and of polls, without the first
    copies of pages that a watch began with; each is 0 once as much is dropped as comes, which for
    versions and polls is found out page by page. They were seen over so many `days`, a week at
    most. `most_bytes` is the size that the file comes to with the pages that there are (None: it
    has no limit, as all versions are kept or pages are discovered). `unused_bytes` of the file are
    free for what comes next. With `disk_free_bytes` free, the disk is full in so many days (None:
    never, if nobody else writes).
    """

    bytes_per_day: float
    version_bytes_per_day: float
    event_bytes_per_day: float
    days: float
    most_bytes: float | None
    unused_bytes: int
    disk_free_bytes: int
    full_in_days: float | None


def read_growth(
    store: StoreReader,
    records: Sequence[PageRecord],
    keep: Retention,
    now: float,
    *,
    discovers: bool,
) -> Growth | None:
    """The growth of a database with these pages; None before an hour has passed, and on a server,
    whose disk cannot be seen from here.

    `keep` says which versions are kept, `discovers` whether it is a collection. With a million
    versions it takes half a second: indexes and counts are read, and the versions of some pages.
    """
    began = min((record.added_at for record in records), default=now)
    since = max(now - _PERIOD, began)
    seconds = now - since
    if seconds < _SHORTEST or not isinstance(store.path, Path):
        return None
    days = seconds / DAY
    stored, sizes, totals = store.lately(since), store.sizes(), store.totals()
    size = sizes.bodies / max(stored.bodies, 1) + _CHANGE
    new = stored.new_bodies
    if not discovers:
        new -= sum((record.first_seen_at or 0.0) >= since for record in records)
    versions = max(new, 0) * size / days
    version_bytes = sizes.bodies + _CHANGE * totals.versions
    most = None
    if keep.versions is not None:
        most = keep.versions * len(records) * size
    elif keep.age is not None:
        most = versions * keep.age / DAY + len(records) * size
    versions *= _share_that_stays(store, records, keep, since, now)
    logged = max(now - (stored.log_since or now), seconds) / DAY
    events = 0.0 if sizes.events >= _ALMOST * MOST_EVENT_BYTES else sizes.events / logged
    polls = stored.new_polls * _POLL / days
    rate = versions + events + polls
    to_come = None
    if most is not None and not discovers:
        polls_to_come = sum(max(KEPT_POLLS - record.polls, 0) for record in records) * _POLL
        to_come = max(most - version_bytes, 0.0) + polls_to_come
        to_come += max(MOST_EVENT_BYTES - sizes.events, 0)
    free = shutil.disk_usage(store.path.parent).free
    room = free + stored.unused_bytes
    fits = rate == 0.0 or (to_come is not None and to_come <= room)
    return Growth(
        bytes_per_day=rate,
        version_bytes_per_day=versions,
        event_bytes_per_day=events,
        days=days,
        most_bytes=None if to_come is None else totals.bytes - stored.unused_bytes + to_come,
        unused_bytes=stored.unused_bytes,
        disk_free_bytes=free,
        full_in_days=None if fits else room / rate,
    )


def _share_that_stays(
    store: StoreReader, records: Sequence[PageRecord], keep: Retention, since: float, now: float
) -> float:
    """The share of the new versions for which none is dropped, as far as some pages tell."""
    new, stay = 0.0, 0.0
    for weight, is_full in _changing(store, records, keep, since, now):
        new += weight
        stay += 0.0 if is_full else weight
    return stay / new if new > 0 else 1.0


def _changing(
    store: StoreReader, records: Sequence[PageRecord], keep: Retention, since: float, now: float
) -> Iterator[tuple[float, bool]]:
    """Of pages that change, in proportion how much, and whether as much is dropped as comes."""
    changing = [record for record in records if record.changes > 0]
    if keep.versions is not None:
        step = max(len(changing) * keep.versions // _MOST_READ, 1)
        for record in changing[::step]:
            times = [version.seen_at for version in store.versions(record.page.id)]
            yield sum(time >= since for time in times), len(times) >= keep.versions
    elif keep.age is not None:
        for record in changing:
            first = now if record.first_seen_at is None else record.first_seen_at
            yield record.changes / max(now - record.added_at, _SHORTEST), first <= now - keep.age
