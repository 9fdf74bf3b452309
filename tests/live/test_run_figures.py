"""The figures of a real watch, next to what its server saw."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from aiohttp import web

from pollwise.live.run_figures import RunFigures, decode, encode
from pollwise.live.watching import watch_pages
from pollwise.web.url_list import named_pages

PAGES = 3
SETTINGS = {"budget": "20/second", "crawl_delay": 0.5, "allow_private": True}
"""The pause between two polls is long, so that none begins while the watch is told to stop."""


class NoDisplay:
    def begin(self, **_: object) -> None:
        pass

    def show(self, *_: object) -> None:
        pass


def watch(urls: list[str], db: Path, file: Path) -> None:
    """Watch until there are first copies, for which nothing is compiled; write the figures."""

    @asynccontextmanager
    async def told(figures: Callable[[], RunFigures]) -> AsyncIterator[None]:
        async def look() -> None:
            while True:
                polls = figures().polls
                if polls["changed"] == 2 and polls["failed"] and figures().under_way == 0:
                    os.kill(os.getpid(), signal.SIGINT)
                await asyncio.sleep(0.01)

        looking = asyncio.ensure_future(look())
        try:
            yield
        finally:
            looking.cancel()
            file.write_text(encode(figures()), encoding="utf-8")

    @contextmanager
    def display(*_: object):
        yield NoDisplay()

    watch_pages(
        named_pages(urls),
        [],
        SETTINGS,
        db,
        make_display=display,
        say=print,
        beside=[told],
    )


async def test_the_figures_of_a_watch_are_what_its_server_saw(site, tmp_path):
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text="<p>News", content_type="text/html")

    async def fail(request: web.Request) -> web.Response:
        return web.Response(status=500)

    site.answers.update({"/0": answer, "/1": answer, "/2": fail})
    urls = [site.url(f"/{n}") for n in range(PAGES)]
    file = tmp_path / "figures.json"
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, tmp_path / "pages.db", file, *urls
    )
    try:
        assert await asyncio.wait_for(process.wait(), timeout=100) == 0
    finally:
        if process.returncode is None:
            process.kill()
    figures = decode(file.read_text(encoding="utf-8"))
    polls: Mapping[str, int] = figures.polls
    assert figures.requests == len(site.asked)
    assert figures.answers["5xx"] == polls["failed"]
    asked_for_pages = sum(path != "/robots.txt" for path in site.paths)
    assert polls["changed"] + polls["unchanged"] + polls["failed"] == asked_for_pages
    assert polls["changed"] == 2
    assert figures.changes == 0  # they are first copies
    assert figures.bytes_received >= len("<p>News") * (polls["changed"] + polls["unchanged"])
    assert figures.pages == PAGES
    assert figures.hosts == 1
    assert figures.wait_seconds >= figures.longest_wait > 0
    assert figures.commit_seconds > 0
    assert figures.at > figures.started_at


if __name__ == "__main__":
    watch(sys.argv[3:], Path(sys.argv[1]), Path(sys.argv[2]))
