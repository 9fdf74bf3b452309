"""`pollwise watch`: from a user's words to a running watch."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from pollwise.errors import InputError
from pollwise.live.changed_settings import changes_of
from pollwise.live.clock import LiveClock
from pollwise.live.first_copies import first_copies_told
from pollwise.live.loop import Progress, Watched
from pollwise.live.session import Run, Session, opened, run_until_stopped, web_poller
from pollwise.settings import WatchSettings, is_collection, latest_settings
from pollwise.store.records import NewPage
from pollwise.types import Page
from pollwise.web.descriptors import make_room, most_polls
from pollwise.web.urls import canonical, read_url_list, scope_of

_FEW = 20
"""Polls at a time that are fewer than people expect."""

__all__ = ["MakeDisplay", "WatchingDisplay", "named_pages", "watch_pages"]


class WatchingDisplay(Protocol):
    """Shows people what a watch finds."""

    def show(self, progress: Progress, watched: Mapping[int, Watched]) -> None:
        """Show what came of a turn; `watched` are all pages by id."""


MakeDisplay = Callable[[WatchSettings, int], AbstractContextManager[WatchingDisplay]]
"""Makes the display of a watch with these settings, of so many pages."""


def watch_pages(
    pages: Sequence[NewPage],
    told: Mapping[str, Any],
    db: Path,
    *,
    make_display: MakeDisplay,
    say: Callable[[str], None],
) -> None:
    """Watch these pages and those of the database, until SIGINT or SIGTERM.

    `told` are settings by name; the others stay as they were. `say`: see `Session`. `InputError`
    and `StoreError` come before anything is changed; later, a `StoreError` ends the run.
    """
    if not pages and not db.exists():
        raise InputError(
            f"nothing to watch: no URL was given and there is no database {db};"
            " name pages, or a list of them with --file"
        )
    WatchSettings(**told)
    with opened(db, say) as store:
        if is_collection(store):
            raise InputError(
                f"{db} holds a collection: `pollwise collect --db {db}` goes on with it;"
                " watch pages with another file"
            )
        before = latest_settings(store)
        settings = replace(before if isinstance(before, WatchSettings) else WatchSettings(), **told)
        for change in changes_of(before, settings):
            say(change)
        store.add_pages(pages, now=time.time())
        count = store.totals().pages
        if count == 0:
            raise InputError(f"nothing to watch: {db} has no pages; name some")
        make_room()
        if (polls := most_polls()) < _FEW:
            say(f"the limit on open files is low: {polls} polls at a time (see `ulimit -n`)")
        with make_display(settings, count) as display:

            def begin(clock: LiveClock) -> Run[None]:
                session = Session(store, settings, clock=clock, say=say)
                if told_of_first := first_copies_told(session.records, settings):
                    say(told_of_first)
                return partial(_watch, session, settings, display)

            run_until_stopped(begin, say)


async def _watch(
    session: Session, settings: WatchSettings, display: WatchingDisplay, stop: asyncio.Event
) -> None:
    watched = [record.page for record in session.records]
    async with web_poller(
        session.clock,
        not_modified_cost=settings.not_modified_cost,
        given={page.scope for page in watched},
        allow_private=settings.allow_private,
        shared_scopes=_shared_scopes(watched),
        blocked_until=session.scheduler.host_blocked_until,
    ) as poller:
        del watched
        await session.run(poller, stop, on_progress=display.show, staff=most_polls)


def _shared_scopes(pages: Iterable[Page]) -> frozenset[str]:
    """The politeness scopes with pages of several origins."""
    schemes: dict[str, str] = {}
    shared = set()
    for page in pages:
        # Scope and scheme tell the origin; a scheme is much faster to find.
        scheme = page.url.partition(":")[0]
        if schemes.setdefault(page.scope, scheme) != scheme:
            shared.add(page.scope)
    return frozenset(shared)


def named_pages(urls: Sequence[str], file: Path | None) -> list[NewPage]:
    """The pages of a command line and of a list; the weights and costs of the list win.

    `InputError` for what is no URL, with its line in the list.
    """
    pages = [NewPage(canonical(url), scope_of(url)) for url in urls]
    if file is not None:
        pages += [
            NewPage(listed.url, scope_of(listed.url), listed.weight, listed.cost)
            for listed in read_url_list(file)
        ]
    return pages
