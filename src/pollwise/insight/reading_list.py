"""The changes to be read, newest first, with all that differs in each."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from pollwise.insight.changes import ListedChange, listed_with
from pollwise.insight.difference import Difference, difference_of_texts, text_of
from pollwise.insight.word_diff import Hunk, word_diff
from pollwise.sources.reading import LARGE
from pollwise.store.base import StoreReader
from pollwise.store.records import PageRecord, StoredChange, StoredVersion

__all__ = ["ReadingEntry", "ReadingList", "reading_list"]

_LOOKED_AT = 20_000
"""Changes that are looked at for one list; where few fit, the rest is left to the next one."""
_COMPARED = 65_536
"""Bytes of the two versions up to which all that differs is worked out."""
_PATIENCE = 0.2
"""Seconds of comparing, after which of the other changes only what came and went is told."""


@dataclass(frozen=True, slots=True)
class ReadingEntry:
    """A change, and all that differs by it (`hunks`).

    `page_id` is the page that it is of, which is `watched` still or not. `version` is the number of
    the version that it brought, as in the history of the page; None: that is not kept. `hunks` are
    None where that is so of the one before, where only the title or items of a feed differ, and
    where working it out would take long.
    """

    change: ListedChange
    page_id: int
    watched: bool
    version: int | None
    hunks: tuple[Hunk, ...] | None


@dataclass(frozen=True, slots=True)
class ReadingList:
    """Changes, newest first. `older`: ask for those before this number for more; None: no more."""

    results: tuple[ReadingEntry, ...]
    older: int | None


def reading_list(
    store: StoreReader,
    *,
    before: int | None = None,
    tag: str | None = None,
    url: str | None = None,
    unread: bool = False,
    limit: int = 20,
) -> ReadingList:
    """At most `limit` changes with numbers below `before`, of pages with tag and URL (None: any).

    `unread`: only those that nobody has marked as read. Where few of many fit, it may have fewer
    than there are, or none, and `older` goes on.
    """
    end = store.latest_change() + 1 if before is None else before
    begin = max(end - _LOOKED_AT, 1) if url is None else 1
    found = store.newest_changes(
        limit + 1,  # one more tells whether there are others
        after=begin - 1,
        before=end,
        tags=() if tag is None else (tag,),
        unread=unread,
        page_ids=None if url is None else store.page_ids(url),
    )[::-1]
    has_more = len(found) > limit
    found = found[:limit]
    older = found[-1].seq if has_more else begin if begin > 1 else None
    give_up_at = time.monotonic() + _PATIENCE
    return ReadingList(tuple(_entry(store, change, give_up_at) for change in found), older)


def _entry(store: StoreReader, change: StoredChange, give_up_at: float) -> ReadingEntry:
    """A change with what differs, as far as that is quick."""
    record = store.find_page(change.url)
    versions = [one for one in store.versions(change.page_id) if one.seen_at <= change.seen_at][-2:]
    is_kept = bool(versions) and versions[-1].seen_at == change.seen_at
    found, hunks = Difference(), None
    if is_kept and len(versions) == 2 and not change.items:
        found, hunks = _compared(store, versions, change.url, record, give_up_at)
    return ReadingEntry(
        listed_with(store, change, found),
        change.page_id,
        record is not None and record.page.id == change.page_id,
        _number(store, change, versions[-1]) if is_kept else None,
        hunks,
    )


def _compared(
    store: StoreReader,
    versions: Sequence[StoredVersion],
    url: str,
    record: PageRecord | None,
    give_up_at: float,
) -> tuple[Difference, tuple[Hunk, ...] | None]:
    if any(one.size > LARGE for one in versions):
        return Difference(), None
    before, after = (text_of(store, one, url, record) for one in versions)
    found = difference_of_texts(before, after)
    is_quick = sum(one.size for one in versions) <= _COMPARED and time.monotonic() < give_up_at
    if before.blocks == after.blocks or not is_quick:
        return found, None
    return found, word_diff(before.blocks, after.blocks)


def _number(store: StoreReader, change: StoredChange, version: StoredVersion) -> int:
    """The number of a version in the history of the URL, which may be that of several pages."""
    key = version.seen_at, change.page_id
    return sum(
        (one.seen_at, page_id) <= key
        for page_id in store.page_ids(change.url)
        for one in store.versions(page_id)
    )
