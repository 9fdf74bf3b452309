"""Operations on changes: what changed, what was read of it, and signals that pages have changed."""

import time
from dataclasses import dataclass
from typing import Annotated

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.api.addresses import addresses_told
from pollwise.dashboard.api.fields import MOST_NUMBER, Told
from pollwise.dashboard.api.operations import Asked, Nothing, Operation
from pollwise.dashboard.api.refusals import About, RefusedError, conflict, not_found
from pollwise.errors import InputError
from pollwise.insight.changes import Changes, read_changes, since_of
from pollwise.live.requests import Effect, MarkRead
from pollwise.settings import is_collection
from pollwise.store import Store
from pollwise.web.urls import canonical

__all__ = ["change_operations"]

_EVER = "1970-01-01"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesAsked:
    """Which changes to list."""

    since: Annotated[
        str | None,
        Told("an age such as 12h or 1d, or a time such as 2026-05-01; else 1d", most=100),
    ] = None
    after: Annotated[
        int | None,
        Told(
            "only those with a larger number, such as the largest so far, however old",
            least=0,
            most=MOST_NUMBER,
        ),
    ] = None
    tag: Annotated[str | None, Told("only of pages with this tag", most=1000)] = None
    url: Annotated[
        str | None, Told("only of this page, which is watched or was, however old", most=10_000)
    ] = None
    unread: Annotated[bool, Told("only those that nobody marked as read, however old")] = False
    limit: Annotated[int, Told("the newest ones at most", least=1, most=200)] = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMarks:
    """Changes that were read, or are to be read again."""

    seqs: Annotated[tuple[int, ...], Told("the numbers of changes", most=10_000)] = ()
    up_to: Annotated[
        int, Told("all changes up to this number were read, too", least=0, most=MOST_NUMBER)
    ] = 0
    read: Annotated[bool, Told("false: they are to be read again")] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesToSignal:
    """Pages that have changed, as far as somebody knows."""

    urls: Annotated[tuple[str, ...], Told("their URLs", least=1, most=1000, longest=10_000)]


@dataclass(frozen=True, slots=True)
class Signalled:
    """How many pages were signalled, and the URLs of those that are not watched."""

    signalled: int
    unknown: tuple[str, ...]


def change_operations(answers: Answers) -> list[Operation]:
    """The changes, their marks, and signals."""

    async def listed(asked: Asked) -> Changes:
        query: ChangesAsked = asked.query
        is_old = query.unread or query.after is not None or query.url is not None
        with About("since"):
            since = since_of(query.since or (_EVER if is_old else "1d"), time.time())
        with About("url"):
            address = None if query.url is None else canonical(query.url)

        def changes(store: Store) -> Changes:
            if address is not None and not store.page_ids(address):
                raise not_found(f"{address} was never watched", "url")
            return read_changes(
                answers.db,
                since=since,
                after=query.after or 0,
                tag=query.tag,
                limit=query.limit,
                unread=query.unread,
                url=address,
            )

        return await answers.read(changes)

    async def mark(asked: Asked) -> Effect:
        marks: ReadMarks = asked.body
        if not (marks.seqs or marks.up_to):
            raise RefusedError("no change is named: tell seqs or up_to", field="seqs")
        if marks.up_to and not marks.read:
            raise RefusedError("up_to goes with read=true: name changes in seqs", field="up_to")
        await _require_watch(answers)
        latest = await answers.read(lambda store: store.latest_change())
        if (marks.up_to or 0) > latest:
            raise not_found(f"up_to: the latest change is {latest}", "up_to")
        return await answers.ask(MarkRead(marks.seqs, marks.up_to, marks.read))

    async def signal(asked: Asked) -> Signalled:
        urls = addresses_told(asked.body.urls)
        await _require_watch(answers)

        def unknown(store: Store) -> tuple[str, ...]:
            return tuple(url for url in urls if store.find_page(url) is None)

        strange = await answers.read(unknown)
        known = tuple(url for url in urls if url not in set(strange))
        if not known:
            raise not_found("no such page is watched", "urls")
        try:
            await answers.signal(known)
        except InputError as error:  # removed just now
            raise conflict(str(error), "urls") from error
        return Signalled(len(known), strange)

    return [
        Operation(
            *("GET", "/api/changes", "What changed lately.", Changes, listed, ChangesAsked),
            refusals=(404,),
        ),
        Operation(
            *("POST", "/api/changes/read", "Mark changes as read, or not.", Effect, mark),
            *(Nothing, ReadMarks),
            refusals=(404, 409),
        ),
        Operation(
            *("POST", "/api/signals", "Say that pages have changed.", Signalled, signal),
            *(Nothing, PagesToSignal),
            status=202,
            refusals=(404, 409),
        ),
    ]


async def _require_watch(answers: Answers) -> None:
    if await answers.read(is_collection):
        raise conflict("the pages are a collection, which is not watched")
