"""What the robots.txt of an origin allows (RFC 9309), fetched once a day.

What an answer means (section 2.3.1): 2xx: its rules. 3xx that leads nowhere, and 4xx: there are no
rules, all is allowed. 5xx, 429 ("not now") and no answer: nothing is allowed, and it is asked again
after 10 minutes, or at the time that Retry-After names.

A hostile file has tens of thousands of rules, which take seconds to read and to compare with a URL.
So only the rules that are meant for us are kept, and those of large files are read and compared by
another process, one at a time: their hosts wait for each other, and nobody else for them.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from pollwise.errors import PostponedError
from pollwise.types import PageMemory
from pollwise.units import DAY
from pollwise.web.beside import Beside
from pollwise.web.fetcher import USER_AGENT, Fetcher, FetchResult, Now
from pollwise.web.robots_rules import Rules, parse_rules, product_token
from pollwise.web.urls import origin_of, scope_of

__all__ = ["RobotsTxt"]

T = TypeVar("T")

_KEPT_FOR = DAY  # RFC 9309 section 2.4: not longer than 24 hours
_ASKED_AGAIN_AFTER = 600.0
_ASKED_AGAIN_SOON = 60.0
"""The same at first where there was no answer at all: the fault may be in the network here."""
_POSTPONED_FOR = 10.0
# Redirects and links may name any number of origins; the oldest is forgotten first.
_MAX_ORIGINS = 100_000
_MAX_HELD = 64 * 2**20  # bytes of all files, compressed
# Characters of rules that are read and compared within a few milliseconds.
_SMALL = 4096
_MAX_DECIDED = 1000


@dataclass(slots=True)
class _Origin:
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    rules: Rules | None = None
    postponed: tuple[float, type[PostponedError], str] | None = None
    """Until when not to ask again, and why; an error itself would hold all that it came through."""
    pause: float = _ASKED_AGAIN_SOON
    """Seconds until it is asked again if there is no answer."""


class RobotsTxt:
    """The robots.txt files of all origins, fetched when they are first needed.

    The product token of `user_agent`, that of the fetcher (before the `/`), selects the rules.
    Large files are read `beside` the loop (None: by a process of its own). `groups`: see
    `PoliteFetcher`.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        *,
        clock: Now,
        user_agent: str = USER_AGENT,
        beside: Beside | None = None,
        groups: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._beside = Beside() if beside is None else beside
        self._fetcher = fetcher
        self._groups = groups
        self._clock = clock
        self._product = product_token(user_agent)
        self._origins: dict[str, _Origin] = {}
        self._held = 0
        # By scope, the origins whose robots.txt asks for a delay.
        self._delays: dict[str, dict[str, float]] = {}
        self._decided: WeakKeyDictionary[Rules, dict[str, bool]] = WeakKeyDictionary()

    async def rules(self, url: str) -> Rules:
        """The rules for a URL: the same object for all callers until it expires.

        Calls during a fetch of the file wait for it. `InputError` if `url` is no http or https URL,
        `PostponedError` if the file could not be asked for.
        """
        name = origin_of(url)
        origin = self._origins.get(name)
        if origin is None:
            while len(self._origins) >= _MAX_ORIGINS or self._held > _MAX_HELD:
                oldest = next(iter(self._origins))
                self._hold(self._origins.pop(oldest), None)
                self._note_delay(oldest, 0.0)
            origin = self._origins[name] = _Origin()
        # A lock, not a shared future: if the caller that fetches is cancelled, the next one does.
        async with origin.asking:
            if origin.rules is None or origin.rules.expires_at <= self._clock():
                rules = await self._asked(name, origin)
                if self._origins.get(name) is not origin:  # forgotten meanwhile
                    return rules
                self._hold(origin, rules)
                self._note_delay(name, rules.crawl_delay)
                return rules
            return origin.rules

    def known(self, origin: str) -> Rules | None:
        """The rules of an origin that hold now, which take no time to apply; None: others do."""
        known = self._origins.get(origin)
        rules = None if known is None else known.rules
        if rules is None or rules.size > _SMALL or rules.expires_at <= self._clock():
            return None
        return rules

    async def _asked(self, name: str, origin: _Origin) -> Rules:
        if origin.postponed is not None and self._clock() < origin.postponed[0]:
            _, kind, why = origin.postponed
            raise kind(why)
        try:
            result = await self._fetcher.fetch(f"{name}/robots.txt", PageMemory())
        except PostponedError as error:
            # Those who waited for this fetch are not to wait for one of their own.
            origin.postponed = self._clock() + _POSTPONED_FOR, type(error), str(error)
            raise
        try:
            now = self._clock()
            pause = origin.pause
            longer = min(2 * pause, _ASKED_AGAIN_AFTER)
            origin.pause = longer if result.status is None else _ASKED_AGAIN_SOON
            if (refused := _without_rules(result, now, pause)) is not None:
                return refused
            parse = partial(parse_rules, expires_at=now + _KEPT_FOR)
            return await self._timely(len(result.body), parse, result.body, self._product)
        finally:
            result.release()

    def _note_delay(self, name: str, delay: float) -> None:
        host = scope_of(name)
        scope = self._groups.get(host, host)
        delays = self._delays.setdefault(scope, {})
        delays[name] = delay
        if not any(delays.values()):
            del self._delays[scope]

    def crawl_delay(self, scope: str) -> float:
        """The longest crawl delay in seconds that an origin of a politeness scope asks for."""
        delays = self._delays.get(scope)
        return max(delays.values()) if delays else 0.0

    def _hold(self, origin: _Origin, rules: Rules | None) -> None:
        for one, sign in ((origin.rules, -1), (rules, +1)):
            self._held += 0 if one is None else sign * len(one.text)
        origin.rules = rules

    async def allows(self, url: str) -> bool:
        """Whether `url` (canonical) may be fetched; `PostponedError` as for `rules`."""
        return await self.decide(await self.rules(url), url)

    async def refusal(self, url: str) -> str | None:
        """A `MayFollow` by which redirects are followed where robots.txt allows; see `rules`."""
        rules = await self.rules(url)
        if rules.unreachable is not None:
            return f"whose robots.txt cannot be had: {rules.unreachable}"
        return None if await self.decide(rules, url) else "refused by its robots.txt"

    async def decide(self, rules: Rules, url: str) -> bool:
        """What `rules.allows(url)` says; others are not held up, and it is remembered."""
        if rules.size <= _SMALL:
            return rules.allows(url)
        decided = self._decided.setdefault(rules, {})
        if url not in decided:
            if len(decided) >= _MAX_DECIDED:
                decided.clear()
            decided[url] = await self._timely(rules.size, rules.allows, url)
        return decided[url]

    async def _timely(self, size: int, function: Callable[..., T], *arguments: Any) -> T:
        """What a function gives for a file of this size, without holding up others."""
        if size <= _SMALL:
            return function(*arguments)
        return await self._beside.call(function, *arguments)


def _without_rules(result: FetchResult, now: float, pause: float) -> Rules | None:
    """What an answer means that has no rules in it; None: it has some.

    `pause`: the seconds until the file is asked for again if there is no answer.
    """
    status = result.status
    if status is not None and 300 <= status < 500 and status != 429:
        return Rules(now + _KEPT_FOR)
    if result.error is not None or status is None or not 200 <= status < 300:
        reason = result.error or f"status {status}"
        wait = (result.retry_after or 0.0) if status in (429, 503) else 0.0
        expires_at = now + (wait or (pause if status is None else _ASKED_AGAIN_AFTER))
        unanswered = result.unanswered
        return Rules(expires_at, unreachable=reason, retry_after=wait, unanswered=unanswered)
    return None
