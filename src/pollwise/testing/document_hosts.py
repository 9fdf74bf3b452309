"""Folders of documents, each served from a loopback address of its own, with a log of requests.

Run as a program it serves until its standard input ends, so that a crawler under test has its
processor to itself:

    python -m pollwise.testing.document_hosts --latency 0.2 --log exchanges.json FOLDER...

prints one JSON list, the URLs of the folders, when it is ready, and writes the log at the end.
"""

import argparse
import asyncio
import html
import json
import math
import mimetypes
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Self
from urllib.parse import quote

import numpy as np
from aiohttp import web

from pollwise.testing.exchanges import Exchange, rapid_fire, read_exchanges
from pollwise.testing.loopback import listen, loopback_address

__all__ = ["DocumentHosts", "Exchange", "rapid_fire", "read_exchanges"]


class DocumentHosts:
    """Serves each folder from its own loopback address (127.0.1.1, 127.0.1.2, ...).

    Answers take `latency` seconds on average, drawn from a log-normal distribution (of sigma 0.5)
    by `generator`. A folder is answered with its `index.html`, or else with a list of its entries.
    A robots.txt that the folder lacks is made up and asks for `crawl_delay` seconds between
    requests; it is logged like every other path. Use it with `async with`; then `urls` has the URLs
    in the order of the folders.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        generator: np.random.Generator,
        latency: float = 0.0,
        crawl_delay: float = 0.0,
    ) -> None:
        self._folders = [folder.resolve() for folder in folders]
        self._generator = generator
        self._latency = latency
        self._crawl_delay = crawl_delay
        self._runners: list[web.BaseRunner] = []
        self.urls: list[str] = []
        self.exchanges: list[Exchange] = []

    async def __aenter__(self) -> Self:
        for number, folder in enumerate(self._folders):
            host = loopback_address(number)
            server = web.Server(self._answering(host, folder), access_log=None)
            runner = web.ServerRunner(server, shutdown_timeout=0.1)
            self._runners.append(runner)
            self.urls.append(f"http://{host}:{await listen(runner, host)}/")
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(runner.cleanup() for runner in self._runners))

    def _answering(
        self, host: str, folder: Path
    ) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]:
        async def answer(request: web.BaseRequest) -> web.StreamResponse:
            begun_at = time.monotonic()
            if self._latency:
                await asyncio.sleep(self._latency * self._generator.lognormal(-0.125, 0.5))
            response = self._response(folder, request.path)
            self.exchanges.append(Exchange(host, request.path, begun_at, time.monotonic()))
            return response

        return answer

    def _response(self, folder: Path, path: str) -> web.Response:
        file = (folder / path.lstrip("/")).resolve()
        if not file.is_relative_to(folder) or not file.exists():
            if path == "/robots.txt":
                return web.Response(text=f"User-agent: *\nCrawl-delay: {self._crawl_delay:g}\n")
            return web.Response(status=404, text="no such document")
        if file.is_dir():
            if not path.endswith("/"):
                return web.Response(status=301, headers={"Location": quote(f"{path}/")})
            if not (file / "index.html").is_file():
                return web.Response(text=_listing(file, path), content_type="text/html")
            file = file / "index.html"
        kind, encoding = mimetypes.guess_type(file.name)
        if kind is None or encoding is not None:
            kind = "application/octet-stream"
        return web.Response(body=file.read_bytes(), headers={"Content-Type": kind})


def _listing(folder: Path, path: str) -> str:
    names = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in folder.iterdir())
    links = "\n".join(f'<li><a href="{quote(name)}">{html.escape(name)}</a>' for name in names)
    title = html.escape(f"Index of {path}")
    return f"<!DOCTYPE html>\n<title>{title}</title>\n<h1>{title}</h1>\n<ul>\n{links}\n</ul>\n"


async def _serve(folders: Sequence[Path], latency: float, crawl_delay: float, log: Path) -> None:
    generator = np.random.default_rng(0)
    hosts = DocumentHosts(folders, generator=generator, latency=latency, crawl_delay=crawl_delay)
    async with hosts:
        print(json.dumps(hosts.urls), flush=True)
        await asyncio.to_thread(sys.stdin.read)
    log.write_text(
        json.dumps([astuple(exchange) for exchange in hosts.exchanges]), encoding="utf-8"
    )


def main() -> None:
    """Serve the folders of the command line until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds")
    parser.add_argument("--crawl-delay", type=float, default=0.0, help="seconds")
    parser.add_argument("--log", type=Path, required=True)
    arguments = parser.parse_args()
    if not math.isfinite(arguments.latency) or arguments.latency < 0:
        parser.error(f"--latency {arguments.latency} must be a number of seconds, at least 0")
    asyncio.run(_serve(arguments.folders, arguments.latency, arguments.crawl_delay, arguments.log))


if __name__ == "__main__":
    main()
