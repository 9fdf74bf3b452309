"""A time-lapse of real pages: their recorded history, and a server of them as they once were.

`TimeLapse` holds the texts of pages over a window of time. `TimeLapseServer` serves them on this
machine over HTTP, each as it was at the time of a given clock, so that months of history pass in
minutes and a crawler can be watched at work offline.
"""

import asyncio
import json
import lzma
import socket
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import partial
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Self
from urllib.parse import quote

from aiohttp import web

from pollwise.errors import InputError, PollwiseError, TraceError
from pollwise.testing.hosts import HOSTS, HostBehaviour, ServedHost
from pollwise.testing.loopback import listen

__all__ = ["Revision", "TimeLapse", "TimeLapseServer", "site_of"]

# The window of the bundled pages: the texts that they had at its start may be older.
_BUNDLED_START = datetime(2025, 8, 1, tzinfo=UTC).timestamp()
_BUNDLED_END = datetime(2026, 8, 1, tzinfo=UTC).timestamp()

_ROW_FORMAT = 'an object such as {"page": "home", "time": 1.5, "body": "Hello"}'


class Revision(NamedTuple):
    """The text of a page, and when it became that (UTC seconds since 1970)."""

    time: float
    body: str


class TimeLapse:
    """Pages and their revisions between `start` and `end` (UTC seconds since 1970).

    `histories` has the revisions of each page, in order of time; a page whose first one is not
    older than `start` appeared then. `TraceError` if there is no page, a page has no revision, or
    its revisions are not in order.
    """

    def __init__(
        self, histories: Mapping[str, Sequence[Revision]], *, start: float, end: float
    ) -> None:
        if not histories or not start < end:
            raise TraceError(
                f"a time-lapse of {len(histories)} pages from {start} to {end};"
                " give at least one page, and an end after the start"
            )
        for name, history in histories.items():
            if not history or any(not a.time < b.time for a, b in pairwise(history)):
                raise TraceError(
                    f"page {name!r}: its revisions are none or not in order of time;"
                    " sort them by time, one at a time"
                )
        self.start = start
        self.end = end
        self._histories = {name: tuple(histories[name]) for name in sorted(histories)}

    @classmethod
    def bundled(cls) -> Self:
        """101 pages of 12 sites over one year, as data/README.md describes."""
        packed = resources.files("pollwise.testing") / "data" / "web.jsonl.xz"
        with resources.as_file(packed) as path:
            return cls.load(path, start=_BUNDLED_START, end=_BUNDLED_END)

    @classmethod
    def load(cls, path: Path, *, start: float | None = None, end: float | None = None) -> Self:
        """Read a file of JSON lines packed with xz, an object `{page, time, body}` a line.

        `start` and `end` are the first and last time of the file unless given. `TraceError`
        names the file and the line that cannot be read.
        """
        histories: dict[str, list[Revision]] = defaultdict(list)
        try:
            with lzma.open(path, "rt", encoding="utf-8") as lines:
                for number, line in enumerate(lines, start=1):
                    name, revision = _row(f"{path}, line {number}", line)
                    histories[name].append(revision)
        except (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError) as error:
            raise TraceError(
                f"{path}: the time-lapse cannot be read ({error});"
                " name a file of JSON lines packed with xz"
            ) from error
        times = [revision.time for history in histories.values() for revision in history]
        try:
            return cls(
                histories,
                start=min(times, default=0.0) if start is None else start,
                end=max(times, default=0.0) if end is None else end,
            )
        except TraceError as error:
            raise TraceError(f"{path}: {error}") from error

    @property
    def page_names(self) -> tuple[str, ...]:
        """The names of all pages, sorted."""
        return tuple(self._histories)

    def history(self, name: str) -> tuple[Revision, ...]:
        """All revisions of a page, oldest first; `InputError` for an unknown name."""
        try:
            return self._histories[name]
        except KeyError:
            raise InputError(
                f"no page {name!r} in this time-lapse; `page_names` has the names"
            ) from None

    def change_times(self, name: str) -> tuple[float, ...]:
        """When the page changed, after `start` and until `end`; to appear is no change."""
        return tuple(
            revision.time
            for revision in self.history(name)[1:]
            if self.start < revision.time <= self.end
        )

    def revision_at(self, name: str, time: float) -> Revision | None:
        """The revision that was current at a time; None: the page did not exist yet."""
        history = self.history(name)
        after = bisect_right(history, time, key=lambda revision: revision.time)
        return history[after - 1] if after else None

    def body_at(self, name: str, time: float) -> str | None:
        """The text of a page at a time; None: the page did not exist yet."""
        revision = self.revision_at(name, time)
        return None if revision is None else revision.body


def _row(place: str, line: str) -> tuple[str, Revision]:
    try:
        row = json.loads(line)
        name, time, body = row["page"], row["time"], row["body"]
    except (ValueError, TypeError, KeyError) as error:
        raise TraceError(
            f"{place}: no revision of a page ({error!r}); write {_ROW_FORMAT}"
        ) from error
    if not (isinstance(name, str) and isinstance(time, int | float) and isinstance(body, str)):
        raise TraceError(f"{place}: a value of a wrong type; write {_ROW_FORMAT}")
    return name, Revision(float(time), body)


class TimeLapseServer:
    """Serves a time-lapse over HTTP on this machine, each page as it was at `clock()`.

    An asynchronous context manager; the URLs are known once it is entered. The sites of the pages
    are spread evenly over `hosts`, each of which has an address of its own (127.0.0.1, ...) where
    the machine has them (Linux), else a port of its own: either way they are different politeness
    scopes, robots.txt and all.

    Hosts tell clients apart by their user-agent: two watchers with different ones do not disturb
    each other, and with the same requests get the same answers. `clock` gives UTC seconds since
    1970, `seed` decides which requests fail, `real_clock` gives the seconds that
    `HostBehaviour.limit` counts by, `sleep` is how a slow host waits. The attribute `hosts` has the
    behaviour of each host by its scope. Entering raises a `PollwiseError` where this machine lets
    no port be served.
    """

    def __init__(
        self,
        timelapse: TimeLapse,
        clock: Callable[[], float],
        *,
        hosts: Sequence[HostBehaviour] = HOSTS,
        seed: int = 0,
        real_clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.hosts: dict[str, HostBehaviour] = {}
        self._timelapse = timelapse
        self._behaviours = tuple(hosts)
        self._host = partial(ServedHost, clock=clock, seed=seed, real_clock=real_clock, sleep=sleep)
        self._served: dict[str, ServedHost] = {}
        self._scopes: dict[str, str] = {}
        self._running = AsyncExitStack()

    async def __aenter__(self) -> Self:
        names = self._timelapse.page_names
        sites = sorted({site_of(name) for name in names})
        async with AsyncExitStack() as started:
            for number, behaviour in enumerate(self._behaviours):
                hosted = sites[number :: len(self._behaviours)]
                own = frozenset(name for name in names if site_of(name) in hosted)
                host = self._host(behaviour, partial(self._revision_at, own))
                runner = web.ServerRunner(
                    web.Server(host.answer, handler_cancellation=True, access_log=None),
                    shutdown_timeout=0.1,
                )
                started.push_async_callback(runner.cleanup)
                scope = await _opened(runner, number)
                self.hosts[scope] = behaviour
                self._served[scope] = host
                self._scopes |= dict.fromkeys(own, scope)
            self._running = started.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._running.aclose()

    @property
    def requests(self) -> Counter[tuple[str, str]]:
        """How many requests were made so far, by user-agent and scope, robots.txt included."""
        return Counter(
            {
                (user_agent, scope): count
                for scope, host in self._served.items()
                for user_agent, count in host.requests.items()
            }
        )

    @property
    def urls(self) -> dict[str, str]:
        """The URL of each page by its name, in the order of the names."""
        return {name: self.url_of(name) for name in self._timelapse.page_names}

    def url_of(self, name: str) -> str:
        """The URL of a page, even if it does not exist yet; `InputError` for an unknown name."""
        return f"http://{self.host_of(name)}/{quote(name)}"

    def host_of(self, name: str) -> str:
        """The scope of a page, a key of `hosts`: `ADDRESS:PORT`; `InputError` as in `url_of`."""
        if name not in self._scopes:
            raise InputError(
                f"no page {name!r} on this server; enter it with `async with`, and take the name"
                " from the time-lapse's `page_names`"
            )
        return self._scopes[name]

    def _revision_at(self, own: frozenset[str], name: str, time: float) -> Revision | None:
        return self._timelapse.revision_at(name, time) if name in own else None


def site_of(name: str) -> str:
    """The site of a page: what its name has before the first slash.

    >>> site_of("example.org/news/today.html")
    'example.org'
    """
    return name.partition("/")[0]


async def _opened(runner: web.BaseRunner, number: int) -> str:
    """Serve on a port of the loopback address of this number; gives ADDRESS:PORT."""
    try:
        address = _loopback(number)
        port = await listen(runner, address)
        # Even where the loopback interface is down, a port can be opened.
        _, writer = await asyncio.open_connection(address, port)
        writer.close()
        await writer.wait_closed()
        return f"{address}:{port}"
    except OSError as error:
        raise PollwiseError(
            f"no port can be served on the loopback interface ({error.strerror or error});"
            " allow this process to listen on 127.0.0.1 and to connect to it"
        ) from error


def _loopback(number: int) -> str:
    """127.0.0.1, 127.0.0.2 ... where the machine has such an address, else 127.0.0.1."""
    address = f"127.0.0.{number + 1}"
    with socket.socket() as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return "127.0.0.1"
    return address
