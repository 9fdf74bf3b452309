"""Carrying out what people ask of a watch: by the process that polls or, if there is none, at once.

The database has one owner, the process that polls. Everybody else puts a request into it, which
the owner carries out within a second. A request is carried out and answered in one transaction,
so whoever dies meanwhile, it is done once or not at all.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pollwise.errors import InputError, StoreBusyError, StoreError, StoreInUseError
from pollwise.events import Added, Budgeted, Event, Removed, Updated
from pollwise.live.opening import opened, opened_again
from pollwise.live.requests import (
    AddPages,
    ChangeBudget,
    ChangePages,
    RemovePages,
    Request,
    decode_request,
    encode_request,
)
from pollwise.scheduler.budgets import parse_budget
from pollwise.settings import WatchSettings, is_collection, latest_settings
from pollwise.store import Store
from pollwise.store.base import StoreReader
from pollwise.store.records import NewPage, PageRecord
from pollwise.store.sqlite.requests import Requester
from pollwise.types import Page

__all__ = ["Carried", "ask", "carry_out", "carry_out_waiting", "require_watch", "watch_settings"]

_PATIENCE = 10.0
"""Seconds that a command waits for the process that polls, which looks once a second."""
_LOOK_EVERY = 0.1


@dataclass(frozen=True, slots=True)
class Carried:
    """A request that was carried out: what the scheduler is to be told, and the pages removed."""

    request: Request
    events: tuple[Event, ...]
    removed: tuple[Page, ...] = ()


def carry_out(store: Store, request: Request, now: float) -> Carried:
    """Carry out a request in the store, in one transaction; call it again and nothing changes.

    `InputError`, with nothing changed, for pages that are not watched and values out of range.
    """
    with store.together():
        events: list[Event] = []
        removed: tuple[Page, ...] = ()
        match request:
            case AddPages(pages):
                events += _written(store, pages, now)
            case ChangePages(pages):
                for page in pages:
                    _watched(store, page.url)
                events += _written(store, pages, now)
            case RemovePages(urls):
                removed = tuple(_watched(store, url).page for url in dict.fromkeys(urls))
                page_ids = tuple(page.id for page in removed)
                store.remove_pages(page_ids, now)
                events.append(Removed(now, page_ids))
            case ChangeBudget(budget):
                parse_budget(budget)
                store.change_settings({"budget": budget})
        text = parse_budget(watch_settings(store).budget)
        has_other_pages = any(isinstance(event, Added | Removed) for event in events)
        if isinstance(request, ChangeBudget) or (text.per_page and has_other_pages):
            total = text.budget(max(store.totals().pages, 1))
            events.append(Budgeted(now, total.rate, total.burst))
    return Carried(request, tuple(events), removed)


def carry_out_waiting(store: Store, now: float) -> list[Carried]:
    """Carry out and answer all that waits, in one transaction.

    What cannot be done is answered with the reason.
    """
    if not store.waiting_requests():  # nothing to lock the database for
        return []
    done = []
    with store.together():
        for one in store.waiting_requests():
            answer = ""
            try:
                done.append(carry_out(store, decode_request(one.text), now))
            except InputError as error:
                answer = str(error)
            store.answer_request(one.id, now, answer)
    return done


def ask(db: Path, request: Request, *, make: bool, say: Callable[[str], None]) -> None:
    """Have a request carried out, by the process that polls or, if there is none, by this one.

    `make`: the database is made if there is none. `InputError` for what cannot be done;
    `StoreError` as ever, and if the owner gives no answer within ten seconds: then nothing was
    changed. `say`: see `Session`.
    """
    text = encode_request(request)
    give_up_at = time.monotonic() + _PATIENCE
    with ExitStack() as undo:
        requester: Requester | None = None
        request_id = -1
        answer: str | None = None
        while answer is None:
            try:
                with opened(db, say) if make else opened_again(db, say) as store:
                    require_watch(store)
                    with store.together():
                        if requester is None:
                            request_id = store.put_request(text, time.time())
                        carry_out_waiting(store, time.time())
                    answer = store.answer(request_id)
            except StoreInUseError as error:
                if requester is None:
                    requester = undo.enter_context(Requester.open(db))
                    _require_watched(db)
                    request_id = requester.put_request(text, time.time())
                    undo.callback(_withdrawn, requester, request_id)
                answer = requester.answer(request_id)
                if answer is not None:
                    break
                is_over = time.monotonic() > give_up_at
                if is_over and _withdrawn(requester, request_id):
                    raise StoreError(
                        f"{error.args[0].partition(',')[0]}, which does not answer: nothing was"
                        " changed; try again, or stop that process"
                    ) from error
                time.sleep(_LOOK_EVERY)
    if answer:
        raise InputError(answer)


def _withdrawn(requester: Requester, request_id: int) -> bool:
    """Whether a request will not be carried out any more; not while the owner is writing."""
    try:
        return requester.withdraw_request(request_id, time.time())
    except StoreBusyError:
        return False


def require_watch(store: StoreReader) -> None:
    """`InputError` if the database holds a collection."""
    if is_collection(store):
        db = store.path
        raise InputError(
            f"{db} holds a collection: `pollwise collect --db {db}` goes on with it;"
            " watch pages with another file"
        )


def watch_settings(store: StoreReader) -> WatchSettings:
    """The settings of the watch of a database: those of the next run, if nothing else is told."""
    settings = latest_settings(store)
    return settings if isinstance(settings, WatchSettings) else WatchSettings()


def _require_watched(db: Path) -> None:
    with Store.open_readonly(db) as store:
        require_watch(store)


def _watched(store: Store, url: str) -> PageRecord:
    record = store.find_page(url)
    if record is None:
        raise InputError(f"{url} is not watched in {store.path}: `pollwise list` shows what is")
    return record


def _written(store: Store, pages: Sequence[NewPage], now: float) -> Iterator[Event]:
    """Write pages, new and known ones; the events that tell of them."""
    known = {page.url for page in pages if store.find_page(page.url) is not None}
    written = {page.url: page for page in store.add_pages(pages, now)}
    if new := tuple(page for url, page in written.items() if url not in known):
        yield Added(now, new)
    if changed := tuple(page for url, page in written.items() if url in known):
        yield Updated(now, changed)
