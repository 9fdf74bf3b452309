"""The pages: found, sorted, added, and what can be done to some of them at once."""

import math
import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.deeds import added, came_of
from pollwise.dashboard.each import read_each
from pollwise.dashboard.forms import Field, Form, Sent, done, read_form, told
from pollwise.dashboard.frame import frame_of
from pollwise.dashboard.pages import page
from pollwise.dashboard.views.listing import Listing, choice_asked, listing_asked
from pollwise.errors import InputError
from pollwise.insight.page_list import PageState
from pollwise.insight.page_table import Column, PageRows
from pollwise.insight.snapshot import Snapshot
from pollwise.live.requests import AddPages, ChangePages, RemovePages
from pollwise.settings import CollectSettings
from pollwise.store.records import NewPage, PageRecord
from pollwise.web.url_list import listed_page
from pollwise.web.urls import scope_of
from pollwise.web.wishes import completed, read_tags, read_wishes

__all__ = ["pages_routes", "record_of"]

_PATH = "/pages"
_MOST_ADDED = 1_000
_MOST_TAGS_TOLD = 200
_FILTERS = ("q", "tag", "state", "host")


class _Deed(StrEnum):
    """What is done to the pages that are ticked."""

    pause = "pause"
    resume = "resume"
    tag = "tag"
    untag = "untag"
    remove = "remove"
    remove_now = "remove-now"
    """After it was asked whether that is meant."""


_DONE = {
    _Deed.pause: "paused",
    _Deed.resume: "resumed",
    _Deed.tag: "tagged",
    _Deed.untag: "tagged",
    _Deed.remove_now: "removed",
}
_SORTED_BY = {
    "url": "address",
    "host": "host",
    "state": "state",
    "outcome": "last outcome",
    "due": "next poll",
    "changed": "latest change",
    "polled": "latest poll",
    "added": "newest",
    "polls": "polls",
    "changes": "changes found",
    "rate": "changes expected",
    "chance": "chance of a change",
    "index": "index",
    "price": "price",
    "failures": "failures",
    "weight": "weight",
    "relevance": "relevance",
}
"""What people call the columns."""


def pages_routes(answers: Answers) -> list[Route]:
    """The list of the pages, and its forms."""

    async def pages(request: Request) -> Response:
        if request.method != "POST":
            return await _shown(answers, request)
        sent = await read_form(request)
        if sent.first("do") == "add":
            return await _add(answers, request, sent)
        return await _change(answers, request, sent)

    return [Route(_PATH, pages, methods=["GET", "POST"])]


def record_of(snapshot: Snapshot, page_id: int) -> PageRecord | None:
    """The page with this id; None: it is not watched."""
    records = snapshot.records
    place = bisect_left(records, page_id, key=lambda record: record.page.id)
    if place < len(records) and records[place].page.id == page_id:
        return records[place]
    return None


async def _shown(
    answers: Answers, request: Request, add: Form | None = None, change: Form | None = None
) -> Response:
    """The list, with the forms; None: as nobody has touched them."""
    listing = listing_asked(request, _PATH, Column.url, *_FILTERS)
    frame = await frame_of(answers, request)
    state = choice_asked(request, "state", PageState)
    rows, tags, states = await answers.think(partial(_rows, listing=listing, state=state))
    snapshot = await answers.snapshot()
    add = add or Form("add", _ADDED)
    change = change or Form("change", _CHANGED)
    return page(
        "pages.html",
        max(add.status, change.status),
        frame=frame,
        flash=told(request, frame.first_copies),
        listing=listing,
        rows=rows,
        tags=tags,
        states=states,
        columns=list(Column),
        sorted_by=_SORTED_BY,
        is_collection=isinstance(snapshot.settings, CollectSettings),
        now=time.time(),
        add=add,
        change=change,
    )


def _rows(
    snapshot: Snapshot, *, listing: Listing, state: PageState | None
) -> tuple[PageRows, Sequence[str], dict[PageState, int]]:
    """The rows that are asked for, the tags that there are, and how many pages stand how."""
    table = snapshot.table
    assert isinstance(listing.column, Column)
    rows = table.rows(
        tag=listing.filters.get("tag"),
        state=state,
        host=listing.filters.get("host"),
        text=listing.filters.get("q"),
        order=listing.column,
        descending=listing.descending,
        offset=listing.offset,
    )
    return rows, list(table.tags)[:_MOST_TAGS_TOLD], table.states


async def _add(answers: Answers, request: Request, sent: Sent) -> Response:
    """Watch more pages; what a line says of its page itself goes before the other fields."""
    form = Form("add", _ADDED)
    if form.take(sent):
        values = form.values
        wishes = {"tags": values["tags"] or None, "weight": values["weight"]}
        pages = (replace(completed(one, wishes), listed_in="") for one in values["urls"])
        wanted = AddPages(tuple(pages))
        effect = await form.ask(answers, wanted, "urls")
        if effect is not None:
            return done(_PATH, added(effect), sort="added" if effect.added else None)
    return await _shown(answers, request, add=form)


async def _change(answers: Answers, request: Request, sent: Sent) -> Response:
    """Do something to the pages that are ticked; before they are removed, it is asked again."""
    form = Form("change", _CHANGED)
    listing = listing_asked(request, _PATH, Column.url, *_FILTERS)
    if form.take(sent):
        deed, page_ids = form.values["do"], form.values["page"]
        snapshot = await answers.snapshot()
        known = [record_of(snapshot, page_id) for page_id in dict.fromkeys(page_ids)]
        records = [record for record in known if record is not None]
        if not records and not page_ids:
            form.refuse("page", "no page is ticked: tick those that are meant")
        elif len(records) < len(known):
            line = f"{len(known) - len(records)} of these are watched no longer: tick others"
            form.refuse("page", line, 404)
        elif deed in (_Deed.tag, _Deed.untag) and not form.values["tags"]:
            form.refuse("tags", "no tag is named: write some, such as news,daily")
        elif deed is _Deed.remove:
            return page(
                "pages_removed.html",
                frame=await frame_of(answers, request),
                records=records,
                action=listing.url(),
            )
        else:
            effect = await form.ask(answers, _wish(deed, records, form.values["tags"]), "page")
            if effect is not None:
                return done(_PATH, came_of(_DONE[deed], effect), **listing.query)
    return await _shown(answers, request, change=form)


def _wish(
    deed: _Deed, records: Sequence[PageRecord], tags: Sequence[str]
) -> ChangePages | RemovePages:
    """What to ask for."""
    if deed is _Deed.remove_now:
        return RemovePages(tuple(record.page.url for record in records))
    return ChangePages(tuple(_wished(deed, record, tags) for record in records))


def _wished(deed: _Deed, record: PageRecord, tags: Sequence[str]) -> NewPage:
    url, own = record.page.url, record.page.tags
    match deed:
        case _Deed.tag:
            wishes = read_wishes(tags=[*own, *tags])
        case _Deed.untag:
            wishes = read_wishes(tags=[tag for tag in own if tag not in tags])
        case _:
            wishes = read_wishes(paused=deed is _Deed.pause)
    return NewPage(url, scope_of(url), **wishes)


def _read_urls(text: str) -> tuple[NewPage, ...]:
    lines = [(f"line {at}", line.strip()) for at, line in enumerate(text.split("\n"), start=1)]
    named = [(place, line) for place, line in lines if line and not line.startswith("#")]
    if not named:
        raise InputError("no page is named: write a URL on each line")
    if len(named) > _MOST_ADDED:
        raise InputError(
            f"{len(named):,d} pages are too many at once: expected at most {_MOST_ADDED:,d}"
        )
    pages = read_each(named, listed_page, between="\n")
    return tuple({page.url: page for page in pages}.values())


def _read_weight(text: str) -> float | None:
    """What a change is worth; None: not told."""
    if not text.strip():
        return None
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    read_wishes(weight=weight)
    return weight


def _read_tags(text: str) -> tuple[str, ...]:
    return read_tags([text])


def _read_deed(text: str) -> _Deed:
    try:
        return _Deed(text)
    except ValueError:
        raise InputError(f"nobody knows how to {text[:20]!r} pages: load the page anew") from None


def _read_id(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise InputError(f"{text[:20]!r} is no page: load the page anew")
    return int(text)


_ADDED = {
    "do": Field(),
    "urls": Field(_read_urls, longest=200_000, lines=True),
    "tags": Field(_read_tags),
    "weight": Field(_read_weight, longest=40),
}
_CHANGED = {
    "do": Field(_read_deed, longest=40),
    "page": Field(_read_id, several=True),
    "tags": Field(_read_tags),
}
