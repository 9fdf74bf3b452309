"""The process that polls looks for requests, once a second or when told to, and does them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

from pollwise.events import Added
from pollwise.live.bell import Bell
from pollwise.live.clock import Clock
from pollwise.live.control import Carried, carry_out_waiting
from pollwise.live.followed_list import FollowedList
from pollwise.live.incoming import Incoming
from pollwise.live.journal import Journal
from pollwise.live.listed_pages import ListedPages
from pollwise.live.named_scopes import NamedScopes
from pollwise.live.reloading import Reloading
from pollwise.live.requests import (
    PAGES_AT_ONCE,
    ChangeSettings,
    Effect,
    Request,
    described,
    joined,
    pages_of,
)
from pollwise.store import Store

__all__ = ["RequestTaker"]

_LOOK_EVERY = 1.0


class RequestTaker:
    """Carries out requests beside a run, once the `bell` tells of them, and hands their events to
    its loop.

    `scopes` follow the pages. `say` is told of what was done. What is changed in the `followed`
    lists is carried out as well, and what `reloading` has to take in; what polls found of `listed`
    pages becomes their signals. `on_settings` is told of settings that hold from now on.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        bell: Bell,
        incoming: Incoming,
        scopes: NamedScopes,
        say: Callable[[str], None],
        followed: Sequence[FollowedList] = (),
        reloading: Reloading,
        listed: ListedPages,
        on_settings: Callable[[ChangeSettings], None] = lambda request: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._bell = bell
        self._incoming = incoming
        self._scopes = scopes
        self._say = say
        self._followed = followed
        self._reloading = reloading
        self._listed = listed
        self._on_settings = on_settings

    @asynccontextmanager
    async def beside(self, journal: Journal) -> AsyncIterator[None]:
        """A context for a run in which requests are taken in; what goes wrong ends the run.

        Those that wait already are taken in before it begins; what lists tell at its end waits for
        the next run.
        """
        await self._take_in_all(journal, carry_out_waiting)
        looking = self._incoming.begin(self._look(journal))
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.wait([looking])
        await journal.told()
        if self._listed:
            await journal.write(self._listed.leave, self._store, self._clock())

    async def _look(self, journal: Journal) -> None:
        while True:
            # The store is written first: what the loop knows is then in the store.
            await self._take_in_all(journal, carry_out_waiting)
            await self._take_in_all(journal, self._reloading.carry_out)
            if self._listed:
                self._incoming.put(
                    await journal.write(self._listed.carry_out, self._store, self._clock())
                )
            for followed in self._followed:
                await asyncio.to_thread(followed.look)
                await self._take_in_all(
                    journal, partial(followed.carry_out, followed=self._followed)
                )
                followed.tell(self._say)
            await self._bell.wait("requests", _LOOK_EVERY)

    async def _take_in_all(
        self, journal: Journal, carry_out: Callable[[Store, float], list[Carried]]
    ) -> None:
        """Hand over what is carried out; more pages than polls can wait for come in rounds."""
        rounds: list[list[Carried]] = []
        while done := await journal.write(carry_out, self._store, self._clock()):
            self._take_in(done)
            rounds.append(done)
            if sum(pages_of(carried.request) for carried in done) < PAGES_AT_ONCE:
                break
        for request, effect in _told(rounds):
            self._say(described(request, effect))

    def _take_in(self, done: Iterable[Carried]) -> None:
        """Hand over what was carried out."""
        for carried in done:
            for event in carried.events:
                if isinstance(event, Added):
                    self._scopes.add(event.pages)
            self._scopes.remove(carried.removed)
            self._incoming.put(carried.events)
            if carried.remasked is not None:
                self._incoming.remask(carried.remasked)
            if isinstance(carried.request, ChangeSettings):
                self._on_settings(carried.request)


def _told(rounds: Sequence[Sequence[Carried]]) -> Iterator[tuple[Request, Effect]]:
    """What was carried out, as it is told: what took several rounds by its kind."""
    kinds: dict[object, list[Carried]] = {}
    for carried in (carried for done in rounds for carried in done):
        is_part = len(rounds) > 1 and pages_of(carried.request) > 0
        kinds.setdefault(type(carried.request) if is_part else id(carried), []).append(carried)
    for parts in kinds.values():
        effects = [carried.effect for carried in parts]
        yield parts[0].request, effects[0] if len(effects) == 1 else joined(effects)
