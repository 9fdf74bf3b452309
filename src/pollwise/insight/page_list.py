"""What `pollwise list` tells: the pages of a database, which may be at work meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pollwise.errors import InputError
from pollwise.insight.shards import stores_of
from pollwise.store import Place, Store
from pollwise.store.place import command
from pollwise.store.records import PageOutline, PageRecord
from pollwise.types import Outcome
from pollwise.units import DAY

__all__ = [
    "ListedPage",
    "Order",
    "PageList",
    "PageState",
    "listed_page",
    "page_state",
    "read_page_list",
    "searched",
    "sought",
    "tagged",
]


class PageState(StrEnum):
    """How a page stands."""

    watched = "watched"
    paused = "paused"
    new = "new"
    """It waits for its first copy."""
    failing = "failing"
    gone = "gone"


class Order(StrEnum):
    """By what pages are sorted: by URL, or what is latest, most or most often first."""

    url = "url"
    changed = "changed"
    polled = "polled"
    added = "added"
    changes = "changes"
    rate = "rate"
    weight = "weight"


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page that is watched.

    Times are UTC seconds; None: not yet. `changes_per_day` are the changes that were found by the
    days since the first copy; None: there are no two polls that found the page. `listed_in` is the
    list that the page follows; None: it was named otherwise. `name` is what somebody calls the
    page (empty: nobody does), `title` its own. `render` and `notify_when`: see `Page`.
    """

    url: str
    title: str | None
    name: str
    state: PageState
    tags: tuple[str, ...]
    weight: float
    polls: int
    changes: int
    changes_per_day: float | None
    changed_at: float | None
    polled_at: float | None
    added_at: float
    error: str | None
    render: bool
    notify_when: tuple[str, ...]
    listed_in: str | None


@dataclass(frozen=True, slots=True)
class PageList:
    """The pages that were asked for, of `pages` in all; `found` counts those that fit."""

    database: str
    pages: int
    found: int
    results: tuple[ListedPage, ...]


_QUOTES = {('"', '"'), ("“", "”")}
_KEYS: dict[Order, Callable[[ListedPage], Any]] = {
    Order.url: lambda page: page.url,
    Order.changed: lambda page: -(page.changed_at or 0.0),
    Order.polled: lambda page: -(page.polled_at or 0.0),
    Order.added: lambda page: -page.added_at,
    Order.changes: lambda page: -page.changes,
    Order.rate: lambda page: -(page.changes_per_day or 0.0),
    Order.weight: lambda page: -page.weight,
}


def read_page_list(
    db: Place, *, tag: str | None, text: str | None, order: Order, limit: int | None
) -> PageList:
    """The pages with this tag and this text in URL, name, title or state (None: any), sorted.

    Lower and upper case are the same, and quotes around the text are left out. At most `limit` of
    them; None: all. Of the others no more is read than what tells whether they fit.
    """
    records: list[PageRecord] = []
    pages = found = 0
    for place in stores_of(db):
        with Store.open_readonly(place) as store, store.snapshot():
            count = store.totals().pages
            pages += count
            fitting = None
            if tag is not None or text is not None:
                fitting = [one.id for one in store.each_outline() if _fits(one, tag, text)]
                count = len(fitting)
            found += count
            wanted = count if limit is None else min(limit, count)
            records += store.first_pages(order.value, wanted, fitting)
    listed = sorted(map(listed_page, records), key=lambda page: (_KEYS[order](page), page.url))
    return PageList(str(db), pages, found, tuple(listed[:limit]))


def tagged(db: Place, tag: str | None) -> list[str]:
    """The URLs of the pages that have a tag, or of all (None); `InputError` if there are none."""
    urls: list[str] = []
    for place in stores_of(db):
        with Store.open_readonly(place) as store:
            outlines = store.each_outline()
            urls += [page.url for page in outlines if tag is None or tag in page.tags]
    if not urls and tag is None:
        raise InputError(f"{db} has no pages: `{command(db, 'add', 'URL')}` adds some")
    if not urls:
        raise InputError(
            f"no page of {db} has the tag {tag!r}: `{command(db, 'list')}` shows the tags"
        )
    return urls


def _fits(page: PageOutline, tag: str | None, text: str | None) -> bool:
    if tag is not None and tag not in page.tags:
        return False
    if text is None:
        return True
    state = _state(page.paused, page.outcome, page.seen_at)
    return sought(text) in searched(page.url, page.name, page.title, state)


def sought(text: str) -> str:
    """What is looked for, in lower case: the text, which may be put in quotes.

    >>> sought('"Shop item 1"'), sought("5'")
    ('shop item 1', "5'")
    """
    own = text.strip()
    is_quoted = len(own) > 2 and (own[0], own[-1]) in _QUOTES
    return (own[1:-1] if is_quoted else text).lower()


def searched(url: str, name: str, title: str | None, state: PageState) -> str:
    """The text of a page in which a text is looked for, in lower case."""
    return f"{url} {name} {title or ''} {state}".lower()


def listed_page(record: PageRecord) -> ListedPage:
    """What is listed of a page."""
    page, first, latest = record.page, record.first_seen_at, record.page.seen_at
    watched_for = 0.0 if first is None or latest is None else latest - first
    return ListedPage(
        url=page.url,
        title=record.title,
        name=page.name,
        state=page_state(record),
        tags=page.tags,
        weight=page.weight,
        polls=record.polls,
        changes=record.changes,
        changes_per_day=record.changes / watched_for * DAY if watched_for > 0 else None,
        changed_at=record.last_changed_at,
        polled_at=record.polled_at,
        added_at=record.added_at,
        error=record.error,
        render=page.render,
        notify_when=page.notify_when,
        listed_in=record.listed_in or None,
    )


def page_state(record: PageRecord) -> PageState:
    """How a page stands after its latest poll."""
    return _state(record.page.paused, record.outcome, record.page.seen_at)


def _state(paused: bool, outcome: Outcome | None, seen_at: float | None) -> PageState:
    if paused:
        return PageState.paused
    if outcome is Outcome.GONE:
        return PageState.gone
    if outcome is Outcome.FAILED:
        return PageState.failing
    return PageState.new if seen_at is None else PageState.watched
