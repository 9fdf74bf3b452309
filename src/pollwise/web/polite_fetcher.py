"""The last guard of the crawl delay: no exchange with a host begins too soon after another.

The scheduler spaces polls, and a poll spaces its own requests. But redirects may lead to any host
at any time, and from a thousand hosts to one; so every exchange of a watch and of a collection
passes through here. That is why redirects are followed here, for all.

Validators and redirects. A validator names one state of one resource (RFC 9110 section 8.8). When
page A redirects to B, the copy and its validators are B's. `If-None-Match` is sent along with every
redirect, as two resources hardly ever share an entity tag: only B can answer 304. But
`If-Modified-Since` is only sent to the URL asked for: should A one day redirect to C, a page older
than the copy, then C would answer "not modified" for content never seen. For the same reason the
`last_modified` of a redirected answer should not be remembered.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from pollwise.errors import InputError, PostponedError
from pollwise.types import PageMemory
from pollwise.web.addresses import Addresses
from pollwise.web.fetcher import (
    Asking,
    Begun,
    Exchanges,
    FetchResult,
    HttpFetcher,
    MayFollow,
    Now,
    Told,
    follow_none,
)
from pollwise.web.traffic import Traffic
from pollwise.web.urls import Divided, scope_of, shown

__all__ = ["APART", "Ask", "BegunFetch", "PoliteFetcher"]

Ask = Callable[[], Awaitable[FetchResult]]
"""Makes one exchange."""

_MAX_REDIRECTS = 5
_MANY_SCOPES = 10_000


@dataclass(frozen=True, slots=True)
class _Patience:
    """How many exchanges may be under way or wait at one host, and for how many seconds each.

    Only an attack makes more; and a poll counts as under way meanwhile.
    """

    most_waiting: int
    longest_wait: float


_ASKED_FOR = _Patience(10, 45.0)
_REDIRECTED = _Patience(5, 20.0)
"""However many pages redirect to a host, those who ask for its own pages find room."""
_LONGEST_DELAY = 180.0
"""The longest delay in seconds that is waited for within a fetch: of the 240 seconds of a poll, the
rest is left for its exchanges."""
_LONGEST_DELAY_AGAIN = 90.0
"""The longest delay for a fetch that is made again, of which a poll may have two."""
APART = 1.1
"""Seconds before a fetch is made again, at least: clocks that show seconds have moved."""


@dataclass(slots=True)
class _Turn:
    """Whose turn it is at one scope. `parts` counts the exchanges under way beside the turns.

    Of the fetches that are made again one at a time waits for its turn, so that others wait for one
    of these at most.
    """

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    again: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    parts: int = 0
    ended_at: float = -float("inf")
    blocked_until: float = -float("inf")
    is_begun: bool = False
    """Whether an exchange is under way that was begun at once, without the lock."""
    left: asyncio.Future[None] | None = None
    """What is done when that has ended; None: nobody waits for it."""

    def begin(self) -> None:
        """Begin an exchange at once, as nobody has the turn or waits for it."""
        self.is_begun = True
        self.waiting += 1

    def leave(self, now: float) -> None:
        """End the exchange that was begun."""
        self.ended_at = now
        self.is_begun = False
        self.waiting -= 1
        if self.left is not None and not self.left.done():
            self.left.set_result(None)

    async def until_left(self) -> None:
        """Wait for the end of the exchange that was begun; for who has the lock."""
        while self.is_begun:
            self.left = asyncio.get_running_loop().create_future()
            await self.left
        self.left = None


class BegunFetch:
    """A fetch that was begun: its first exchange, and the turn of the host, which it has until that
    ends.
    """

    __slots__ = ("_fetcher", "_told", "exchange", "is_over", "scope", "turn")

    exchange: Begun

    def __init__(self, fetcher: "PoliteFetcher", scope: str, turn: _Turn, told: Told) -> None:
        self._fetcher = fetcher
        self._told = told
        self.scope = scope
        self.turn = turn
        self.is_over = False

    def heard(self, result: FetchResult | None) -> None:
        """Take the result of the exchange; None: see `Told`."""
        if result is not None:
            self._fetcher.ended(self, result)
        self._told(result)


class PoliteFetcher:
    """The `Fetcher`: follows up to 5 redirects, and makes all exchanges wait for their turn.

    Each politeness scope has one exchange at a time, and at least `delay` seconds pass between the
    end of one and the start of the next, or `host_delay(scope)` if that is more; a redirect that is
    followed is an exchange of its own. `groups` has the scopes of hosts that share one with
    others; the scope of every other host is its own. After 429 or 503 with Retry-After none begins
    before that time, nor within `blocked_for(scope)` seconds from now, which others know of it.

    With `addresses`, hosts at one address also wait for each other, `delay` seconds at least.

    An exchange is not made if its turn is more than 45 seconds away (20 after a redirect), or if
    ten (five) are under way or wait there already: `PostponedError`. A redirect to a host that this
    fetch has asked before also waits for the delay of that host, as it would have to each time; it
    is a result with `error` if that is more than 180 seconds. So does a fetch that is made `again`,
    after 1.1 seconds at least; `PostponedError` if the delay is more than 90 seconds. Others of the
    host have their turns meanwhile, and wait for one that is made again at most. `sleep` waits
    for so many seconds; `clock` gives seconds. `traffic` counts the exchanges.
    """

    def __init__(
        self,
        exchanges: Exchanges,
        *,
        delay: float,
        clock: Now,
        sleep: Callable[[float], Awaitable[None]],
        host_delay: Callable[[str], float] = lambda scope: 0.0,
        blocked_for: Callable[[str], float] = lambda scope: 0.0,
        groups: Mapping[str, str] = MappingProxyType({}),
        addresses: Addresses | None = None,
        traffic: Traffic | None = None,
    ) -> None:
        self._exchanges = exchanges
        self._at_once = exchanges if isinstance(exchanges, HttpFetcher) else None
        self._delay = delay
        self._host_delay = host_delay
        self._blocked_for = blocked_for
        self._groups = groups
        self._addresses = addresses
        self._traffic = Traffic() if traffic is None else traffic
        self._clock = clock
        self._sleep = sleep
        self._turns: dict[str, _Turn] = {}
        self._kept = _MANY_SCOPES

    async def fetch(
        self,
        url: str,
        memory: PageMemory,
        *,
        may_follow: MayFollow | None = None,
        again: bool = False,
    ) -> FetchResult:
        """See `Fetcher.fetch`."""
        if not again:
            return await self._fetch(url, memory, _ASKED_FOR, may_follow)
        scope = self._scope_of(url)
        delay = self._delay_of(scope)
        if delay > _LONGEST_DELAY_AGAIN:
            raise PostponedError(f"{scope} wants {delay:g} s between requests")
        patience = replace(_ASKED_FOR, longest_wait=_ASKED_FOR.longest_wait + delay)
        await self._sleep(APART)
        async with self._turn(scope).again:
            return await self._fetch(url, memory, patience, may_follow, again=True)

    async def _fetch(
        self,
        url: str,
        memory: PageMemory,
        patience: _Patience,
        may_follow: MayFollow | None,
        *,
        again: bool = False,
    ) -> FetchResult:
        """A fetch whose first exchange has this patience."""
        result = await self._exchange(url, memory, patience)
        return await self._followed(result, url, memory, may_follow, again=again)

    async def _followed(
        self,
        result: FetchResult,
        url: str,
        memory: PageMemory,
        may_follow: MayFollow | None,
        *,
        again: bool = False,
    ) -> FetchResult:
        """The result of a fetch whose first exchange had this one."""
        asked, targets = set(), {result.final_url}
        for _ in range(_MAX_REDIRECTS):
            target = result.redirected_to
            if target is None or may_follow is follow_none:
                return result if result.url == url else replace(result, url=url)
            asked.add(self._scope_of(result.final_url))
            patience, scope = _REDIRECTED, self._scope_of(target)
            if scope in asked or again:
                delay = self._delay_of(scope)
                if delay > _LONGEST_DELAY:
                    asks = f"{scope} wants {delay:g} s between requests"
                    error = f"redirected to {shown(target)}, but {asks}: too long for one poll"
                    # Without a status: nothing is known of what is there.
                    return replace(result, url=url, status=None, redirected_to=None, error=error)
                patience = replace(patience, longest_wait=patience.longest_wait + delay)
            if may_follow is not None:
                if scope in asked:
                    # The target's robots.txt may have to be asked for as well.
                    await self._wait(
                        scope, self._turn(scope), self._clock() + patience.longest_wait
                    )
                if (why := await may_follow(target)) is not None:
                    return replace(result, url=url, error=f"redirected to {shown(target)}, {why}")
            memory = replace(memory, last_modified=None)
            targets.add(target)
            result = await self._exchange(target, memory, patience)
        if result.redirected_to is not None:
            why = f"more than {_MAX_REDIRECTS} redirects"
            if result.redirected_to in targets:
                why += ", in a circle: as where a cookie is wanted, which --cookie-file gives"
            result = replace(result, error=why, redirected_to=None)
        return replace(result, url=url)

    def begin(self, url: str, parts: Divided, memory: PageMemory, told: Told) -> BegunFetch | None:
        """Begin a fetch that needs nothing but its answer; None: it needs more.

        See `HttpFetcher.begin`. Besides, it has to be the turn of the host.
        """
        if self._at_once is None or self._addresses is not None:
            return None
        scope = self._groups.get(parts.scope, parts.scope)
        turn = self._turn(scope)
        if turn.waiting or self._free_at(scope, turn) > self._clock():
            return None
        begun = BegunFetch(self, scope, turn, told)
        exchange = self._at_once.begin(url, parts, memory, begun.heard)
        if exchange is None:
            return None
        begun.exchange = exchange
        turn.begin()
        self._traffic.requests += 1
        return begun

    def ended(self, begun: BegunFetch, result: FetchResult) -> None:
        """The exchange of a fetch that was begun had this result."""
        self._heed(begun.scope, result)
        begun.turn.leave(self._clock())

    async def go_on(
        self, begun: BegunFetch, memory: PageMemory, may_follow: MayFollow | None
    ) -> FetchResult:
        """The result of a fetch that was begun, in which redirects are followed: see `fetch`."""
        assert self._at_once is not None, "it was begun here"
        try:
            result = await self._at_once.go_on(begun.exchange)
            self._heed(begun.scope, result)
        finally:
            begun.is_over = True
            begun.turn.leave(self._clock())
        return await self._followed(result, begun.exchange.url, memory, may_follow)

    def give_up(self, begun: BegunFetch) -> None:
        """End a fetch that was begun, if nothing was told of it and it did not go on."""
        if begun.is_over:
            return
        begun.is_over = True
        begun.exchange.give_up()
        begun.turn.leave(self._clock())

    async def in_turn(self, url: str, ask: Ask) -> FetchResult:
        """What `ask` gives, called when it is the turn of the host of `url`.

        `PostponedError` as for `fetch`.
        """
        return await self._in_turn(url, ask, _ASKED_FOR)

    async def _exchange(self, url: str, memory: PageMemory, patience: _Patience) -> FetchResult:
        return await self._in_turn(url, lambda: self._exchanges.fetch(url, memory), patience)

    async def _in_turn(self, url: str, ask: Ask, patience: _Patience) -> FetchResult:
        try:
            scope = self._scope_of(url)
        except InputError:  # that is said in the answer
            return await ask()
        address = None if self._addresses is None else await self._addresses.of(url)
        names = [scope] if address is None else [scope, f"address {address}"]
        asked_at = self._clock()
        return await self._taken(
            names,
            patience,
            asked_at + patience.longest_wait,
            lambda: self._asked(scope, ask, asked_at),
        )

    async def _asked(self, scope: str, ask: Ask, wanted_at: float) -> FetchResult:
        """What an exchange gives whose turn has come."""
        self._traffic.note_wait(self._clock() - wanted_at)
        self._traffic.requests += 1
        result = await ask()
        self._heed(scope, result)
        return result

    async def fetch_part(self, url: str, asking: Asking) -> FetchResult:
        """One exchange for a page that was fetched in its turn: what a browser asks for with it.

        It does not wait for its turn, but the next turn of the host comes after it. No redirect is
        followed. `PostponedError` if the host wants to be left alone.
        """
        scope = self._scope_of(url)
        turn = self._turn(scope)
        if turn.blocked_until > self._clock() or self._blocked_for(scope) > 0:
            raise PostponedError(f"{scope} wants to be left alone")
        self._traffic.requests += 1
        turn.parts += 1
        try:
            result = await self._exchanges.fetch(url, PageMemory(), asking=asking)
        finally:
            turn.parts -= 1
            turn.ended_at = self._clock()
        self._heed(scope, result)
        return result

    def _heed(self, scope: str, result: FetchResult) -> None:
        self._traffic.note_answer(result.status, result.wire_bytes)
        if result.status in (429, 503) and result.retry_after:
            self._turn(scope).blocked_until = self._clock() + result.retry_after

    async def _taken(
        self, names: Sequence[str], patience: _Patience, until: float, ask: Ask
    ) -> FetchResult:
        """What `ask` gives in the turns at these names; see `_require_soon`."""
        if not names:
            return await ask()
        name, *others = names
        turn = self._turn(name)
        if turn.waiting >= patience.most_waiting:
            raise PostponedError(f"too many requests to {name} wait already")
        if turn.waiting:
            self._require_soon(name, turn, until - turn.waiting * self._delay_of(name))
        turn.waiting += 1
        try:
            async with turn.lock:
                await turn.until_left()
                await self._wait(name, turn, until)
                try:
                    return await self._taken(others, patience, until, ask)
                finally:
                    turn.ended_at = self._clock()
        finally:
            turn.waiting -= 1

    def _scope_of(self, url: str) -> str:
        host = scope_of(url)
        return self._groups.get(host, host)

    async def _wait(self, scope: str, turn: _Turn, until: float) -> None:
        """Wait until the host is free; `PostponedError` if it is not at the time `until`."""
        # A loop, as a sleep may end a little early.
        while (wait := self._require_soon(scope, turn, until)) > 0:
            await self._sleep(wait)

    def _require_soon(self, scope: str, turn: _Turn, until: float) -> float:
        """The seconds until the host is free; `PostponedError` if it is not at the time `until`."""
        now, free = self._clock(), self._free_at(scope, turn)
        if max(now, free) > until:
            raise PostponedError(f"{scope} is busy: a request would wait too long for its turn")
        return free - now

    def _free_at(self, scope: str, turn: _Turn) -> float:
        free_at = max(turn.ended_at + self._delay_of(scope), turn.blocked_until)
        blocked_for = self._blocked_for(scope)
        # Time passes between two looks at the clock: 0 seconds from now is never over.
        return max(free_at, self._clock() + blocked_for) if blocked_for > 0 else free_at

    def _delay_of(self, scope: str) -> float:
        return max(self._delay, self._host_delay(scope))

    def _turn(self, scope: str) -> _Turn:
        turn = self._turns.get(scope)
        if turn is None:
            if len(self._turns) >= self._kept:
                self._forget_idle()
            turn = self._turns[scope] = _Turn()
        return turn

    def _forget_idle(self) -> None:
        """Drop the scopes that are free; next time when twice as many as now are kept."""
        now = self._clock()
        self._turns = {
            s: t
            for s, t in self._turns.items()
            if t.waiting or t.parts or self._free_at(s, t) > now
        }
        self._kept = max(_MANY_SCOPES, 2 * len(self._turns))
