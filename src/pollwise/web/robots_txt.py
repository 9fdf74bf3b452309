"""What the robots.txt of an origin allows (RFC 9309), fetched once a day.

What an answer means (section 2.3.1): 2xx: its rules. 3xx that leads nowhere, and 4xx: there are no
rules, all is allowed. 5xx, 429 ("not now") and no answer: nothing is allowed, and it is asked again
after 10 minutes, or at the time that Retry-After names.

A hostile file has tens of thousands of rules, which take seconds to read and to compare with a URL.
So only the rules that are meant for us are kept, and those of large files are read and compared in
a thread, one at a time: their hosts wait for each other, and nobody else for them.
"""

import asyncio
import re
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar
from weakref import WeakKeyDictionary

from protego import Protego

from pollwise.errors import InputError, PostponedError
from pollwise.types import PageMemory
from pollwise.web.fetcher import USER_AGENT, Fetcher, FetchResult, Now
from pollwise.web.urls import canonical, origin_of, scope_of

__all__ = ["RobotsTxt", "Rules"]

T = TypeVar("T")

_KEPT_FOR = 86400.0  # RFC 9309 section 2.4: not longer than 24 hours
_ASKED_AGAIN_AFTER = 600.0
_POSTPONED_FOR = 10.0
_LONGEST_DELAY = 86400.0
_MAX_SITEMAPS = 1000
_MAX_BYTES = 500 * 1024  # section 2.5: at least this much is read; the rest is ignored
# Redirects and links may name any number of origins; the oldest is forgotten first.
_MAX_ORIGINS = 100_000
_MAX_HELD = 64 * 2**20  # bytes of all files, compressed
# Parsed, a file takes up to sixty times as much memory.
_MAX_PARSED = 2**20  # characters
_MOST_PARSED = 256
# Characters of rules that are read and compared within a few milliseconds.
_SMALL = 4096
# Characters of rules times those of the URL: Protego looks for each rule in the whole URL.
_MAX_COMPARED = 2**28
_MAX_DECIDED = 1000

_LINE = re.compile(
    r"\s*(?:(?P<agent>user[-\s]*agent)|(?P<allow>allow)|(?P<disallow>d[ials]{3,6}[oa]w)"
    r"|(?P<delay>crawl[-\s]delay)|(?P<sitemap>site-?maps?))(?:\s*:|\s|$)(?P<value>[^#]*)",
    re.IGNORECASE,
)
_PRODUCT = re.compile(r"[a-z_-]*")  # section 2.2.1


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Rules:
    """What one reading of a robots.txt says to this robot; it holds until `expires_at`.

    `crawl_delay` is the time in seconds that it wants between two polls, at most a day (0: it does
    not say). `unreachable` says why the file could not be fetched (None: it could); then nothing is
    allowed, and `retry_after` are the seconds for which the host wants to be left alone (0: it does
    not say). `text` holds the rules and sitemaps, compressed, and `size` is its length before; if
    empty, all is allowed.
    """

    expires_at: float
    crawl_delay: float = 0.0
    unreachable: str | None = None
    retry_after: float = 0.0
    text: bytes = b""
    size: int = 0

    def allows(self, url: str) -> bool:
        """Whether a URL of this origin (canonical) may be fetched.

        Takes up to seconds for a large file; see `RobotsTxt.decide`.
        """
        if self.unreachable is not None:
            return False
        if not self.text:
            return True
        if self.is_too_long(url):
            return False
        return _PARSED.file(self.text).can_fetch(url, "*")

    def is_too_long(self, url: str) -> bool:
        """Whether a URL is disallowed as it would take too long to compare it with all rules."""
        return self.size * len(url) > _MAX_COMPARED

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The sitemaps that the file names for all robots: canonical URLs, each once.

        At most 1,000; a line that names no http or https URL is left out.
        """
        found: dict[str, None] = {}
        for line in _unpacked(self.text)[1] if self.text else ():
            with suppress(InputError):
                found[canonical(line)] = None
        return tuple(found)


@dataclass(slots=True)
class _Origin:
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    rules: Rules | None = None
    postponed: tuple[float, str] | None = None
    """Until when not to ask again, and why."""


class RobotsTxt:
    """The robots.txt files of all origins, fetched when they are first needed.

    The product token of `user_agent`, that of the fetcher (before the `/`), selects the rules.
    """

    def __init__(self, fetcher: Fetcher, *, clock: Now, user_agent: str = USER_AGENT) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._product = _product(user_agent)
        self._origins: dict[str, _Origin] = {}
        self._held = 0
        # By scope, the origins whose robots.txt asks for a delay.
        self._delays: dict[str, dict[str, float]] = {}
        self._in_thread = asyncio.Semaphore(1)
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

    async def _asked(self, name: str, origin: _Origin) -> Rules:
        if origin.postponed is not None and self._clock() < origin.postponed[0]:
            raise PostponedError(origin.postponed[1])
        try:
            result = await self._fetcher.fetch(f"{name}/robots.txt", PageMemory())
        except PostponedError as error:
            # Those who waited for this fetch are not to wait for one of their own.
            origin.postponed = self._clock() + _POSTPONED_FOR, str(error)
            raise
        try:
            return await self._timely(
                len(result.body), lambda: _read(result, self._product, self._clock())
            )
        finally:
            result.release()

    def _note_delay(self, name: str, delay: float) -> None:
        delays = self._delays.setdefault(scope_of(name), {})
        delays[name] = delay
        if not any(delays.values()):
            del self._delays[scope_of(name)]

    def crawl_delay(self, scope: str) -> float:
        """The longest crawl delay in seconds that an origin of a politeness scope asks for."""
        return max(self._delays.get(scope, {}).values(), default=0.0)

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
            return f"whose robots.txt cannot be had ({rules.unreachable})"
        return None if await self.decide(rules, url) else "refused by its robots.txt"

    async def decide(self, rules: Rules, url: str) -> bool:
        """What `rules.allows(url)` says; others are not held up, and it is remembered."""
        if rules.size <= _SMALL:
            return rules.allows(url)
        decided = self._decided.setdefault(rules, {})
        if url not in decided:
            if len(decided) >= _MAX_DECIDED:
                decided.clear()
            decided[url] = await self._timely(rules.size, lambda: rules.allows(url))
        return decided[url]

    async def _timely(self, size: int, work: Callable[[], T]) -> T:
        """What `work` on a file of this size gives, without holding up others."""
        if size <= _SMALL:
            return work()
        async with self._in_thread:
            return await asyncio.to_thread(work)


def _read(result: FetchResult, product: str, now: float) -> Rules:
    status = result.status
    if status is not None and 300 <= status < 500 and status != 429:
        return Rules(now + _KEPT_FOR)
    if result.error is not None or status is None or not 200 <= status < 300:
        reason = result.error or f"status {status}"
        wait = (result.retry_after or 0.0) if status in (429, 503) else 0.0
        expires_at = now + (wait or _ASKED_AGAIN_AFTER)
        return Rules(expires_at, unreachable=reason, retry_after=wait)
    text = result.body[:_MAX_BYTES].decode(errors="replace").removeprefix("\ufeff")
    lines, sitemaps = _own_lines(text, product)
    paths = [line for line in lines if not line.startswith("crawl-delay")]
    delays = [line for line in lines if line.startswith("crawl-delay")]
    delay = _parsed(delays).crawl_delay("*") or 0.0
    rules = "\n".join(paths)
    packed = zlib.compress("\n\n".join([rules, "\n".join(sitemaps)]).encode())
    return Rules(
        now + _KEPT_FOR,
        crawl_delay=min(delay, _LONGEST_DELAY),
        text=packed if paths or sitemaps else b"",
        size=len(rules),
    )


def _own_lines(text: str, product: str) -> tuple[list[str], list[str]]:
    """The rules of a robots.txt that are meant for us, each once, and the sitemaps that it names.

    That is the rules of the groups that name our product token; if none does, those for all robots
    (section 2.2.1). What the standard does not know ends no group (section 2.2.4). Takes time in
    proportion to the text, where Protego would copy every rule to every robot of its group; and it
    matches parts of product tokens.
    """
    own: dict[str, None] = {}
    general: dict[str, None] = {}
    sitemaps: list[str] = []
    named = in_rules = False
    for_us = for_all = False
    for line in text.splitlines():
        matched = _LINE.match(line)
        if matched is None:
            continue
        value = matched["value"].strip()
        if matched["sitemap"]:
            sitemaps += [value] if len(sitemaps) < _MAX_SITEMAPS else []
        elif matched["agent"]:
            if in_rules:
                in_rules = for_us = for_all = False
            for_us = for_us or _product(value) == product != ""
            for_all = for_all or value == "*"
            named = named or for_us
        else:
            in_rules = True
            kind = "disallow"
            if not matched["disallow"]:
                kind = "allow" if matched["allow"] else "crawl-delay"
            if value and for_us:
                own[f"{kind}:{value}"] = None
            if value and for_all:
                general[f"{kind}:{value}"] = None
    return list(own if named else general), sitemaps


def _parsed(lines: Iterable[str]) -> Protego:
    return Protego.parse("\n".join(["user-agent: *", *lines]))


class _ParsedFiles:
    """The files read last, parsed; from any thread."""

    def __init__(self) -> None:
        self._files: OrderedDict[bytes, tuple[int, Protego]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def file(self, packed: bytes) -> Protego:
        with self._lock:
            if packed in self._files:
                self._files.move_to_end(packed)
                return self._files[packed][1]
        rules, _ = _unpacked(packed)
        parsed = _parsed([rules])
        with self._lock:
            if packed not in self._files:
                self._files[packed] = len(rules), parsed
                self._size += len(rules)
            while self._size > _MAX_PARSED or len(self._files) > _MOST_PARSED:
                self._size -= self._files.popitem(last=False)[1][0]
        return parsed


_PARSED = _ParsedFiles()


def _unpacked(packed: bytes) -> tuple[str, list[str]]:
    """The rules and the sitemaps of a text of `Rules`."""
    rules, _, sitemaps = zlib.decompress(packed).decode().partition("\n\n")
    return rules, sitemaps.split("\n")


def _product(user_agent: str) -> str:
    matched = _PRODUCT.match(user_agent.lower())
    return matched[0] if matched else ""
