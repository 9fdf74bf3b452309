"""What changed: the changes of a database, the history of a page, and two of its versions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from pollwise.errors import InputError
from pollwise.insight.difference import Difference, difference_at, text_of
from pollwise.insight.shards import store_of, stores_of
from pollwise.insight.word_diff import Hunk, word_diff
from pollwise.insight.words import moment
from pollwise.sources.reading import LARGE
from pollwise.store import Place, Store
from pollwise.store.base import StoreReader
from pollwise.store.place import command
from pollwise.store.records import ChangeKind, FoundItem, StoredChange, StoredVersion
from pollwise.store.retention import KEPT_POLLS
from pollwise.times import no_seconds, parse_age, parse_time
from pollwise.types import Outcome
from pollwise.web.urls import canonical

__all__ = [
    "Changes",
    "History",
    "HistoryEntry",
    "ListedChange",
    "ListedVersion",
    "TooLargeError",
    "VersionDiff",
    "change_id",
    "happened",
    "listed_change",
    "listed_with",
    "read_changes",
    "read_diff",
    "read_history",
    "since_of",
]


@dataclass(frozen=True, slots=True)
class ListedChange:
    """A change that a poll found at `seen_at` (UTC seconds); it happened after `before_at`.

    That is the time of the copy before, or, of a page that is back, of the latest poll that found
    it gone. `kind` is what happened, `status` the HTTP status by which the page is gone (None: it
    is not). `id` is its own for ever, `seq` its number in the database. `title` is that of the page
    (empty: none), `tags` and `name` (what somebody calls it; empty: nobody does) are those that it
    has now. `reverted`: back to a version seen before. `removed`, `added` and `further` are as in
    `Difference`; `items` are the new ones of a feed. `read`: somebody has marked it so.
    `held_back`: by a condition of the page, notices do not tell of it.
    """

    id: str
    seq: int
    url: str
    title: str
    tags: tuple[str, ...]
    seen_at: float
    before_at: float
    reverted: bool
    removed: str | None
    added: str | None
    items: tuple[FoundItem, ...]
    name: str = ""
    read: bool = False
    kind: ChangeKind = ChangeKind.CHANGED
    status: int | None = None
    further: int = 0
    held_back: bool = False

    @property
    def called(self) -> str:
        """What people know the page by: its name, or else its title; empty: it has neither."""
        return self.name or self.title


@dataclass(frozen=True, slots=True)
class Changes:
    """The newest changes since the time `since` (UTC seconds), oldest first.

    So many older ones are `left_out`. `id` is that of the database, as it is in a feed.
    """

    id: str
    database: str
    since: float
    left_out: int
    changes: tuple[ListedChange, ...]


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A version of a page, a change of it, or mostly both.

    It was seen at `seen_at` (UTC seconds); `before_at`, `kind` and `status` are those of the change
    (None: none is noted). `version` counts the versions that are kept, from 1; None: this one is
    kept no more, or a page that is gone, or back as it was, brought none; so there is no `bytes`,
    its size, and no `content_type`. `first_copy`: there was nothing before it. The others: see
    `ListedChange`.
    """

    version: int | None
    seen_at: float
    before_at: float | None
    bytes: int | None
    content_type: str | None
    first_copy: bool
    reverted: bool
    title: str
    removed: str | None
    added: str | None
    items: tuple[FoundItem, ...]
    kind: ChangeKind | None = None
    status: int | None = None
    further: int = 0
    held_back: bool = False


@dataclass(frozen=True, slots=True)
class History:
    """The versions and changes of a page, oldest first; so many older ones are `left_out`.

    `versions` are kept. Not `watched`: the page was removed.
    """

    url: str
    watched: bool
    versions: int
    left_out: int
    entries: tuple[HistoryEntry, ...]


@dataclass(frozen=True, slots=True)
class ListedVersion:
    """A version of a page by its number in the history, with its size and title (empty: none)."""

    version: int
    seen_at: float
    bytes: int
    title: str


@dataclass(frozen=True, slots=True)
class VersionDiff:
    """What differs between two versions of a page.

    `gone_at` is when a poll found that the page is gone (UTC seconds); None: it is not.
    """

    url: str
    before: ListedVersion
    after: ListedVersion
    hunks: tuple[Hunk, ...]
    gone_at: float | None = None


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A kept version: its number in the history, and the page that it is of."""

    number: int
    page_id: int
    version: StoredVersion


def since_of(text: str, now: float) -> float:
    """The UTC seconds that an age (30m, 12h, 1d, 2w) or a time in ISO 8601 means at `now`.

    `InputError` for other text.

    >>> since_of("2h", 10_000.0), since_of("1970-01-02", 0.0)
    (2800.0, 86400.0)
    """
    seconds = now - parse_age(text)
    if math.isnan(seconds):
        seconds = parse_time(text)
    if math.isnan(seconds) or no_seconds(seconds):
        raise InputError(
            f"since {text!r}: expected an age such as 30m, 12h, 1d or 2w, or a time such as"
            " 2026-05-01 or 2026-05-01T12:00Z"
        )
    return seconds


def happened(kind: ChangeKind | None, status: int | None) -> str:
    """What happened, in a few words, such as `changed`, `gone (404)` or `back and changed`."""
    said = _HAPPENED[ChangeKind.CHANGED if kind is None else kind]
    return said if status is None else f"{said} ({status})"


_HAPPENED = {
    ChangeKind.CHANGED: "changed",
    ChangeKind.GONE: "gone",
    ChangeKind.BACK: "back",
    ChangeKind.BACK_CHANGED: "back and changed",
}


def change_id(database: UUID, seq: int) -> str:
    """The id of the change with this number: a URN that is the same for ever."""
    return uuid5(database, f"change {seq}").urn


def listed_change(
    store: StoreReader, change: StoredChange, *, compared: bool = True
) -> ListedChange:
    """A change with what differs; not `compared`: only what is noted of it."""
    found = Difference()
    if compared and change.kind.is_of_content and not change.items:
        found = difference_at(store, change.page_id, change.url, change.seen_at)
    return listed_with(store, change, found)


def listed_with(store: StoreReader, change: StoredChange, found: Difference) -> ListedChange:
    """A change with what was found to differ."""
    return ListedChange(
        id=change_id(store.database_id(), change.seq),
        seq=change.seq,
        url=change.url,
        title=(found.title if change.title is None else change.title) or "",
        tags=change.tags,
        seen_at=change.seen_at,
        before_at=change.before_at,
        reverted=change.reverted,
        removed=found.removed,
        added=found.added,
        items=change.items,
        name=change.name,
        read=change.read,
        kind=change.kind,
        status=change.status,
        further=found.further,
        held_back=change.held_back,
    )


def read_changes(
    db: Place,
    *,
    since: float,
    after: int = 0,
    tag: str | None = None,
    limit: int = 100,
    unread: bool = False,
    url: str | None = None,
) -> Changes:
    """The newest changes since a time (UTC seconds), `limit` at most, of pages with the `tag`.

    Pages that were removed count, too. `after`: only those with a larger number. `unread`: only
    what nobody has marked as read. `url`: only of this page; `InputError` if there never was one.
    The database may be split: see `Shards`. `StoreError` if it cannot be read.
    """
    ids: list[str] = []
    found: list[ListedChange] = []
    count = 0
    for place in stores_of(db) if url is None else (store_of(db, url),):
        with Store.open_readonly(place) as store, store.snapshot():
            asked: dict[str, Any] = {
                "after": after,
                "since": since,
                "tags": () if tag is None else (tag,),
                "unread": unread,
                "page_ids": None if url is None else _page_ids(store, db, canonical(url)),
            }
            count += store.count_changes(**asked)[0]
            newest = store.newest_changes(limit, **asked)
            found += [listed_change(store, change) for change in newest]
            ids.append(store.database_id().urn)
    # Numbers are in the order of commits: a poll that looked for noise came to its end later.
    found.sort(key=lambda change: change.seen_at)
    listed = tuple(found[-limit:])
    return Changes(ids[0], str(db), since, count - len(listed), listed)


def read_history(db: Place, url: str, limit: int = 20) -> History:
    """The newest versions and changes of a page, even of a removed one; `limit` at most.

    `InputError` if there never was such a page, `StoreError` if the database cannot be read.
    """
    address = canonical(url)
    with Store.open_readonly(db) as store, store.snapshot():
        versions = _versions(store, db, address)
        changes = {
            (change.page_id, change.seen_at): change
            for page_id in store.page_ids(address)
            for change in store.changes(page_id=page_id)
        }
        kept = {(one.page_id, one.version.seen_at): one for one in versions}
        keys = sorted(changes.keys() | kept.keys(), key=lambda key: (key[1], key[0]))
        shown = keys[-limit:]
        record = store.find_page(address)
        first = {one.page_id: one.version.seen_at for one in reversed(versions)}
        if record is not None and record.first_seen_at is not None:
            first[record.page.id] = record.first_seen_at  # the oldest kept one may be a later one
        return History(
            url=address,
            watched=record is not None,
            versions=len(versions),
            left_out=len(keys) - len(shown),
            entries=tuple(
                _entry(
                    store,
                    address,
                    key,
                    kept.get(key),
                    changes.get(key),
                    is_first=key not in changes and first.get(key[0]) == key[1],
                )
                for key in shown
            ),
        )


class TooLargeError(InputError):
    """Versions are too large to be compared in a moment; the message says so in one line."""


def read_diff(
    db: Place,
    url: str,
    before: int | None = None,
    after: int | None = None,
    *,
    largest: int | None = None,
) -> VersionDiff:
    """What differs between two versions of a page, by their numbers in its history.

    Not told: `after` is the newest one, `before` the one before it. `InputError` if there are no
    such versions, `StoreError` if the database cannot be read. Of many hundred thousand blocks it
    takes half a minute: `TooLargeError` for versions with more bytes than `largest` (None: any).
    """
    address = canonical(url)
    with Store.open_readonly(db) as store, store.snapshot():
        versions = _versions(store, db, address)
        gone_at = _gone_at(store, address)
        if len(versions) < 2:
            remedy = (
                "wait for a change"
                if gone_at is None
                else f"the page has been gone since {moment(gone_at)} (UTC)"
            )
            raise InputError(
                f"{address}: {'one version is' if versions else 'no versions are'} kept, and two"
                f" are needed to compare: {remedy}"
            )
        newer = _numbered(versions, len(versions) if after is None else after, db, address)
        older = _numbered(versions, newer.number - 1 if before is None else before, db, address)
        size = max(older.version.size, newer.version.size)
        if largest is not None and size > largest:
            numbers = (str(older.number), str(newer.number))
            compares = command(db, "diff", address, *numbers)
            raise TooLargeError(
                f"too large to be compared here ({size:,d} bytes): `{compares}` does it"
            )
        record = store.find_page(address)
        one, other = (
            text_of(store, each.version, address, record, patient=True) for each in (older, newer)
        )
    blocks = (
        (one.blocks, other.blocks)
        if one.title == other.title
        else ((one.title, *one.blocks), (other.title, *other.blocks))
    )
    return VersionDiff(
        address,
        _listed(older, one.title),
        _listed(newer, other.title),
        word_diff(*blocks),
        gone_at,
    )


def _gone_at(store: StoreReader, address: str) -> float | None:
    """When the latest page with this URL was found gone; None: it is there.

    What its polls say counts: the change that tells of it may be kept no more, or be of an earlier
    time than one that was stored after it.
    """
    page_id = store.page_ids(address)[-1]
    gone: list[float] = []
    there_at = -math.inf
    for poll in store.recent_outcomes(page_id, KEPT_POLLS):
        if poll.outcome is Outcome.GONE:
            gone.append(poll.polled_at)
        elif poll.outcome in (Outcome.CHANGED, Outcome.UNCHANGED):
            there_at = poll.polled_at
            break
    if not gone:
        return None
    told = (one.seen_at for one in store.changes(page_id=page_id) if one.kind is ChangeKind.GONE)
    return min([gone[-1], *(at for at in told if at > there_at)])


def _page_ids(store: StoreReader, db: Place, address: str) -> list[int]:
    """The pages that ever had this URL, in the order of their times; `InputError` if none had."""
    page_ids = store.page_ids(address)
    if not page_ids:
        raise InputError(
            f"{address} was never watched in {db}: check its spelling, or name another --db"
        )
    return page_ids


def _versions(store: StoreReader, db: Place, address: str) -> list[_Numbered]:
    """The kept versions of all pages that ever had this URL; `InputError` if none had."""
    page_ids = _page_ids(store, db, address)
    found = [(page_id, one) for page_id in page_ids for one in store.versions(page_id)]
    found.sort(key=lambda one: (one[1].seen_at, one[0]))
    return [_Numbered(number, *one) for number, one in enumerate(found, start=1)]


def _numbered(versions: Sequence[_Numbered], number: int, db: Place, address: str) -> _Numbered:
    if not 1 <= number <= len(versions):
        raise InputError(
            f"{address} has no version {number}: the kept ones are 1 to {len(versions)}, as"
            f" `{command(db, 'history', address)}` shows them"
        )
    return versions[number - 1]


def _listed(one: _Numbered, title: str) -> ListedVersion:
    return ListedVersion(one.number, one.version.seen_at, one.version.size, title)


def _entry(
    store: StoreReader,
    address: str,
    key: tuple[int, float],
    kept: _Numbered | None,
    change: StoredChange | None,
    *,
    is_first: bool,
) -> HistoryEntry:
    """What came with a version, with a change, or with both; `is_first`: it is the first copy."""
    page_id, seen_at = key
    version = None if kept is None else kept.version
    found = Difference()
    if change is not None and change.items:
        found = Difference(items=change.items)
    elif version is not None and is_first and version.size <= LARGE:
        found = Difference(text_of(store, version, address, None).title)
    elif change is None or change.kind.is_of_content:
        found = difference_at(store, page_id, address, seen_at)
    return HistoryEntry(
        version=None if kept is None else kept.number,
        seen_at=seen_at,
        before_at=None if change is None else change.before_at,
        bytes=None if version is None else version.size,
        content_type=None if version is None else version.content_type,
        first_copy=is_first,
        reverted=change is not None and change.reverted,
        title=(None if change is None else change.title) or found.title,
        removed=found.removed,
        added=found.added,
        items=found.items,
        kind=None if change is None else change.kind,
        status=None if change is None else change.status,
        further=found.further,
        held_back=change is not None and change.held_back,
    )
