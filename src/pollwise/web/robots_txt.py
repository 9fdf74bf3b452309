"""What the robots.txt of an origin allows (RFC 9309), fetched once a day.

What an answer means (section 2.3.1): 2xx: its rules. 3xx that leads nowhere, and 4xx: there are no
rules, all is allowed. 5xx, 429 ("not now") and no answer: nothing is allowed, and it is asked again
after 10 minutes.
"""

import asyncio
import re
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

from protego import Protego

from pollwise.errors import InputError
from pollwise.types import PageMemory
from pollwise.web.fetcher import USER_AGENT, Fetcher, FetchResult, Now
from pollwise.web.urls import canonical, origin_of

__all__ = ["RobotsTxt", "Rules"]

_KEPT_FOR = 86400.0  # RFC 9309 section 2.4: not longer than 24 hours
_ASKED_AGAIN_AFTER = 600.0
_LONGEST_DELAY = 86400.0
_MAX_SITEMAPS = 1000
_MAX_BYTES = 500 * 1024  # section 2.5: at least this much is read; the rest is ignored
# Redirects and links may name any number of origins; the oldest is forgotten first.
_MAX_ORIGINS = 100_000
_MAX_HELD = 64 * 2**20  # bytes of all files, compressed
# A parsed file takes up to twenty times the memory of its text: ten megabytes.
_PARSED_AT_A_TIME = 16
_AGENT_LINE = re.compile(r"\s*user[-\s]*agent[\s:]+([^#]*)", re.IGNORECASE)
_PRODUCT = re.compile(r"[a-z_-]*")  # section 2.2.1


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """What one reading of a robots.txt says to this robot; it holds until `expires_at`.

    `crawl_delay` is the time in seconds that it wants between two polls, at most a day (0: it does
    not say). `unreachable` says why the file could not be fetched (None: it could); then nothing is
    allowed. `text` is the file, compressed; if empty, all is allowed.
    """

    expires_at: float
    product: str
    crawl_delay: float = 0.0
    unreachable: str | None = None
    text: bytes = b""

    def allows(self, url: str) -> bool:
        """Whether a URL of this origin (canonical) may be fetched."""
        if self.unreachable is not None:
            return False
        return not self.text or _parsed(self.text).can_fetch(url, self.product)

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The sitemaps that the file names for all robots: canonical URLs, each once.

        At most 1,000; a line that names no http or https URL is left out.
        """
        found: dict[str, None] = {}
        lines = _parsed(self.text).sitemaps if self.text else ()
        for line in islice(lines, _MAX_SITEMAPS):
            with suppress(InputError):
                found[canonical(line)] = None
        return tuple(found)


@dataclass(slots=True)
class _Origin:
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    rules: Rules | None = None


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

    async def rules(self, url: str) -> Rules:
        """The rules for a URL: the same object for all callers until it expires.

        Calls during a fetch of the file wait for it. `InputError` if `url` is no http or https URL.
        """
        name = origin_of(url)
        origin = self._origins.get(name)
        if origin is None:
            while len(self._origins) >= _MAX_ORIGINS or self._held > _MAX_HELD:
                self._hold(self._origins.pop(next(iter(self._origins))), None)
            origin = self._origins[name] = _Origin()
        # A lock, not a shared future: if the caller that fetches is cancelled, the next one does.
        async with origin.asking:
            if origin.rules is None or origin.rules.expires_at <= self._clock():
                result = await self._fetcher.fetch(f"{name}/robots.txt", PageMemory())
                rules = _read(result, self._product, self._clock())
                if self._origins.get(name) is not origin:  # forgotten meanwhile
                    return rules
                self._hold(origin, rules)
                return rules
            return origin.rules

    def _hold(self, origin: _Origin, rules: Rules | None) -> None:
        for one, sign in ((origin.rules, -1), (rules, +1)):
            self._held += 0 if one is None else sign * len(one.text)
        origin.rules = rules

    async def allows(self, url: str) -> bool:
        """Whether `url` (canonical) may be fetched."""
        return (await self.rules(url)).allows(url)


def _read(result: FetchResult, product: str, now: float) -> Rules:
    status = result.status
    if status is not None and 300 <= status < 500 and status != 429:
        return Rules(now + _KEPT_FOR, product)
    if result.error is not None or status is None or not 200 <= status < 300:
        reason = result.error or f"status {status}"
        return Rules(now + _ASKED_AGAIN_AFTER, product, unreachable=reason)
    text = result.body[:_MAX_BYTES].decode(errors="replace").removeprefix("\ufeff")
    packed = zlib.compress(_folded(text, product).encode())
    delay = min(_parsed(packed).crawl_delay(product) or 0.0, _LONGEST_DELAY)
    return Rules(now + _KEPT_FOR, product, crawl_delay=delay, text=packed)


@lru_cache(_PARSED_AT_A_TIME)
def _parsed(packed: bytes) -> Protego:
    return Protego.parse(zlib.decompress(packed).decode())


def _folded(text: str, product: str) -> str:
    """The file with all other robots under one name.

    Protego copies every rule to every robot of its group: half a megabyte of a hostile file would
    fill the memory. It also matches parts of product tokens, unlike the RFC.
    """
    lines = []
    for line in text.splitlines():
        matched = _AGENT_LINE.match(line)
        if matched is None:
            lines.append(line)
        elif (value := matched[1].strip()) == "*":
            lines.append("user-agent: *")
        else:
            lines.append(f"user-agent: {product if _product(value) == product else '?'}")
    return "\n".join(lines)


def _product(user_agent: str) -> str:
    matched = _PRODUCT.match(user_agent.lower())
    return matched[0] if matched else ""
