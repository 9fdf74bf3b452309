"""From the rows of the tables to values, and back."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple
from operator import attrgetter
from sys import intern
from typing import Any, TypeVar

from pollwise.checks import is_finite, read_json
from pollwise.errors import InputError
from pollwise.kinds import kind_of, kinds_of
from pollwise.number_texts import pack_number, unpack_number
from pollwise.page_columns import SharedTerms
from pollwise.store.records import (
    ChangeKind,
    FoundItem,
    NewPage,
    PageOutline,
    PageRecord,
    PollResult,
    Postponed,
    StoredChange,
    StoredVersion,
    usual_cost,
)
from pollwise.store.tables.connection import Columns
from pollwise.store.tables.noise import pack_noise, unpack_noise
from pollwise.types import Observation, Outcome, Page
from pollwise.watched_pages import PackedColumns, Texts, WatchedPart, memory_of

__all__ = [
    "Row",
    "is_only_brought",
    "is_told_anew",
    "new_page",
    "observation",
    "page_outline",
    "page_record",
    "page_values",
    "poll_values",
    "stored_change",
    "stored_version",
    "told",
    "told_values",
    "wants_nothing",
    "watched_part",
    "watched_wishes",
]

Row = tuple[Any, ...]
T = TypeVar("T")

_NO_NOISE = unpack_noise("")
_OUTCOMES: dict[int | None, Outcome | None] = {None: None, **{int(one): one for one in Outcome}}


def page_record(row: Row) -> PageRecord:
    """From the columns of the query `live_pages`; the page's site is its scope, its kind by URL.

    `ValueError` if its noise or its number is damaged. Of a million pages most columns say nothing:
    those are passed by, and fields go by their places, which takes a quarter less time.
    """
    page_id, url, scope, weight, cost, seen_at = row[:6]
    etag, last_modified, body_hash, text_hash, earlier = row[6:11]
    added_at, polled_at, outcome, polls, changes, failures, error = row[11:18]
    changed_at, last_cost, depth, relevance, title, duplicate_of = row[18:24]
    postponed_at, postponed_why, first_seen_at, longest, shortest, noise = row[24:30]
    paused, tags, selected, ignored, source, items, listed_in, name, rendered = row[30:39]
    gone, notify_when, number = row[39:]
    known_noise = unpack_noise(noise) if noise else _NO_NOISE
    scope = intern(scope)
    page = Page(
        page_id,
        url,
        scope,
        weight,
        cost,
        seen_at,
        scope,
        intern(kind_of(url)),
        longest,
        shortest,
        known_noise.changes_in_a_row,
        bool(paused),
        tuple(tags.split()) if tags else (),
        tuple(selected.splitlines()) if selected else (),
        tuple(ignored.splitlines()) if ignored else (),
        name,
        bool(rendered),
        tuple(notify_when.splitlines()) if notify_when else (),
    )
    memory = memory_of(
        told(etag), told(last_modified), body_hash, text_hash, earlier, items, number, known_noise
    )
    return PageRecord(
        page,
        memory,
        added_at,
        polled_at,
        _OUTCOMES[outcome],
        polls,
        changes,
        failures,
        told(error),
        changed_at,
        last_cost,
        depth,
        relevance,
        told(title),
        duplicate_of,
        None if postponed_at is None else Postponed(postponed_at, told(postponed_why)),
        first_seen_at,
        source,
        listed_in,
        bool(gone),
    )


def watched_wishes(parts: Iterable[Sequence[Row]]) -> dict[int, Row]:
    """From rows of the columns of the query `watched_wishes`, the wishes by page id.

    Equal ones are one object, as a tag may be on a million pages.
    """
    known: dict[Row, Row] = {}
    return {row[0]: known.setdefault(row[1:], row[1:]) for rows in parts for row in rows}


def watched_part(parts: Iterable[Columns], wishes: Mapping[int, Row]) -> WatchedPart | None:
    """From the columns of the query `watched_pages`, and `watched_wishes`; None: no rows.

    `ValueError` if the noise or the number of a page is damaged. By columns, as a million rows are
    to be read within seconds.
    """
    numbers_of_terms = _Numbers[tuple[str, Row | None]]()
    numbers_of_kinds = _Numbers[str]()
    columns = []
    for part in parts:
        ids, urls, weights, seen_at, outcomes, gone, names, *others = part
        etags, last_modified, body_hashes, text_hashes, earlier, items, *others = others
        numbers, noise, scopes = others
        for number in filter(None, numbers):
            unpack_number(number)
        packed = PackedColumns.of(
            ids=ids,
            terms=numbers_of_terms.of(zip(scopes, map(wishes.get, ids), strict=True)),
            weights=weights,
            seen_at=seen_at,
            kinds=numbers_of_kinds.of(kinds_of(urls)),
            outcomes=outcomes,
            gone=gone,
            texts=Texts(
                urls,
                names,
                _all_told(etags),
                _all_told(last_modified),
                body_hashes,
                text_hashes,
                earlier,
                items,
                numbers,
            ),
            noise={
                page_id: unpack_noise(text)
                for page_id, text in zip(ids, noise, strict=True)
                if text
            },
        )
        columns.append(packed)
    if not columns:
        return None
    terms = [_shared_terms(*own) for own in numbers_of_terms]
    return WatchedPart(columns, terms, [*numbers_of_kinds])


class _Numbers(dict[T, int]):
    """The numbers of values; new ones get the next."""

    def __missing__(self, value: T) -> int:
        number = self[value] = len(self)
        return number

    def of(self, values: Iterable[T]) -> list[int]:
        """Those of some values."""
        return [*map(self.__getitem__, values)]


def _shared_terms(scope: str, wishes: Row | None) -> SharedTerms:
    """The page's site is its scope."""
    if wishes is None:
        return SharedTerms(scope, scope)
    cost, longest, shortest, paused, tags, selected, ignored, rendered, notify_when = wishes
    return SharedTerms(
        scope,
        scope,
        cost,
        longest,
        shortest,
        bool(paused),
        tuple(tags.split()),
        tuple(selected.splitlines()),
        tuple(ignored.splitlines()),
        bool(rendered),
        tuple(notify_when.splitlines()),
    )


def page_outline(row: Row) -> PageOutline:
    """From the columns of the query `page_outlines`."""
    page_id, url, name, title, tags, paused, outcome, seen_at = row
    return PageOutline(
        page_id,
        url,
        name,
        told(title),
        tuple(tags.split()),
        bool(paused),
        _OUTCOMES[outcome],
        seen_at,
    )


def new_page(page_id: int, page: NewPage) -> Page:
    """The page that the query `insert_page` makes of one that was not watched before."""
    scope = intern(page.scope)
    return Page(
        page_id,
        page.url,
        scope,
        1.0 if page.weight is None else page.weight,
        usual_cost(bool(page.render)) if page.cost is None else page.cost,
        site=scope,
        kind=intern(kind_of(page.url)),
        longest_interval=page.longest_interval or None,
        shortest_interval=page.shortest_interval or None,
        paused=bool(page.paused),
        tags=page.tags or (),
        select=page.select or (),
        ignore=page.ignore or (),
        name=page.name or "",
        render=bool(page.render),
        notify_when=page.notify_when or (),
    )


def page_values(
    page: NewPage | Page, added_at: float, known: Page | None = None
) -> dict[str, object]:
    """The parameters of the query `insert_page`, for depth 0 and without the id, or of
    `update_page` for a `known` page.

    `InputError` if weight or cost is not finite.
    """
    told = _wishes(page, None if known is None else (known.cost, known.render))
    for name in ("weight", "cost"):
        value = told[name]
        if value is not None and not math.isfinite(value):
            raise InputError(f"{page.url}: {name} {value} must be finite")
    return {
        "url": page.url,
        "scope": page.scope,
        **told,
        "listed_in": page.listed_in if isinstance(page, NewPage) else None,
        "source": page.source if isinstance(page, NewPage) else None,
        "added_at": added_at,
        "depth": 0,
    }


_wishes_for = attrgetter(
    *("weight", "cost", "longest_interval", "shortest_interval", "paused"),
    *("tags", "select", "ignore", "name", "render", "notify_when"),
)
_NO_WISHES = _wishes_for(Page(-1))
_NOTHING_TOLD = _wishes_for(NewPage(""))


def wants_nothing(page: Page) -> bool:
    """Whether nobody wants anything special of a page, as of one that a crawl has found."""
    wishes: tuple[object, ...] = _wishes_for(page)
    return wishes == _NO_WISHES


def is_only_brought(page: NewPage) -> bool:
    """Whether a list brings a page and says nothing of it: if it is watched, all stays as it was.

    That is so of most lines of long lists.
    """
    wishes: tuple[object, ...] = _wishes_for(page)
    return wishes == _NOTHING_TOLD and page.listed_in != ""


def is_told_anew(page: NewPage, known: Row | None) -> bool:
    """Whether adding a page would add or change a row, `known` from the query `wishes_by_url`."""
    if known is None:
        return True
    _, scope, listed_in, weight, cost, *others, rendered, notify_when = known
    if page.scope != scope or (page.listed_in == "" and listed_in):
        return True
    told = _wishes(page, (cost, rendered)).values()
    kept = (weight, cost, *others, rendered, notify_when)
    # An interval of 0 takes back what NULL says there is not.
    return any(
        wanted is not None and (wanted or None) != (had or None)
        for wanted, had in zip(told, kept, strict=True)
    )


def _wishes(page: NewPage | Page, known: tuple[float, bool] | None) -> dict[str, Any]:
    """What is wanted of a page, by column, in the order of `wishes_by_url`; None: not told.

    `known`: the cost of a page that is watched already, and whether it is rendered.
    """
    return {
        "weight": page.weight,
        "cost": _cost(page, known),
        "longest_interval": page.longest_interval,
        "shortest_interval": page.shortest_interval,
        "paused": page.paused,
        "tags": _joined(" ", page.tags),
        "selected": _joined("\n", page.select),
        "ignored": _joined("\n", page.ignore),
        "name": page.name,
        "rendered": page.render,
        "notify_when": _joined("\n", page.notify_when),
    }


def _cost(page: NewPage | Page, known: tuple[float, bool] | None) -> float | None:
    """The cost that a page has from now on; None: it stays as it was.

    Where nobody chose one, it follows from whether the page is rendered.
    """
    if page.cost is not None or page.render is None:
        return page.cost
    if known is not None and known[0] != usual_cost(known[1]):
        return None
    return usual_cost(page.render)


def _joined(between: str, texts: Sequence[str] | None) -> str | None:
    return None if texts is None else between.join(texts)


def observation(row: Row) -> Observation:
    """From the columns of the query `recent_polls`."""
    page_id, polled_at, outcome, last_changed_at, n_items, cost, reverted = row
    return Observation(
        page_id,
        polled_at,
        Outcome(outcome),
        last_changed_at,
        n_items,
        cost,
        reverted=bool(reverted),
    )


def stored_version(row: Row) -> StoredVersion:
    """From the columns of the query `versions`."""
    seen_at, content_type, body_hash, size = row
    return StoredVersion(seen_at, told(content_type), body_hash, size)


def stored_change(row: Row) -> StoredChange:
    """From the columns of the query `changes_after`; `ValueError` if its items are damaged."""
    seq, page_id, url, seen_at, before_at, reverted, title, items, *others = row
    tags, name, read, kind, status, held_back = others
    return StoredChange(
        seq,
        page_id,
        url,
        seen_at,
        before_at,
        bool(reverted),
        told(title),
        _found_items(items),
        tuple(tags.split()),
        name,
        bool(read),
        ChangeKind(kind),
        status,
        bool(held_back),
    )


def _found_items(text: str) -> tuple[FoundItem, ...]:
    if not text:
        return ()
    try:
        return tuple(_found_item(*item) for item in read_json(text))
    except TypeError as error:
        raise ValueError(f"no items of a feed: {text[:40]!r}") from error


def _found_item(
    key: object, title: object, url: object, published_at: object, held_back: object = False
) -> FoundItem:
    if not (isinstance(key, str) and isinstance(title, str) and isinstance(url, str)):
        raise TypeError("no texts of an item")
    if published_at is not None and not is_finite(published_at):
        raise TypeError("no time of an item")
    return FoundItem(key, title, url, published_at, bool(held_back))


_TOLD = (
    "page_id", "polled_at", "outcome", "last_changed_at", "n_items", "cost", "reverted",
    "etag", "last_modified", "body_hash", "text_hash", "earlier_hashes", "noise", "items",
    "title", "source",
)  # fmt: skip


def told_values(poll: PollResult, storable: Callable[[str | None], object]) -> tuple[object, ...]:
    """The columns of the table `told_polls`, with texts from the web as `storable`."""
    seen, memory = poll.observation, poll.memory
    return (
        seen.page_id,
        seen.polled_at,
        int(seen.outcome),
        seen.last_changed_at,
        seen.n_items,
        seen.cost,
        seen.reverted,
        storable(memory.etag),
        storable(memory.last_modified),
        memory.body_hash,
        memory.text_hash,
        " ".join(memory.earlier_hashes),
        pack_noise(memory.noise),
        None if poll.same_items else " ".join(memory.items),
        storable(poll.title),
        poll.source,
    )


def poll_values(poll: PollResult, storable: Callable[[str | None], object]) -> dict[str, object]:
    """The parameters of the queries that keep a poll, with texts from the web as `storable`."""
    outcome = poll.observation.outcome
    return {
        **dict(zip(_TOLD, told_values(poll, storable), strict=True)),
        "changed": outcome is Outcome.CHANGED,
        "unchanged": outcome is Outcome.UNCHANGED,
        "seen": outcome in (Outcome.CHANGED, Outcome.UNCHANGED),
        "gone": outcome is Outcome.GONE,
        "failed": outcome is Outcome.FAILED,
        "held_back": poll.held_back,
        "told_number": pack_number(poll.memory.told_number),
        "error": storable(poll.error),
        "found_items": json.dumps([astuple(item) for item in poll.items]) if poll.items else "",
    }


def _all_told(values: Sequence[Any]) -> Sequence[Any]:
    """`told` of each: hardly ever are there any bytes."""
    return [*map(told, values)] if bytes in set(map(type, values)) else values


def told(value: Any) -> Any:
    """Text from the web, of which a database may hold the bytes: see `Writer.storable`."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value
