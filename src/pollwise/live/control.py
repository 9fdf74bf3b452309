"""Carrying out what people ask of a watch: by the process that polls or, if there is none, at once.

The database has one owner, the process that polls. Everybody else puts a request into it, which
the owner carries out within a second. A request is carried out and answered in one transaction,
so whoever dies meanwhile, it is done once or not at all.
"""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pollwise.errors import InputError, StoreBusyError, StoreError, StoreInUseError
from pollwise.events import Added, Budgeted, Event, HostBlocked, Removed, Signalled, Updated
from pollwise.live.opening import opened, opened_again
from pollwise.live.requests import (
    AddPages,
    ChangePages,
    ChangeSettings,
    Effect,
    LeaveHost,
    MarkRead,
    MaskPart,
    RemovePages,
    Request,
    SignalPages,
    UnmaskPart,
    by_shard,
    decode_answer,
    decode_request,
    encode_answer,
    encode_request,
    in_parts,
    joined,
    pages_of,
)
from pollwise.scheduler.budgets import parse_budget, parse_shares
from pollwise.settings import WatchSettings, is_collection, latest_settings
from pollwise.store import Place, Requester, Store, split_database
from pollwise.store.base import StoreReader
from pollwise.store.place import command
from pollwise.store.records import NewPage, PageRecord
from pollwise.store.retention import parse_retention
from pollwise.types import Page
from pollwise.web.noise.by_hand import MaskChange

if TYPE_CHECKING:
    from pollwise.store.postgres.shards import SplitDatabase

__all__ = [
    "Carried",
    "ask",
    "carry_out",
    "carry_out_waiting",
    "require_watch",
    "signal_pages",
    "unused_shares",
    "watch_settings",
]

_PATIENCE = 10.0
"""Seconds that a command waits for the process that polls, which looks once a second."""
_LOOK_EVERY = 0.1
_MOST_AT_ONCE = 40_000
"""Characters of requests that are carried out in one transaction: some 1,000 pages to add."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A request that was carried out: what came of it, for people and for the scheduler, the
    pages removed, and what was changed of masks.
    """

    request: Request
    effect: Effect
    events: tuple[Event, ...]
    removed: tuple[Page, ...] = ()
    remasked: MaskChange | None = None


def carry_out(store: Store, request: Request, now: float) -> Carried:
    """Carry out a request in the store, in one transaction; call it again and nothing changes.

    `InputError`, with nothing changed, for pages that are not watched and values out of range.
    """
    with store.together():
        effect, events = Effect(), list[Event]()
        removed: tuple[Page, ...] = ()
        remasked: MaskChange | None = None
        match request:
            case AddPages(pages):
                effect, events = _written(store, pages, now)
            case ChangePages(pages):
                _watched_pages(store, [page.url for page in pages])
                effect, events = _written(store, pages, now)
            case RemovePages(urls):
                records = _records(store, urls)
                removed = tuple(record.page for record in records)
                page_ids = tuple(page.id for page in removed)
                store.remove_pages(page_ids, now)
                listed = tuple(record.page.url for record in records if record.listed_in)
                effect = Effect(removed=_urls(removed), listed=listed)
                events.append(Removed(now, page_ids))
            case LeaveHost(scope, seconds):
                events.append(HostBlocked(now, scope, now + seconds))
            case SignalPages(urls):
                signalled = tuple(page.id for page in _watched_pages(store, urls))
                events.append(Signalled(now, signalled, now))
            case UnmaskPart() | MaskPart():
                effect, remasked = _remasked(store, request)
            case MarkRead(seqs, up_to, read):
                effect = Effect(marked=store.mark_read(seqs, up_to=up_to, read=read))
            case ChangeSettings():
                _require_settings(request)
                if request.keep is not None:
                    store.keep_versions(parse_retention(request.keep))
                store.change_settings(request.told())
        settings = watch_settings(store)
        kept = parse_budget(settings.budget)
        has_other_pages = any(isinstance(event, Added | Removed) for event in events)
        if _is_of_budget(request) or (kept.per_page and has_other_pages):
            total = kept.budget(max(store.count_pages(), 1))
            shared = tuple(parse_shares(settings.shares).items())
            events.append(Budgeted(now, total.rate, total.burst, shared))
    return Carried(request, effect, tuple(events), removed, remasked)


def carry_out_waiting(store: Store, now: float, *, polls: bool = True) -> list[Carried]:
    """Carry out and answer what waits, in one transaction.

    If this process `polls`, it is as much as polls can wait for, and the first of what waits; else
    it is all. What cannot be done is answered with the reason. Signals are taken in together, as
    many may wait. Unless this process `polls` they wait on: they are nothing but events.
    """
    most = _MOST_AT_ONCE if polls else math.inf
    if not store.waiting_requests(most):  # nothing to lock the database for
        return []
    done = []
    signalled: dict[str, None] = {}
    with store.together():
        for one in store.waiting_requests(most):
            try:
                request = decode_request(one.text)
                if isinstance(request, SignalPages):
                    if polls:
                        signalled |= dict.fromkeys(request.urls)
                        store.answer_request(one.id, now, encode_answer(Effect()))
                    continue
                done.append(carry_out(store, request, now))
                answer = encode_answer(done[-1].effect)
            except InputError as error:
                answer = encode_answer(str(error))
            store.answer_request(one.id, now, answer)
        # Pages may have been removed since they were signalled.
        watched = store.find_pages(list(signalled))
        if known := tuple(url for url in signalled if url in watched):
            done.append(carry_out(store, SignalPages(known), now))
    return done


def ask(db: Place, request: Request, *, make: bool, say: Callable[[str], None]) -> Effect:
    """Have a request carried out, by the process that polls or, if there is none, by this one.

    Signals wait for the process that polls: see `signal_pages`.

    `make`: the database is made if there is none. `InputError` for what cannot be done;
    `StoreError` as ever, and if the owner gives no answer within ten seconds: then nothing was
    changed, or of many pages the first were done. Of a split database, each shard is asked for its
    part, one after the other, also if `db` is one of them; one that does not answer holds up no
    other one. `say`: see `Session`.
    """
    match request:
        case AddPages(pages) | ChangePages(pages):
            # Imported here, as below: what fetches and reads pages takes a command that only asks
            # as long to load as all the rest. A process that polls has it.
            from pollwise.web.rendering.browser import require_renderable

            require_renderable(pages)
        case ChangeSettings():
            _require_settings(request)
        case SignalPages(urls):
            signal_pages(db, urls)
            return Effect()
    split = split_database(db)
    parts = _addressed(db, split, request)
    if len(parts) > 1:  # else one shard could refuse what another one has done
        for place, part in parts:
            with Store.open_readonly(place) as store:
                _require_known(store, part)
    if split is not None and isinstance(request, ChangeSettings) and request.budget is not None:
        split.share(request.budget)
        others = replace(request, budget=None)
        parts = _addressed(db, split, others) if others.told() else []
    effects: list[Effect] = []
    failed: StoreError | None = None
    for place, part in parts:
        try:
            effects.append(_asked(place, part, make=make, say=say))
        except StoreError as error:  # what is of other shards is done nevertheless
            failed = error
    if failed is not None:
        if not effects:
            raise failed
        raise StoreError(f"{failed}; what is of {len(effects)} other shards was done") from failed
    return effects[0] if len(effects) == 1 else joined(effects)


def _addressed(
    db: Place, split: "SplitDatabase | None", request: Request
) -> list[tuple[Place, Request]]:
    """The stores that a request is for, each with its part; `InputError` as for `by_shard`."""
    if split is None:
        return [(db, request)]
    each = by_shard(request, len(split.schemas), split.number_of, split.named)
    return [(split.shards[number], part) for number, part in each.items()]


def _asked(db: Place, request: Request, *, make: bool, say: Callable[[str], None]) -> Effect:
    """`ask`, of a database that is not split."""
    parts = in_parts(request)
    texts = [encode_request(part) for part in parts]
    answers: list[str] = []
    with ExitStack() as undo:
        requester: Requester | None = None
        numbers: list[int] = []
        give_up_at = time.monotonic() + _PATIENCE
        while len(answers) < len(parts):
            try:
                with opened(db, say) if make else opened_again(db, say) as store:
                    if requester is None:
                        _require_known(store, request)
                    with store.together():
                        if requester is None:
                            numbers = [store.put_request(text, time.time()) for text in texts]
                        carry_out_waiting(store, time.time(), polls=False)
                    answers = [answer for answer in map(store.answer, numbers) if answer]
            except StoreInUseError as error:
                if requester is None:
                    requester = undo.enter_context(Requester.open(db))
                    with Store.open_readonly(db) as store:
                        _require_known(store, request)
                    with requester.together():
                        numbers = [requester.put_request(text, time.time()) for text in texts]
                    undo.callback(_withdrawn, requester, numbers)
                while len(answers) < len(parts):
                    answer = requester.answer(numbers[len(answers)])
                    if answer is None:
                        break
                    answers.append(answer)
                    give_up_at = time.monotonic() + _PATIENCE
                is_over = time.monotonic() > give_up_at
                if is_over and (left := _withdrawn(requester, numbers)):
                    raise StoreError(
                        f"{error.args[0].partition(',')[0]}, which does not answer:"
                        f" {_done(parts[: len(parts) - left])}; try again, or stop that process"
                    ) from error
                time.sleep(_LOOK_EVERY)
    effects = list(map(decode_answer, answers))
    return effects[0] if len(effects) == 1 else joined(effects)


def signal_pages(db: Place, urls: Sequence[str]) -> None:
    """Say that pages have changed: the process that polls takes it in, or the next one that does.

    `InputError` for pages that are not watched; `StoreError` as ever.
    """
    parts = _addressed(db, split_database(db), SignalPages(tuple(urls)))
    for place, part in parts:
        with Store.open_readonly(place) as store:
            _require_known(store, part)
    for place, part in parts:
        with Requester.open(place) as requester:
            requester.put_request(encode_request(part), time.time())


def _withdrawn(requester: Requester, numbers: Sequence[int]) -> int:
    """How many of these requests will not be carried out any more; none while the owner writes."""
    try:
        with requester.together():
            return sum(requester.withdraw_request(one, time.time()) for one in numbers)
    except StoreBusyError:
        return 0


def _done(parts: Sequence[Request]) -> str:
    """What was done of a request, if only these parts were."""
    pages = sum(map(pages_of, parts))
    if pages == 0:
        return "nothing was changed"
    return f"the first {pages:,d} pages were {_DONE[type(parts[0])]}, the others not"


_DONE = {AddPages: "added", ChangePages: "changed", RemovePages: "removed"}


def require_watch(store: StoreReader) -> None:
    """`InputError` if the database holds a collection."""
    if is_collection(store):
        db = store.path
        is_empty = all(record.page.seen_at is None for record in store.pages())
        removed = ", or remove this one, which has no copy of a page yet" if is_empty else ""
        raise InputError(
            f"{db} holds a collection: `{command(db, 'collect')}` goes on with it, and takes its"
            " settings, such as --budget, more pages (--seed) and what to leave out (--deny); watch"
            f" pages with another database (--db){removed}"
        )


def watch_settings(store: StoreReader) -> WatchSettings:
    """The settings of the watch of a database: those of the next run, if nothing else is told."""
    settings = latest_settings(store)
    return settings if isinstance(settings, WatchSettings) else WatchSettings()


def unused_shares(store: StoreReader) -> list[str]:
    """A line for each tag that has a share of the budget, but no page."""
    shares = parse_shares(watch_settings(store).shares)
    used = {tag for record in store.pages() for tag in record.page.tags} if shares else set()
    return [f"share of {tag}: no page has this tag yet" for tag in shares if tag not in used]


def _require_known(store: StoreReader, request: Request) -> None:
    """`InputError` if the database holds a collection, or a page to be changed is not watched.

    What is done in parts could else be refused when some of it was done.
    """
    require_watch(store)
    match request:
        case ChangePages(pages):
            _records(store, [page.url for page in pages])
        case RemovePages(urls) | SignalPages(urls):
            _records(store, urls)


def _require_settings(request: ChangeSettings) -> None:
    """`InputError` for settings that cannot be."""
    WatchSettings(**request.told())


def _watched(store: StoreReader, url: str) -> PageRecord:
    return _records(store, [url])[0]


def _watched_pages(store: StoreReader, urls: Sequence[str]) -> tuple[Page, ...]:
    """The pages of URLs, each once; `InputError` for the first that is not watched."""
    return tuple(record.page for record in _records(store, urls))


def _records(store: StoreReader, urls: Sequence[str]) -> list[PageRecord]:
    named = list(dict.fromkeys(urls))
    found = store.find_pages(named)
    for url in named:
        if url not in found:
            raise InputError(
                f"{url} is not watched in {store.path}: `{command(store.path, 'list')}` shows what"
                " is"
            )
    return [found[url] for url in named]


def _is_of_budget(request: Request) -> bool:
    """Whether a request is for another budget, or other shares in it."""
    if not isinstance(request, ChangeSettings):
        return False
    return request.budget is not None or request.shares is not None


def _remasked(store: Store, request: MaskPart | UnmaskPart) -> tuple[Effect, MaskChange]:
    """Change the masks of a page."""
    from pollwise.live.masking import masked, unmasked

    record = _watched(store, request.url)
    if isinstance(request, UnmaskPart):
        effect, change = unmasked(store.path, record, request)
    else:
        effect, change = masked(store, record, request)
    store.save_masks(change.page_id, change.applied(record.memory))
    return effect, change


def _written(store: Store, pages: Sequence[NewPage], now: float) -> tuple[Effect, list[Event]]:
    """Write pages, new and known ones; what came of it, and the events that tell of that."""
    before = store.find_pages([page.url for page in pages])
    added, changed, unchanged = list[Page](), list[Page](), list[Page]()
    for page in {page.url: page for page in store.add_pages(pages, now)}.values():
        known = before.get(page.url)
        same = known is not None and known.page == page
        (added if known is None else unchanged if same else changed).append(page)
    events: list[Event] = [Added(now, tuple(added))] if added else []
    events += [Updated(now, tuple(changed))] if changed else []
    return Effect(_urls(added), _urls(changed), _urls(unchanged)), events


def _urls(pages: Sequence[Page]) -> tuple[str, ...]:
    return tuple(page.url for page in pages)
