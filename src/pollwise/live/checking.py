"""`pollwise check`: what a poll sees of a page, and what of it is noise."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NoReturn
from urllib.parse import urljoin

from pollwise.errors import InputError, PostponedError, StateError, StoreInUseError
from pollwise.insight.noise import MaskedPart, masked_part, masked_parts
from pollwise.insight.words import count, duration
from pollwise.live.clock import LiveClock
from pollwise.live.control import ask
from pollwise.live.journal import was_killed
from pollwise.live.opening import opened_again
from pollwise.live.requests import LeaveHost
from pollwise.live.web_polling import fetching
from pollwise.policies.awaited import AwaitedPolicy
from pollwise.settings import WatchSettings, damaged_run, latest_settings
from pollwise.sources.conditions import Standing, standings
from pollwise.sources.legible import legible
from pollwise.sources.reading import LARGE, read, takes_long
from pollwise.sources.selectors import read_selectors
from pollwise.sources.view import WHOLE, Kind, Parts, UnreadableError, View
from pollwise.store import Place, Store
from pollwise.store.records import FoundItem
from pollwise.types import Mask, MaskState, PageMemory
from pollwise.web.beside import Beside
from pollwise.web.change import compare
from pollwise.web.fetcher import FetchResult
from pollwise.web.judging import counted
from pollwise.web.noise.looks import says_the_same
from pollwise.web.noise.masks import covered_blocks
from pollwise.web.noise.search import differences, find_noise
from pollwise.web.own_headers import OwnHeaders, read_own_headers
from pollwise.web.poller import WebPoller
from pollwise.web.rendering.browser import require_browser
from pollwise.web.seeing import read_beside
from pollwise.web.stops import OVERLOADED, of_status
from pollwise.web.urls import canonical, plain_scopes, scope_of
from pollwise.web.wishes import read_wishes

__all__ = ["PageCheck", "check_page"]

_ALONE = 10.0
"""Seconds for which the watch of a database is asked to leave a host alone that is asked here."""
_ASKED_EVERY = 7.0
"""Seconds after which it is asked again; it answers within one or two."""
_SHOWN = 10
_LENGTH = 100


@dataclass(frozen=True, slots=True)
class PageCheck:
    """What a poll sees of a page.

    `fetches` were made, some seconds apart; `status`, `final_url`, `content_type`, `bytes` (of the
    decompressed body) and validators are those of the first. `error` says why there is no content,
    or why nothing of it can be compared. `kind` says what it was read as: `page`, `feed`,
    `sitemap`, `json`, `xml`, `pdf`, `text`, or `bytes`; None: it was not. `notice` says what of
    that is not as one may expect (empty: nothing). `feeds` are the feeds that a page names as its
    own. `changed`: whether it differs from the latest copy in the database; None: there is none.

    `blocks` are those that count, of which `kept` has the first ten; `ignored` has the first ten
    of those that do not as they are ignored. Of a list `items` are all, and `newest` the ten latest
    by their own times. `masked` are the parts that do not count by what the database knows, `noise`
    those that these fetches showed to be noise, and `restless` up to ten that differ between the
    fetches but are neither. `conditions` are those of notices, as they stand in the first.
    """

    url: str
    final_url: str
    fetches: int
    status: int | None
    error: str | None
    content_type: str | None
    kind: str | None
    notice: str
    title: str
    feeds: tuple[str, ...]
    bytes: int
    etag: str | None
    last_modified: str | None
    changed: bool | None
    blocks: int
    kept: tuple[str, ...]
    ignored: tuple[str, ...]
    items: int | None
    newest: tuple[FoundItem, ...]
    masked: tuple[MaskedPart, ...]
    noise: tuple[MaskedPart, ...]
    restless: tuple[str, ...]
    conditions: tuple[Standing, ...] = ()


@dataclass(frozen=True, slots=True)
class _Known:
    """What a database knows of a page: how it is fetched, until when not, which parts count of it,
    rendered or not, and the conditions of its notices."""

    memory: PageMemory = field(default_factory=PageMemory)
    parts: Parts = WHOLE
    render: bool = False
    notify_when: tuple[str, ...] = ()
    settings: WatchSettings = field(default_factory=WatchSettings)
    blocked_until: Callable[[str], float] = lambda scope: 0.0


def check_page(
    url: str,
    db: Place | None,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    render: bool | None = None,
    notify_when: Sequence[str] = (),
    allow_private: bool = False,
    fetch_settings: Mapping[str, Any] = {},
    say: Callable[[str], None] = print,
) -> PageCheck:
    """Fetch a page two or three times, as a poll would, and tell what it says; keep nothing.

    With a database, as its watch fetches, by the masks and against the latest copy that it has of
    the page; `InputError` if it does not watch it. `select`, `ignore` and `notify_when` are as in
    `Page`; if the first two are empty they are those of the database, and so is the last.
    `render`: whether the page is rendered; None: as in the database, or not. `fetch_settings` are
    fields of `FetchSettings` that hold before those of the database. `InputError` if they cannot be
    read.

    Two that ask a host know nothing of each other's pace. So a watch of the database that runs is
    asked to begin no poll of this host meanwhile, and if none runs, none can begin. If one was
    killed, what it asked last is not stored: the host is left alone for its delay first.
    `StoreError` if one that runs does not answer, or if something else writes to the database.
    `say`: see `opened`.
    """
    address = canonical(url)
    read_selectors(select, "--select")
    read_selectors(ignore, "--ignore")
    conditions: tuple[str, ...] = read_wishes(notify_when=notify_when)["notify_when"]
    if render:
        require_browser()
    told = Parts(tuple(select), tuple(ignore))
    if db is None:
        settings = WatchSettings(**fetch_settings)
        known = _Known(parts=told, render=bool(render), notify_when=conditions, settings=settings)
        own_headers = _own_headers(address, known.settings, fetch_settings, say)
        return asyncio.run(_check(address, known, own_headers, allow_private))
    is_beside = False
    try:
        opened = opened_again(db, say)
    except StoreInUseError:
        opened, is_beside = Store.open_readonly(db), True
    with opened as store:
        known = _known(store, address, is_beside=is_beside)
        known = replace(known, settings=replace(known.settings, **fetch_settings))
        if render is not None and render != known.render:  # its copy says nothing of this one
            known = replace(known, render=render, memory=PageMemory())
        if told != WHOLE:
            known = replace(known, parts=told)
        if conditions:
            known = replace(known, notify_when=conditions)
        own_headers = _own_headers(address, known.settings, fetch_settings, say)
        if not is_beside:
            return asyncio.run(_check(address, known, own_headers, allow_private))
        leave = partial(ask, db, LeaveHost(scope_of(address), _ALONE), make=False, say=say)
        leave()
        return asyncio.run(_check_beside(leave, address, known, own_headers, allow_private))


def _own_headers(
    address: str, settings: WatchSettings, told: Mapping[str, Any], say: Callable[[str], None]
) -> OwnHeaders:
    """What is sent along; it is said if a file of headers was told, and none is for the page."""
    own_headers = read_own_headers(settings)  # once, as the file may be a pipe
    host, hosts = scope_of(address), own_headers.hosts
    if told.get("header_file") and hosts and host not in hosts:
        named = count(len(hosts), "other host") if len(hosts) > 1 else min(hosts)
        say(f"{settings.header_file} has no header for {host}, but for {named}")
    return own_headers


def _known(store: Store, address: str, *, is_beside: bool) -> _Known:
    record, settings = store.find_page(address), latest_settings(store)
    if record is None:
        raise InputError(f"{address} is not watched in {store.path}: leave out --db")
    if not isinstance(settings, WatchSettings):
        return _Known(
            record.memory, Parts.of(record.page), record.page.render, record.page.notify_when
        )
    scheduler = settings.scheduler(1, AwaitedPolicy())  # it chooses no page
    try:
        scheduler.restore([record.page], store.scheduler_state())
    except StateError as error:
        raise damaged_run(store.path) from error
    now = time.time()
    scheduler.begin(now)
    if not is_beside and was_killed(store):
        # As the next run does; but a host is not to wait for what was killed long ago.
        scheduler.leave_hosts_alone(min(now, store.latest_time() + settings.timeout))
    return _Known(
        record.memory,
        Parts.of(record.page),
        record.page.render,
        record.page.notify_when,
        settings,
        scheduler.host_blocked_until,
    )


async def _check_beside(
    leave: Callable[[], object],
    address: str,
    known: _Known,
    own_headers: OwnHeaders,
    allow_private: bool,
) -> PageCheck:
    """`_check`; until it ends, the watch is asked again and again to `leave` the host alone.

    What `leave` raises ends the check.
    """

    async def leave_on() -> NoReturn:
        while True:
            await asyncio.sleep(_ASKED_EVERY)
            await asyncio.to_thread(leave)

    tasks = (
        asyncio.ensure_future(_check(address, known, own_headers, allow_private)),
        asyncio.ensure_future(leave_on()),
    )
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _check(
    address: str, known: _Known, own_headers: OwnHeaders, allow_private: bool
) -> PageCheck:
    settings = known.settings
    make_poller = fetching(settings, own_headers)
    why: str | None = None
    fetched = _Fetched()
    async with (
        Beside() as beside,
        make_poller(
            LiveClock(),
            given={scope_of(address)},
            given_plain=plain_scopes([address]),
            allow_private=allow_private or settings.allow_private,
            blocked_until=known.blocked_until,
        ) as poller,
    ):
        try:
            refusal = await poller.robots_txt.refusal(address)
            if refusal is not None:
                rules = await poller.robots_txt.rules(address)  # those that were asked
                why = f"a page {refusal}{_left_alone(rules.retry_after)}"
            else:
                await _fetch(poller, beside, address, known, fetched)
        except (PostponedError, UnreadableError) as error:
            why = str(error)
    if fetched.first is None:
        why = "it cannot be fetched now" if why is None else why
        return _nothing(FetchResult(address, address, error=why))
    if not fetched.readings:
        return _nothing(fetched.first, why)
    return _told(address, known, fetched.first, fetched.readings)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is seen of one fetch, the blocks that are ignored, and whether all of the page counts
    although parts of it were named."""

    view: View
    ignored: tuple[str, ...] = ()
    keeps_all: bool = False


@dataclass(slots=True)
class _Fetched:
    """The first answer, and what is seen of each that is usable."""

    first: FetchResult | None = None
    readings: list[_Reading] = field(default_factory=list)


async def _fetch(
    poller: WebPoller, beside: Beside, address: str, known: _Known, fetched: _Fetched
) -> None:
    """Fetch the page twice, and a third time if that differs; a list once."""
    while len(fetched.readings) < 3:
        result = await poller.fetcher_for(render=known.render).fetch(
            address,
            PageMemory(),
            may_follow=poller.robots_txt.refusal,
            again=fetched.first is not None,
        )
        result.release()  # there is no other body
        fetched.first = fetched.first or result
        if not _is_usable(result):
            return
        body, content_type = result.body, fetched.first.content_type
        if len(body) < LARGE and not takes_long(body, content_type, known.parts):
            reading = _read(body, content_type, known.parts)
        else:
            reading = await read_beside(beside, _read, body, content_type, known.parts)
        fetched.readings.append(reading)
        one, *others = (each.view for each in fetched.readings)
        if one.items is not None or (
            len(others) == 1 and says_the_same(known.memory, one, reading.view)
        ):
            return


def _read(body: bytes, content_type: str | None, parts: Parts) -> _Reading:
    view = read(body, content_type, parts)
    if parts == WHOLE or view.items is not None:
        return _Reading(view)
    everything = read(body, content_type)
    before = read(body, content_type, replace(parts, ignore=())) if parts.ignore else view
    ignored = Counter(before.blocks) - Counter(view.blocks)
    return _Reading(view, tuple(ignored), view.blocks == everything.blocks)


def _is_usable(result: FetchResult) -> bool:
    return result.error is None and result.status in (200, 203)


def _nothing(result: FetchResult, error: str | None = None) -> PageCheck:
    return PageCheck(
        url=result.url,
        final_url=result.final_url,
        fetches=0 if result.status is None else 1,
        status=result.status,
        error=result.error or error or _refusal(result),
        content_type=result.content_type,
        kind=None,
        notice="",
        title="",
        feeds=(),
        bytes=len(result.body),
        etag=None,
        last_modified=None,
        changed=None,
        blocks=0,
        kept=(),
        ignored=(),
        items=None,
        newest=(),
        masked=(),
        noise=(),
        restless=(),
    )


def _refusal(result: FetchResult) -> str:
    """The status of an answer without usable content, and for how long its host wants no more."""
    asked = result.retry_after if result.status in OVERLOADED else None
    return of_status(result.status) + _left_alone(asked or 0.0)


def _left_alone(seconds: float) -> str:
    return f"; its host asks to be left alone for {duration(seconds)}" if seconds else ""


def _told(address: str, known: _Known, first: FetchResult, readings: list[_Reading]) -> PageCheck:
    view, memory = readings[0].view, known.memory
    pages = [each.view.blocks for each in readings]
    masks: tuple[Mask, ...] = memory.noise.masks
    new = find_noise(pages, masks) if len(pages) == 3 else ()
    held = [mask for mask in masks if mask.state is not MaskState.REFUSED] + list(new)
    kept = _kept(pages[0], held)
    restless = _restless(kept, _kept(pages[1], held)) if len(pages) > 1 else []
    found = [] if view.items is None else [item.found for item in view.items]
    return PageCheck(
        url=address,
        final_url=first.final_url,
        fetches=len(readings),
        status=first.status,
        error=None,
        content_type=first.content_type,
        kind=view.kind,
        notice=view.notice
        or view.left_out
        or ("the selectors leave nothing out" if readings[0].keeps_all else ""),
        title=view.title,
        feeds=tuple(urljoin(first.final_url, feed) for feed in view.feeds),
        bytes=len(first.body),
        etag=first.etag,
        last_modified=first.last_modified,
        changed=None if memory.text_hash is None else compare(memory, view).changed,
        blocks=len(kept),
        kept=_shown(kept, view.kind),
        ignored=_shown(readings[0].ignored, view.kind),
        items=None if view.items is None else len(found),
        newest=tuple(sorted(found, key=_time, reverse=True)[:_SHOWN]),
        masked=masked_parts(masks),
        noise=tuple(masked_part(None, mask) for mask in new),
        restless=_shown(restless, view.kind),
        conditions=standings(known.notify_when, counted(view, masks), memory.told_number),
    )


def _time(item: FoundItem) -> float:
    return item.published_at or 0.0


def _kept(blocks: Sequence[str], masks: Sequence[Mask]) -> list[str]:
    under = covered_blocks(blocks, masks)
    return [block for n, block in enumerate(blocks) if n not in under]


def _restless(one: Sequence[str], other: Sequence[str]) -> list[str]:
    return [
        " ".join(one[d.begin : d.end]) or " ".join(other[d.other_begin : d.other_end])
        for d in differences(one, other)
    ]


def _shown(blocks: Sequence[str], kind: Kind) -> tuple[str, ...]:
    """The first blocks as people read them; tags of XML as they are, for they count."""
    texts = (legible(block, kind) or block for block in blocks[:_SHOWN])
    return tuple(" ".join(text.split())[:_LENGTH] for text in texts)
