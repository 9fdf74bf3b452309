"""The last guard of the crawl delay: no exchange with a host begins too soon after another.

The scheduler spaces polls, and a poll spaces its own requests. But redirects of robots.txt may lead
to any host at any time, and from a thousand hosts to one; so every exchange of a collection passes
through here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from pollwise.errors import InputError
from pollwise.types import PageMemory
from pollwise.web.fetcher import Fetcher, FetchResult, MayFollow, Now, follow_none
from pollwise.web.urls import scope_of

__all__ = ["PoliteFetcher"]

_MOST_REDIRECTS = 5
_MOST_WAITING = 10
"""Exchanges that may wait for one host; only an attack makes more."""
_MANY_SCOPES = 10_000


@dataclass(slots=True)
class _Turn:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    ended_at: float = -float("inf")


class PoliteFetcher:
    """A `Fetcher` that makes the exchanges of another one wait for their turn.

    Each politeness scope has one exchange at a time, and at least `delay` seconds pass between the
    end of one and the start of the next; a redirect that is followed is an exchange of its own.
    When ten wait already, the result is an `error`. `sleep` waits for so many seconds; `clock`
    gives seconds.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        *,
        delay: float,
        clock: Now,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._fetcher = fetcher
        self._delay = delay
        self._clock = clock
        self._sleep = sleep
        self._turns: dict[str, _Turn] = {}
        self._kept = _MANY_SCOPES

    async def fetch(
        self, url: str, memory: PageMemory, *, may_follow: MayFollow | None = None
    ) -> FetchResult:
        """See `Fetcher.fetch`."""
        result = await self._exchange(url, memory)
        for _ in range(_MOST_REDIRECTS):
            target = result.redirected_to
            if target is None or (may_follow is not None and not await may_follow(target)):
                return replace(result, url=url)
            # Why not If-Modified-Since: see `pollwise.web.fetcher`.
            memory = replace(memory, last_modified=None)
            result = await self._exchange(target, memory)
        if result.redirected_to is not None:
            why = f"more than {_MOST_REDIRECTS} redirects"
            result = replace(result, error=why, redirected_to=None)
        return replace(result, url=url)

    async def _exchange(self, url: str, memory: PageMemory) -> FetchResult:
        try:
            turn = self._turn(scope_of(url))
        except InputError:  # the other fetcher says what is wrong with it
            return await self._fetcher.fetch(url, memory, may_follow=follow_none)
        if turn.waiting >= _MOST_WAITING:
            return FetchResult(url, url, error="too many requests to its host wait already")
        turn.waiting += 1
        try:
            async with turn.lock:
                # A loop, as a sleep may end a little early.
                while (wait := turn.ended_at + self._delay - self._clock()) > 0:
                    await self._sleep(min(wait, self._delay))
                try:
                    return await self._fetcher.fetch(url, memory, may_follow=follow_none)
                finally:
                    turn.ended_at = self._clock()
        finally:
            turn.waiting -= 1

    def _turn(self, scope: str) -> _Turn:
        turn = self._turns.get(scope)
        if turn is None:
            if len(self._turns) >= self._kept:
                self._forget_idle()
            turn = self._turns[scope] = _Turn()
        return turn

    def _forget_idle(self) -> None:
        """Drop the scopes that are free; next time when twice as many as now are kept."""
        free = self._clock() - self._delay
        self._turns = {s: t for s, t in self._turns.items() if t.waiting or t.ended_at > free}
        self._kept = max(_MANY_SCOPES, 2 * len(self._turns))
