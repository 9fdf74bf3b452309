"""Hosts on loopback addresses for the benchmarks, in a process of their own, with a log.

As a program it serves until its standard input is closed; then it writes its log. `serving` runs it
and gives what the hosts serve, `Log` reads what they were asked.
"""

import argparse
import asyncio
import itertools
import json
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pollwise.testing.loopback import loopback_address
from pollwise.testing.webserver import MisbehavingHosts, MisbehavingServer

FIRST_PLAIN = 1000
"""The number of the first loopback address of plain hosts; those that mean ill begin at 0."""
LIMIT_OF_FILES = 65_536

Floats = NDArray[np.float64]

ROBOTS = "/robots.txt"
_IF_NONE_MATCH = re.compile(rb"if-none-match: *([^\r\n]+)", re.IGNORECASE)
EVIL: dict[str, list[dict[str, str]]] = {
    "tarpits": [{"/": "/never"}, {"/": "/never", ROBOTS: "/never"}],
    "drips": [{"/": "/endless-drip"}, {"/": "/drip-headers"}, {"/": "/slow-body"}],
    "headers": [{"/": "/endless-headers"}, {"/": "/endless-status"}, {"/": "/long-header"}],
    "interim": [{"/": "/endless-interim"}, {"/": "/interim/100000"}],
    "bodies": [{"/": "/huge?bytes=10000000"}],
    "endless": [{"/": "/endless"}, {"/": "/gzip-endless"}],
    "bombs": [{"/": "/gzip-bomb"}, {"/": "/gzip-members"}, {"/": "/deflate-bomb"}],
    "robots": [
        {ROBOTS: f"/robots/{kind}"}
        for kind in ("rules", "groups", "agents", "wildcards", "wildcard", "stars", "percent")
    ],
    "robots answers": [
        {ROBOTS: f"/robots/{kind}"} for kind in ("endless", "binary", "long-line", "delay-1e308")
    ],
    "refusals": [
        {"/": "/status/429?retry_after=1"},
        {"/": "/status/503"},
        {"/": "/flapping"},
        {ROBOTS: "/status/503"},
    ],
    "wire": [
        {"/": path}
        for path in ("/reset", "/closed", "/cut-off", "/reset-midway", "/not-http", "/length/9999")
    ],
    "markup": [
        {"/": f"/html/{kind}"}
        for kind in ("deep", "unclosed", "quotes", "comments", "entities", "attributes", "tables")
    ],
    "noise": [{"/": "/clock"}, {"/": "/etag-new"}, {"/": "/modified/now"}, {"/": "/terminal"}],
    "redirects": [{"/": "/redirect-endless/0"}, {"/": "/redirect-loop"}],
}
"""What hosts do, by attack: the behaviours of a host by path, in turn."""
EVIL["everything"] = [each for kinds in EVIL.values() for each in kinds]
TO_ONE_HOST = "redirects to one host"
"""All hosts redirect to one, which wants ten seconds between requests."""


AGAIN = -2
"""Stands for a page that had been served before and is fetched without a validator, as a look for
noise does: that is part of the poll before."""


_FULL_WORDS = 2_500
_FULL_TEXTS = 64
_FULL_LINKS = 100
"""What a page in full has: 2,500 words in markup, one of so many texts, and links: 43 kB or so."""


class FullPages:
    """Pages in full of some hosts, whose links lead to pages of all of them.

    Each has one of a few texts, which its number and its edition begin.
    """

    def __init__(self, urls: list[str]) -> None:
        generator = np.random.default_rng(0)
        letters = np.array(list("aeioubdklmnprst"))
        words = ["".join(generator.choice(letters, 3 + n % 8)) for n in range(2_000)]
        self._texts = [
            " ".join(
                f"<p class='paragraph'>{word}" if n % 30 == 0 else f"<i>{word}</i>"
                for n, word in enumerate(generator.choice(words, _FULL_WORDS))
            ).encode()
            for _ in range(_FULL_TEXTS)
        ]
        self._urls = urls
        self._words = words

    def body(self, number: int, edition: int) -> bytes:
        """The page of this number among the URLs."""
        urls, words = self._urls, self._words
        # Steps of a prime length, so that the pages reached are spread over all.
        targets = range(number * _FULL_LINKS + 1, (number + 1) * _FULL_LINKS + 1)
        links = "".join(
            f"<li><a href='{urls[target * 7919 % len(urls)]}'>{words[target % len(words)]}</a></li>"
            for target in targets
        )
        title = f"<!doctype html><html><head><title>Page {number}</title></head><body>"
        head = f"{title}<h1>Page {number}</h1><p>Edition {edition}."
        return head.encode() + self._texts[number % _FULL_TEXTS] + f"<ul>{links}</ul>".encode()


class PlainHosts(asyncio.Protocol):
    """A connection to one of many hosts with small pages, each of which changes at its own pace, or
    never, if they are `steady`.

    With `full` they are pages in full and answered without a validator. `log` gets the number of
    the host, that of the page (-1: none), begin and end of each exchange. `served` are the pages,
    with their hosts, that were served so far.
    """

    def __init__(
        self,
        log: list[tuple[int, int, float, float]],
        served: set[tuple[int, int]],
        *,
        steady: bool,
        full: FullPages | None = None,
        hosts: int = 1,
    ) -> None:
        self._log = log
        self._served = served
        self._steady = steady
        self._full = full
        self._hosts = hosts
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        *_, third, fourth = transport.get_extra_info("sockname")[0].split(".")
        self._host = (int(third) - 1) * 250 + int(fourth) - 1 - FIRST_PLAIN

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            request, _, self._received = self._received.partition(b"\r\n\r\n")
            known = _IF_NONE_MATCH.search(request)
            path = request.split(b" ", 2)[1].decode()
            self._answer(path, None if known is None else known[1].decode())

    def _answer(self, path: str, known: str | None) -> None:
        begun_at = time.monotonic()
        page = int(path[1:]) if path[1:].isdecimal() else -1
        status, body, etag = "404 Not Found", b"no such page", ""
        if page >= 0:
            period = 2.0 + (self._host * 7 + page * 13) % 120
            edition = 0 if self._steady else int(begun_at / period)
            etag = f'"{edition}"'
            status, body = "200 OK", f"<title>{self._host}/{page}</title>{edition}".encode()
            if self._full is not None:
                etag, body = "", self._full.body(page * self._hosts + self._host, edition)
            elif known == etag:
                status, body = "304 Not Modified", b""
        length = f"Content-Type: text/html\r\nContent-Length: {len(body)}\r\n" if body else ""
        validator = f"ETag: {etag}\r\n" if etag else ""
        head = f"HTTP/1.1 {status}\r\n{length}{validator}\r\n"
        self._transport.write(head.encode() + body)
        told = page
        if page >= 0 and known is None and (self._host, page) in self._served:
            told = AGAIN
        self._served.add((self._host, page))
        self._log.append((self._host, told, begun_at, time.monotonic()))


@dataclass(frozen=True)
class Log:
    """Exchanges: hosts by number, their pages (-1: none, as robots.txt, or AGAIN), begin and end.

    Times are those of `time.monotonic`, which all processes of a machine share.
    """

    host: NDArray[np.int64]
    page: NDArray[np.int64]
    begun_at: Floats
    ended_at: Floats

    @classmethod
    def read(cls, path: Path) -> "Log":
        """The log that the program wrote."""
        with np.load(path) as arrays:
            return cls(*(arrays[name] for name in ("host", "page", "begun_at", "ended_at")))

    def of(self, host: int) -> "Log":
        """The exchanges of one host."""
        own = self.host == host
        return Log(self.host[own], self.page[own], self.begun_at[own], self.ended_at[own])

    def gaps(self) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Of successive exchanges with a host: the host, the seconds from the end of the first to
        the begin of the second, and when that was."""
        order = np.lexsort((self.begun_at, self.host))
        host, begun, ended = self.host[order], self.begun_at[order], self.ended_at[order]
        same = host[1:] == host[:-1]
        return host[1:][same], (begun[1:] - ended[:-1])[same], begun[1:][same]


async def serve_plain(
    hosts: int, pages: int, *, steady: bool, full: bool
) -> list[tuple[int, int, float, float]]:
    log: list[tuple[int, int, float, float]] = []
    loop = asyncio.get_running_loop()
    served: set[tuple[int, int]] = set()
    urls: list[str] = []
    in_full = FullPages(urls) if full else None
    server = await loop.create_server(
        lambda: PlainHosts(log, served, steady=steady, full=in_full, hosts=hosts),
        "0.0.0.0",
        0,
        backlog=4096,
    )
    port = server.sockets[0].getsockname()[1]
    urls += [
        f"http://{loopback_address(FIRST_PLAIN + host)}:{port}/{page}"
        for page in range(pages)
        for host in range(hosts)
    ]
    tell(urls)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()
    return log


async def serve_evil(hosts: int, attack: str) -> list[tuple[int, int, float, float]]:
    async with MisbehavingHosts(hosts) as running:
        set_up(running.servers, attack)
        tell([server.url("/") for server in running.servers])
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        numbers = {server.host: n for n, server in enumerate(running.servers)}
    return [(numbers[e.host], -1, e.begun_at, e.ended_at) for e in running.exchanges]


def set_up(servers: list[MisbehavingServer], attack: str) -> None:
    """Let the servers do ill."""
    if attack == TO_ONE_HOST:
        first, *others = servers
        first.set_behaviour(ROBOTS, "/robots/delay-10")
        first.set_page("/", "the one")
        for server in others:
            server.set_behaviour("/", f"/redirect-to?url={first.url('/')}")
        return
    for server, behaviours in zip(servers, itertools.cycle(EVIL[attack])):
        server.set_page("/", f"a page of {server.host}")
        for path, like in behaviours.items():
            server.set_behaviour(path, like)


def tell(urls: list[str]) -> None:
    print(json.dumps(urls), flush=True)


@contextmanager
def serving(log: Path, *words: str) -> Iterator[list[str]]:
    """Hosts, in a process of their own, while the context lasts: the URLs of their pages."""
    with subprocess.Popen(
        [sys.executable, __file__, "--log", str(log), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.communicate()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["plain", "evil"])
    parser.add_argument("--hosts", type=int, default=20)
    parser.add_argument("--pages", type=int, default=1)
    parser.add_argument("--steady", action="store_true")
    parser.add_argument("--full", action="store_true", help="pages of 43 kB with 100 links")
    parser.add_argument("--attack")
    parser.add_argument("--log", type=Path, required=True)
    asked = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = LIMIT_OF_FILES if hard == resource.RLIM_INFINITY else min(hard, LIMIT_OF_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if asked.kind == "plain":
        plain = serve_plain(asked.hosts, asked.pages, steady=asked.steady, full=asked.full)
        log = asyncio.run(plain)
    else:
        log = asyncio.run(serve_evil(asked.hosts, asked.attack))
    host, page, begun_at, ended_at = (
        np.array(column, kind)
        for column, kind in zip(
            zip(*log, strict=True) if log else ((), (), (), ()),
            ("i8", "i8", "f8", "f8"),
            strict=True,
        )
    )
    np.savez(asked.log, host=host, page=page, begun_at=begun_at, ended_at=ended_at)


if __name__ == "__main__":
    main()
