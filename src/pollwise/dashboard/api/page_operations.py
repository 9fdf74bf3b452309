"""Operations on pages: to list, add, change and remove them, and what is known of one."""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, TypeVar

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.api.addresses import addresses_told
from pollwise.dashboard.api.fields import MOST_NUMBER, Told
from pollwise.dashboard.api.operations import Asked, Nothing, Operation
from pollwise.dashboard.api.refusals import About, RefusedError, conflict, not_found
from pollwise.insight.changes import History, TooLargeError, VersionDiff, read_history
from pollwise.insight.collection import CollectedExplanation, explain_page
from pollwise.insight.explanation import Explanation, explain
from pollwise.insight.noise import set_masks
from pollwise.insight.page_list import PageState
from pollwise.insight.page_table import Column, PageRows
from pollwise.insight.snapshot import Snapshot
from pollwise.live.requests import (
    AddPages,
    ChangePages,
    Effect,
    MaskPart,
    RemovePages,
    UnmaskPart,
)
from pollwise.settings import CollectSettings
from pollwise.store import Store
from pollwise.store.records import NewPage, PageRecord
from pollwise.web.crawl_urls import crawl_url
from pollwise.web.urls import canonical, scope_of
from pollwise.web.wishes import LEAST, LONGEST_NAME, MOST, read_wishes

__all__ = ["page_operations"]

T = TypeVar("T")

_MOST_ROWS = 1000
_MOST_URLS = 1000


Url = Annotated[str, Told("the URL of the page", most=10_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesAsked:
    """Which pages to list, and how."""

    filter: Annotated[
        str | None, Told("only with this in URL, name, title or state", most=1000)
    ] = None
    tag: Annotated[str | None, Told("only those with this tag", most=1000)] = None
    state: Annotated[PageState | None, Told("only those that stand so")] = None
    host: Annotated[str | None, Told("only those of this host", most=1000)] = None
    sort: Annotated[Column, Told("by what they are sorted")] = Column.url
    descending: Annotated[bool | None, Told("the largest first; else as is usual")] = None
    offset: Annotated[int, Told("rows to leave out", least=0, most=MOST_NUMBER)] = 0
    limit: Annotated[int, Told("rows at most", least=1, most=_MOST_ROWS)] = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class PageWishes:
    """What is wanted of pages; what is not told stays, an empty text or list takes a wish back."""

    weight: Annotated[float | None, Told("what a change is worth", least=LEAST, most=MOST)] = None
    cost: Annotated[float | None, Told("what a poll costs", least=LEAST, most=MOST)] = None
    at_least: Annotated[str | None, Told("polls at least, such as 1/day", most=100)] = None
    at_most: Annotated[str | None, Told("polls at most, such as 1/minute", most=100)] = None
    tags: Annotated[tuple[str, ...] | None, Told("words to group by", most=100, longest=200)] = None
    select: Annotated[tuple[str, ...] | None, Told("selectors of what counts", most=100)] = None
    ignore: Annotated[tuple[str, ...] | None, Told("selectors of what does not", most=100)] = None
    name: Annotated[str | None, Told("what to call the page", most=LONGEST_NAME)] = None
    render: Annotated[bool | None, Told("whether a browser runs its scripts")] = None
    notify_when: Annotated[
        tuple[str, ...] | None, Told("conditions of notices, such as falls by 5 %", most=100)
    ] = None
    paused: Annotated[bool | None, Told("whether it is not polled")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesToAdd(PageWishes):
    """Pages to watch, and what is wanted of them."""

    urls: Annotated[tuple[str, ...], Told("their URLs", least=1, most=_MOST_URLS, longest=10_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ByUrl:
    """Which page, by its URL."""

    url: Url


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryAsked:
    """How much of a history."""

    limit: Annotated[int, Told("the newest entries at most", least=1, most=200)] = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryByUrl(HistoryAsked):
    """How much of the history of which page."""

    url: Url


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionsAsked:
    """Which versions to compare."""

    before: Annotated[
        int | None, Told("the number of a version; else the one before", least=1, most=MOST_NUMBER)
    ] = None
    after: Annotated[
        int | None, Told("the number of a version; else the newest", least=1, most=MOST_NUMBER)
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionsByUrl(VersionsAsked):
    """Which versions of which page to compare."""

    url: Url


@dataclass(frozen=True, slots=True, kw_only=True)
class PartToMask:
    """A part of the latest copy of a page that is to count for no change."""

    text: Annotated[str, Told("its text, as a diff shows it", least=1, most=100_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartAsked:
    """Which masked part is meant."""

    text: Annotated[
        str | None, Told("refused unless the part had this text when found", most=1000)
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartByUrl(PartAsked):
    """Which masked part of which page is meant."""

    url: Url


def page_operations(answers: Answers) -> list[Operation]:
    """The list of pages, and all that is done with one."""
    pages = _Pages(answers)
    one = "/api/pages/{page}", "by its number"
    other = "/api/page", "by its URL"
    return [
        Operation("GET", "/api/pages", "List pages.", PageRows, pages.listed, PagesAsked),
        Operation(
            *("POST", "/api/pages", "Watch pages; of known ones what is told holds.", Effect),
            *(pages.add, Nothing, PagesToAdd),
            refusals=(409,),
        ),
        *_of_page(pages, *one, (Nothing, HistoryAsked, VersionsAsked, PartAsked)),
        *_of_page(pages, *other, (ByUrl, HistoryByUrl, VersionsByUrl, PartByUrl)),
    ]


def _of_page(
    pages: "_Pages", path: str, how: str, queries: tuple[type, type, type, type]
) -> list[Operation]:
    by, history, versions, part = queries
    explanation = Explanation | CollectedExplanation
    masks = f"{path}/masks"
    refusals = (404, 409)
    return [
        Operation(
            *("GET", path, f"Explain a page, {how}.", explanation, pages.explained, by),
            refusals=refusals,
        ),
        Operation(
            *("PATCH", path, f"Change what is wanted of a page, {how}.", Effect, pages.change, by),
            *(PageWishes,),
            refusals=refusals,
        ),
        Operation(
            *("DELETE", path, f"Watch a page no longer, {how}.", Effect, pages.remove, by),
            refusals=refusals,
        ),
        Operation(
            *("GET", f"{path}/history", f"The versions and changes of a page, {how}.", History),
            *(pages.history, history),
            refusals=(404,),
        ),
        Operation(
            *("GET", f"{path}/diff", f"Compare two versions of a page, {how}.", VersionDiff),
            *(pages.diff, versions),
            refusals=refusals,
        ),
        Operation(
            *("POST", masks, f"Mask a part of a page, {how}.", Effect, pages.mask, by, PartToMask),
            refusals=refusals,
        ),
        Operation(
            *("DELETE", masks, f"Let all masked parts of a page count, {how}.", Effect),
            *(pages.unmask, by),
            refusals=refusals,
        ),
        Operation(
            *("DELETE", f"{masks}/{{part}}", f"Let a masked part of a page count, {how}.", Effect),
            *(pages.unmask, part),
            refusals=refusals,
        ),
    ]


class _Pages:
    """Carries out the operations on pages."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    async def listed(self, asked: Asked) -> PageRows:
        query: PagesAsked = asked.query
        return await self._answers.think(
            lambda snapshot: snapshot.table.rows(
                tag=query.tag,
                state=query.state,
                host=query.host,
                text=query.filter,
                order=query.sort,
                descending=query.descending,
                offset=query.offset,
                limit=query.limit,
            )
        )

    async def add(self, asked: Asked) -> Effect:
        body: PagesToAdd = asked.body
        wishes = _wishes(body)
        addresses = addresses_told(body.urls)
        if body.name and len(addresses) > 1:
            raise RefusedError("a name is for one page: add them one by one", field="name")
        await self._require_watch()
        pages = (_page(address, wishes) for address in addresses)
        return await self._answers.ask(
            AddPages(tuple(replace(page, listed_in="") for page in pages))
        )

    async def explained(self, asked: Asked) -> Explanation | CollectedExplanation:
        snapshot = await self._answers.snapshot()
        address = self._named(asked, snapshot)

        def read(store: Store) -> Explanation | CollectedExplanation:
            record = _record(store, address)
            if isinstance(snapshot.settings, CollectSettings):
                return explain_page(store, snapshot.database, snapshot.records, address)
            if snapshot.known is None or record.page.id not in snapshot.known.by_id:
                raise conflict("nothing is known of this page yet: ask again in some seconds")
            return explain(snapshot.known, store, address)

        return await self._answers.read(read)

    async def change(self, asked: Asked) -> Effect:
        wishes = _wishes(asked.body)
        if not any(value is not None for value in wishes.values()):
            raise RefusedError("nothing to change: tell a wish, such as weight")
        record = await self._watched(asked)
        return await self._answers.ask(ChangePages((_page(record.page.url, wishes),)))

    async def remove(self, asked: Asked) -> Effect:
        record = await self._watched(asked)
        return await self._answers.ask(RemovePages((record.page.url,)))

    async def history(self, asked: Asked) -> History:
        address = self._named(asked, await self._answers.snapshot())

        def read(store: Store) -> History:
            _require_ever(store, address)
            return read_history(self._answers.db, address, asked.query.limit)

        return await self._answers.read(read)

    async def diff(self, asked: Asked) -> VersionDiff:
        query: VersionsAsked = asked.query
        address = self._named(asked, await self._answers.snapshot())

        def check(store: Store) -> None:
            _require_ever(store, address)
            kept = sum(len(store.versions(page_id)) for page_id in store.page_ids(address))
            if kept < 2:
                raise conflict(f"{kept} version{'' if kept == 1 else 's'} kept: two are compared")
            for name in ("after", "before"):
                if not 1 <= (getattr(query, name) or 1) <= kept:
                    raise not_found(f"{name}: the kept versions are 1 to {kept}", name)
            if query.after == 1 and query.before is None:
                raise not_found("there is no version before the first: tell before", "before")

        await self._answers.read(check)
        try:
            return await self._answers.compare(address, query.before, query.after)
        except TooLargeError as error:
            raise conflict(str(error)) from error

    async def mask(self, asked: Asked) -> Effect:
        record = await self._watched(asked)
        with About("text"):
            return await self._answers.ask(MaskPart(record.page.url, asked.body.text))

    async def unmask(self, asked: Asked) -> Effect:
        record = await self._watched(asked)
        masks, number = set_masks(record.memory), asked.path.get("part")
        text = getattr(asked.query, "text", None)
        if not masks or (number is not None and not 1 <= number <= len(masks)):
            raise not_found(f"{len(masks)} parts of this page are masked")
        if number is not None and text is not None and masks[number - 1].sample != text:
            raise conflict("another part has this number by now: read the page again", "text")
        return await self._answers.ask(UnmaskPart(record.page.url, number, text))

    async def _require_watch(self) -> Snapshot:
        snapshot = await self._answers.snapshot()
        if isinstance(snapshot.settings, CollectSettings):
            raise conflict("the pages of a collection are not changed one by one")
        return snapshot

    async def _watched(self, asked: Asked) -> PageRecord:
        """The page of a watch that is meant."""
        address = self._named(asked, await self._require_watch())
        return await self._answers.read(lambda store: _record(store, address))

    def _named(self, asked: Asked, snapshot: Snapshot) -> str:
        """The canonical URL of the page that is meant."""
        number = asked.path.get("page")
        if number is None:
            is_collection = isinstance(snapshot.settings, CollectSettings)
            return _address(asked.query.url, "url", crawl_url if is_collection else canonical)
        records = snapshot.records
        place = bisect_left(records, number, key=lambda record: record.page.id)
        if place == len(records) or records[place].page.id != number:
            raise not_found(f"there is no page with the number {number}")
        return records[place].page.url


def _record(store: Store, address: str) -> PageRecord:
    record = store.find_page(address)
    if record is None:
        raise not_found(f"{address} is not watched", "url")
    return record


def _require_ever(store: Store, address: str) -> None:
    if not store.page_ids(address):
        raise not_found(f"{address} was never watched", "url")


def _address(url: str, field: str, read: Callable[[str], str]) -> str:
    with About(field):
        return read(url)


def _page(address: str, wishes: Mapping[str, Any]) -> NewPage:
    return NewPage(address, scope_of(address), **wishes)


def _wishes(body: PageWishes) -> dict[str, Any]:
    """What is wanted, as fields of a `NewPage`; each is read alone first, to name it."""
    told = {name: value for name, value in asdict(body).items() if name != "urls"}
    for name, value in told.items():
        with About(name):
            read_wishes(**{name: value})
    with About("at_least"):
        return read_wishes(**told)
