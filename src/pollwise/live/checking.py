"""`pollwise check`: what a poll sees of a page, and what of it is noise."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pollwise.errors import InputError, PostponedError, StateError
from pollwise.insight.noise import MaskedPart, masked_part, masked_parts
from pollwise.live.clock import LiveClock
from pollwise.live.opening import opened_again
from pollwise.live.session import fetching
from pollwise.policies.awaited import AwaitedPolicy
from pollwise.settings import WatchSettings, damaged_run, latest_settings
from pollwise.store import Store
from pollwise.types import Mask, MaskState, PageMemory
from pollwise.web.change import compare
from pollwise.web.fetcher import FetchResult
from pollwise.web.noise.blocks import blocks_of, kind_of_body
from pollwise.web.noise.looks import says_the_same
from pollwise.web.noise.masks import covered_blocks
from pollwise.web.noise.search import differences, find_noise
from pollwise.web.own_headers import read_own_headers
from pollwise.web.poller import WebPoller
from pollwise.web.urls import canonical, plain_scopes, scope_of

__all__ = ["PageCheck", "check_page"]

_SHOWN = 10
_LENGTH = 100


@dataclass(frozen=True, slots=True)
class PageCheck:
    """What a poll sees of a page.

    `fetches` were made, some seconds apart; `status`, `final_url`, `content_type`, `bytes` (of the
    decompressed body) and validators are those of the first. `error` says why there is no content.
    `kind` says how it is compared: `html`, `json`, `xml`, `text`, or `other` (byte for byte).
    `changed`: whether it differs from the latest copy in the database; None: there is none.

    `blocks` are those that count, of which `kept` has the first ten. `masked` are the parts that
    do not by what the database knows, `noise` those that these fetches showed to be noise, and
    `restless` up to ten that differ between the fetches but are neither.
    """

    url: str
    final_url: str
    fetches: int
    status: int | None
    error: str | None
    content_type: str | None
    kind: str
    bytes: int
    etag: str | None
    last_modified: str | None
    changed: bool | None
    blocks: int
    kept: tuple[str, ...]
    masked: tuple[MaskedPart, ...]
    noise: tuple[MaskedPart, ...]
    restless: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    """What a database knows of a page: how it is fetched, and until when not."""

    memory: PageMemory = field(default_factory=PageMemory)
    settings: WatchSettings = field(default_factory=WatchSettings)
    blocked_until: Callable[[str], float] = lambda scope: 0.0


def check_page(
    url: str, db: Path | None, *, allow_private: bool = False, say: Callable[[str], None] = print
) -> PageCheck:
    """Fetch a page two or three times, as a poll would, and tell what it says; keep nothing.

    With a database, as its watch fetches, by the masks and against the latest copy that it has of
    the page; `InputError` if it does not watch it. `StoreError` while the watch runs, and none can
    begin meanwhile: two that ask a host know nothing of each other's pace. `say`: see `opened`.
    """
    address = canonical(url)
    if db is None:
        return asyncio.run(_check(address, _Known(), allow_private))
    with opened_again(db, say) as store:
        return asyncio.run(_check(address, _known(store, address), allow_private))


def _known(store: Store, address: str) -> _Known:
    record, settings = store.find_page(address), latest_settings(store)
    if record is None:
        raise InputError(f"{address} is not watched in {store.path}: leave out --db")
    if not isinstance(settings, WatchSettings):
        return _Known(record.memory)
    scheduler = settings.scheduler(1, AwaitedPolicy())  # it chooses no page
    try:
        scheduler.restore([record.page], store.scheduler_state())
    except StateError as error:
        raise damaged_run(store.path) from error
    scheduler.begin(time.time())
    return _Known(record.memory, settings, scheduler.host_blocked_until)


async def _check(address: str, known: _Known, allow_private: bool) -> PageCheck:
    memory, settings = known.memory, known.settings
    make_poller = fetching(settings, read_own_headers(settings))
    async with make_poller(
        LiveClock(),
        given={scope_of(address)},
        given_plain=plain_scopes([address]),
        allow_private=allow_private or settings.allow_private,
        blocked_until=known.blocked_until,
    ) as poller:
        results: list[FetchResult] = []
        try:
            refusal = await poller.robots_txt.refusal(address)
            why = refusal and f"a page {refusal}"
            if refusal is None:
                await _fetch(poller, address, memory, results)
        except PostponedError as error:
            why = str(error)
    if not results:
        why = "it cannot be fetched now" if why is None else why
        return _nothing(FetchResult(address, address, error=why))
    first = results[0]
    if not _is_usable(first):
        return _nothing(first)
    return _told(address, memory, results)


async def _fetch(
    poller: WebPoller, address: str, memory: PageMemory, results: list[FetchResult]
) -> None:
    """Fetch the page twice, and a third time if that differs."""
    while len(results) < 3:
        result = await poller.fetcher.fetch(
            address, PageMemory(), may_follow=poller.robots_txt.refusal, again=bool(results)
        )
        result.release()  # there is no other body
        if results and not _is_usable(result):
            return
        results.append(result)
        one, *others = results
        if not _is_usable(one) or (
            len(others) == 1 and says_the_same(memory, one.body, result.body, one.content_type)
        ):
            return


def _is_usable(result: FetchResult) -> bool:
    return result.error is None and result.status in (200, 203)


def _nothing(result: FetchResult) -> PageCheck:
    return PageCheck(
        url=result.url,
        final_url=result.final_url,
        fetches=0 if result.status is None else 1,
        status=result.status,
        error=result.error or f"status {result.status}",
        content_type=result.content_type,
        kind="other",
        bytes=0,
        etag=None,
        last_modified=None,
        changed=None,
        blocks=0,
        kept=(),
        masked=(),
        noise=(),
        restless=(),
    )


def _told(address: str, memory: PageMemory, results: list[FetchResult]) -> PageCheck:
    first, content_type = results[0], results[0].content_type
    pages = [blocks_of(result.body, content_type) for result in results]
    masks: tuple[Mask, ...] = memory.noise.masks
    new = find_noise(pages, masks) if len(pages) == 3 else ()
    compared = compare(memory, first.body, content_type)
    held = [mask for mask in masks if mask.state is not MaskState.REFUSED] + list(new)
    kept = _kept(pages[0], held)
    return PageCheck(
        url=address,
        final_url=first.final_url,
        fetches=len(results),
        status=first.status,
        error=None,
        content_type=content_type,
        kind=kind_of_body(first.body, content_type),
        bytes=len(first.body),
        etag=first.etag,
        last_modified=first.last_modified,
        changed=None if memory.text_hash is None else compared.changed,
        blocks=len(kept),
        kept=_shown(kept),
        masked=masked_parts(masks),
        noise=tuple(masked_part(None, mask) for mask in new),
        restless=_shown(_restless(kept, _kept(pages[1], held)) if len(pages) > 1 else []),
    )


def _kept(blocks: list[str], masks: list[Mask]) -> list[str]:
    under = covered_blocks(blocks, masks)
    return [block for n, block in enumerate(blocks) if n not in under]


def _restless(one: list[str], other: list[str]) -> list[str]:
    return [
        " ".join(one[d.begin : d.end]) or " ".join(other[d.other_begin : d.other_end])
        for d in differences(one, other)
    ]


def _shown(blocks: list[str]) -> tuple[str, ...]:
    return tuple(" ".join(block.split())[:_LENGTH] for block in blocks[:_SHOWN])
