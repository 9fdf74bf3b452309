"""Subscriptions at hubs that feeds name (WebSub), beside a run: what a hub tells is a signal."""

import asyncio
import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from pollwise.errors import PostponedError
from pollwise.events import Removed, Signalled
from pollwise.live.clock import Clock
from pollwise.live.incoming import Incoming
from pollwise.live.journal import Journal
from pollwise.live.listening.subscription import (
    ASKED_LEASE,
    CALLBACKS,
    asked,
    begun,
    confirmed,
    denied,
    failed,
)
from pollwise.live.progress import Progress
from pollwise.sources.view import HubLinks
from pollwise.store import Store
from pollwise.store.records import StoredSubscription
from pollwise.watched_pages import Watched
from pollwise.web.hubs import Hubs
from pollwise.web.urls import scope_of

__all__ = ["Subscriber"]

_LOOK_EVERY = 1.0
_MOST_ASKED = 8
"""Hubs that are asked at a time."""


class Subscriber:
    """Keeps pages that name a hub subscribed, and signals those of which hubs tell.

    Hubs call URLs that begin with `public_url`. They are asked when polls found that they are
    named, before a lease ends, and ever more rarely while they do not confirm.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        hubs: Hubs,
        public_url: str,
        incoming: Incoming,
        look_every: float = _LOOK_EVERY,
    ) -> None:
        self._store = store
        self._clock = clock
        self._hubs = hubs
        self._public_url = public_url
        self._incoming = incoming
        self._look_every = look_every
        self._own: dict[int, StoredSubscription] = {}
        self._by_token: dict[str, int] = {}
        self._unsaved: set[int] = set()
        self._next_due = math.inf
        self._told_of: set[int] = set()
        self._asking: dict[str, asyncio.Task[None]] = {}
        """By the politeness scopes of hubs."""
        self._watched: Mapping[int, Watched] = {}
        for own in store.subscriptions():
            now = clock()
            was_ahead = own.asked_at is not None and own.asked_at > now
            if was_ahead or not own.callback.startswith(public_url + CALLBACKS):
                self._put(begun(own.page_id, HubLinks(own.hub, own.topic), public_url, now))
            else:
                self._keep(own)

    def note(self, progress: Progress, watched: Mapping[int, Watched]) -> None:
        """Take in what a turn found of hubs, and which pages were removed."""
        self._watched = watched
        for event in progress.events:
            if isinstance(event, Removed):
                for page_id in event.page_ids:
                    self._forget(page_id)
        for report in progress.reports:
            page_id, links = report.result.observation.page_id, report.hub_links
            if links is None or page_id not in watched:
                continue
            known = self._own.get(page_id)
            if not links.hub:
                self._forget(page_id)
            elif known is None or (known.hub, known.topic) != (links.hub, links.topic):
                self._put(begun(page_id, links, self._public_url, self._clock()))

    def confirm(self, token: str, topic: str, lease: float) -> bool:
        """A hub asks whether the subscription is wanted: whether it is."""
        own = self._asked_for(token, topic)
        if own is None:
            return False
        self._put(confirmed(own, self._clock(), lease))
        return True

    def deny(self, token: str, topic: str, why: str) -> bool:
        """A hub denies a subscription: whether there is such a one."""
        own = self._asked_for(token, topic)
        if own is None:
            return False
        self._put(denied(own, self._clock(), why))
        return True

    def secret(self, token: str) -> str | None:
        """By what a hub signs that calls by this token; None: nobody may."""
        page_id = self._by_token.get(token)
        return None if page_id is None else self._own[page_id].secret

    def signal(self, token: str) -> None:
        """A hub tells of a change; within a second, what it tells again is the same signal."""
        if (page_id := self._by_token.get(token)) is not None:
            self._told_of.add(page_id)

    @asynccontextmanager
    async def beside(self, journal: Journal) -> AsyncIterator[None]:
        """A context for a run in which hubs are asked; what goes wrong ends the run."""
        looking = self._incoming.begin(self._look(journal))
        try:
            yield
        finally:
            tasks = [looking, *self._asking.values()]
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await self._save(journal)

    async def _look(self, journal: Journal) -> None:
        while True:
            if self._told_of:
                page_ids = tuple(sorted(self._told_of & self._watched.keys()))
                self._told_of.clear()
                now = self._clock()
                self._incoming.put([Signalled(now, page_ids, now)] if page_ids else [])
            await self._save(journal)
            self._ask_due(journal)
            await asyncio.sleep(self._look_every)

    async def _save(self, journal: Journal) -> None:
        kept = [self._own[page_id] for page_id in self._unsaved if page_id in self._own]
        gone = [page_id for page_id in self._unsaved if page_id not in self._own]
        # What is not written, as the run ends, is unsaved still.
        if kept:
            await journal.write(self._store.save_subscriptions, kept)
            self._unsaved -= {own.page_id for own in kept if self._own.get(own.page_id) is own}
        if gone:
            await journal.write(self._store.drop_subscriptions, gone)
            self._unsaved -= set(gone) - self._own.keys()

    def _ask_due(self, journal: Journal) -> None:
        self._asking = {scope: task for scope, task in self._asking.items() if not task.done()}
        now = self._clock()
        if now < self._next_due:
            return
        self._next_due = math.inf
        for own in list(self._own.values()):
            scope = scope_of(own.hub)
            page = self._watched.get(own.page_id)
            if own.due_at > now:
                self._next_due = min(self._next_due, own.due_at)
            elif page is None or scope in self._asking or len(self._asking) >= _MOST_ASKED:
                self._next_due = now
            else:
                self._asking[scope] = self._incoming.begin(self._ask(own, page.page.url, journal))

    async def _ask(self, own: StoredSubscription, page_url: str, journal: Journal) -> None:
        own = asked(own, self._clock())
        self._put(own)
        await self._save(journal)  # before a hub asks back, perhaps in another run
        form = {
            "hub.mode": "subscribe",
            "hub.topic": own.topic,
            "hub.callback": own.callback,
            "hub.secret": own.secret,
            "hub.lease_seconds": str(ASKED_LEASE),
        }
        try:
            why = await self._hubs.ask(own.hub, form, named_by=page_url)
        except PostponedError as error:
            why = str(error)
        # It may have confirmed meanwhile, or be another one.
        if why is not None and self._own.get(own.page_id) == own:
            self._put(failed(own, why))

    def _asked_for(self, token: str, topic: str) -> StoredSubscription | None:
        page_id = self._by_token.get(token)
        own = None if page_id is None else self._own[page_id]
        return own if own is not None and own.asked_at is not None and own.topic == topic else None

    def _put(self, own: StoredSubscription) -> None:
        """Keep a new state of a subscription, in the store as well."""
        self._keep(own)
        self._unsaved.add(own.page_id)

    def _keep(self, own: StoredSubscription) -> None:
        known = self._own.get(own.page_id)
        if known is not None:
            del self._by_token[_token(known)]
        self._own[own.page_id] = own
        self._by_token[_token(own)] = own.page_id
        self._next_due = min(self._next_due, own.due_at)

    def _forget(self, page_id: int) -> None:
        if (own := self._own.pop(page_id, None)) is not None:
            del self._by_token[_token(own)]
            self._unsaved.add(page_id)


def _token(own: StoredSubscription) -> str:
    return own.callback.rpartition("/")[2]
