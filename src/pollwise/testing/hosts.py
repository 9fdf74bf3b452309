"""The hosts of a time-lapse: mostly well behaved, some slow, strict, flaky or noisy."""

import asyncio
import hashlib
import html
import re
import time
from collections import Counter, defaultdict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime

import numpy as np
from aiohttp import web

from pollwise.testing.webserver import cut_off, not_modified

__all__ = ["HOSTS", "HostBehaviour", "ServedHost"]


@dataclass(frozen=True, slots=True)
class HostBehaviour:
    """How a host of a `TimeLapseServer` answers.

    `etag`, `last_modified`: the validators that it sends. `delay`: the seconds that an answer
    takes. `limit`: how many requests it answers in a second, the others get 429; None: all.
    `failing`: the share of requests that fail, at random with 503 or a connection closed in the
    middle. `varying`: every answer has another script and comment around the same visible text.
    `crawl_delay`: seconds, in robots.txt.
    """

    name: str
    etag: bool = True
    last_modified: bool = False
    delay: float = 0.0
    limit: int | None = None
    failing: float = 0.0
    varying: bool = False
    crawl_delay: float | None = None


HOSTS = (
    HostBehaviour("exact", last_modified=True),
    HostBehaviour("plain"),
    HostBehaviour("dated", etag=False, last_modified=True),
    HostBehaviour("calm", crawl_delay=10.0),
    HostBehaviour("bare", etag=False),
    HostBehaviour("slow", delay=5.0),
    HostBehaviour("limited", limit=1),
    HostBehaviour("failing", failing=0.1),
    HostBehaviour("varying", varying=True),
    HostBehaviour("quiet"),
    HostBehaviour("mild", crawl_delay=2.0),
    HostBehaviour("stamped", last_modified=True),
)
"""The hosts over which sites are spread, one for each of the bundled ones: most behave well."""


class _Client:
    """What a host remembers of one user-agent."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.answered_at: deque[float] = deque()


class ServedHost:
    """Answers the requests to one host; `answer` is a handler for `aiohttp.web.Server`.

    `revision_at(name, time)` gives the time and the text of the revision of the page `name` that
    is current at a time, or None. `requests` counts by user-agent. For the other arguments see
    `TimeLapseServer`.
    """

    def __init__(
        self,
        behaviour: HostBehaviour,
        revision_at: Callable[[str, float], tuple[float, str] | None],
        clock: Callable[[], float],
        *,
        seed: int = 0,
        real_clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.requests: Counter[str] = Counter()
        self._behaviour = behaviour
        self._revision_at = revision_at
        self._clock = clock
        self._real_clock = real_clock
        self._sleep = sleep
        # The same seed for all clients, so that watchers meet the same failures.
        self._clients: dict[str, _Client] = defaultdict(lambda: _Client(seed))

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer to one request; 404 for a page that does not exist yet.

        It ends its connection: one that is kept would be closed at a moment of the real time.
        """
        response = await self._answer(request)
        response.force_close()
        return response

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        user_agent = request.headers.get("User-Agent", "")
        self.requests[user_agent] += 1
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405, headers={"Allow": "GET, HEAD"})
        if request.path == "/robots.txt":
            return self._robots()
        client = self._clients[user_agent]
        if self._behaviour.delay:
            await self._sleep(self._behaviour.delay)
        if self._too_often(client):
            return web.Response(status=429, headers={"Retry-After": "1"})
        if client.chance.random() < self._behaviour.failing:
            if client.chance.random() < 0.5:
                return web.Response(status=503)
            return await cut_off(request)
        return self._page(request, client)

    def _robots(self) -> web.Response:
        lines = ["User-agent: *", "Disallow:"]
        if self._behaviour.crawl_delay is not None:
            lines.append(f"Crawl-delay: {self._behaviour.crawl_delay}")
        return web.Response(text="\n".join(lines) + "\n")

    def _too_often(self, client: _Client) -> bool:
        if self._behaviour.limit is None:
            return False
        now = self._real_clock()
        while client.answered_at and client.answered_at[0] <= now - 1:
            client.answered_at.popleft()
        if len(client.answered_at) >= self._behaviour.limit:
            return True
        client.answered_at.append(now)
        return False

    def _page(self, request: web.BaseRequest, client: _Client) -> web.Response:
        name, now = request.path.removeprefix("/"), self._clock()
        revision = self._revision_at(name, now)
        headers = {"Date": _http_date(now)}
        if revision is None:
            return web.Response(status=404, headers=headers, text="no such page")
        changed_at, text = revision
        document = _document(name, text)
        if self._behaviour.varying:
            document += _varying(client)
        body = document.encode()
        etag = modified_at = None
        if self._behaviour.etag:
            etag = headers["ETag"] = f'"{hashlib.blake2b(body, digest_size=16).hexdigest()}"'
        if self._behaviour.last_modified:
            modified_at = datetime.fromtimestamp(int(changed_at), UTC)
            headers["Last-Modified"] = _http_date(changed_at)
        if not_modified(request, etag, modified_at):
            return web.Response(status=304, headers=headers)
        headers["Content-Type"] = "text/html; charset=utf-8"
        return web.Response(body=body, headers=headers)


def _http_date(seconds: float) -> str:
    return format_datetime(datetime.fromtimestamp(int(seconds), UTC), usegmt=True)


def _document(name: str, text: str) -> str:
    found = re.search(r"^Title: *(.+)$", text, re.MULTILINE)
    title = html.escape(f"{name}: {found[1]}" if found else name)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title>'
        f"</head>\n<body>\n<h1>{title}</h1>\n<pre>{html.escape(text)}</pre>\n</body>\n</html>\n"
    )


def _varying(client: _Client) -> str:
    """A script and a comment that differ in every answer, which nobody sees."""
    number = client.chance.integers(2**32)
    return f"<script>var visit = {number};</script>\n<!-- answer {number:08x} -->\n"
