"""The one browser that renders pages: found on this machine, without a network of its own.

Whatever a page asks for goes through our own fetcher, see `pollwise.web.rendering.page_rendering`.
What should slip past that, such as a WebSocket or a worker, finds no way out: the browser knows no
host, and its proxy is none.
"""

import asyncio
import logging
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pollwise.errors import InputError, PostponedError
from pollwise.extras import require_extra
from pollwise.store.records import NewPage
from pollwise.texts import one_line

if TYPE_CHECKING:
    from playwright.async_api import Browser as Chromium
    from playwright.async_api import BrowserContext, Playwright

__all__ = ["Browser", "BrowserError", "require_browser", "require_renderable"]

_PROGRAMS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chromium-headless-shell",
    "chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
_NO_NETWORK = (
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=http://nowhere.invalid:1",
    "--proxy-bypass-list=<-loopback>",
    # The newer and the older name.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
_LITTLE_MEMORY = ("--js-flags=--max-old-space-size=256",)
_UNWANTED = ["--disable-popup-blocking"]
"""What playwright would tell the browser, and we do not want."""
_DRIVER_DIED = "Connection closed while reading from the driver"
"""What playwright notes for nobody when its driver dies; who waits for an answer is told anyway."""
_STARTS_WITHIN = 30.0
_CLOSES_WITHIN = 5.0
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 300.0
"""Seconds before the browser is started again: twice as many each time that it fails."""


class BrowserError(Exception):
    """The browser failed at a page, or died; says why on one line."""


def require_browser() -> None:
    """`InputError`, which says what to install, unless pages can be rendered here."""
    require_extra("browser", "to render pages")
    if not _programs():
        raise InputError(
            "to render pages needs a browser: install Chromium or Chrome (on Debian and Ubuntu"
            " `apt install chromium`), or try `playwright install chromium`"
        )


def require_renderable(pages: Iterable[NewPage]) -> None:
    """`require_browser` if one of these pages is to be rendered."""
    if any(page.render for page in pages):
        require_browser()


def _programs() -> list[str | None]:
    """The browsers to try, one after the other; None: the one that playwright has downloaded."""
    found = next((found for name in _PROGRAMS if (found := shutil.which(name))), None)
    return [None] * _has_downloaded() + [found] * (found is not None)


def _has_downloaded() -> bool:
    """Whether playwright has downloaded a browser, maybe for another version of playwright."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    folders = [
        os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or cache / "ms-playwright",
        os.path.expanduser("~/Library/Caches/ms-playwright"),
    ]
    return any(any(Path(folder).glob("chromium*")) for folder in folders)


class Browser:
    """Chromium, as an asynchronous context manager; it is started with the first page.

    If it dies, the next page starts another one, after a pause that grows as long as it fails.
    """

    def __init__(self) -> None:
        self._starting = asyncio.Lock()
        self._driver: Playwright | None = None
        self._chromium: Chromium | None = None
        self._pause = 0.0
        self._rests_until = 0.0
        self._why = ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end()

    @asynccontextmanager
    async def context(self, user_agent: str) -> AsyncIterator["BrowserContext"]:
        """A fresh context, without anything that earlier pages left behind.

        `PostponedError` if there is no browser now. `BrowserError` for what playwright raises in
        it, also because the browser dies meanwhile.
        """
        chromium = await self._started()
        from playwright.async_api import Error

        context: BrowserContext | None = None
        try:
            context = await chromium.new_context(
                user_agent=user_agent, accept_downloads=False, service_workers="block"
            )
            yield context
            self._pause = 0.0
        except Error as error:
            # What follows the first line is a log.
            raise BrowserError(one_line(Exception(error.message.partition("\n")[0]))) from error
        finally:
            if not await _closed(chromium, context) and chromium is self._chromium:
                await self._failed("it died")

    async def _started(self) -> "Chromium":
        async with self._starting:
            if self._chromium is not None and self._chromium.is_connected():
                return self._chromium
            wait = self._rests_until - asyncio.get_running_loop().time()
            if wait > 0:
                raise PostponedError(f"the browser rests for {wait:.0f} s: {self._why}")
            try:
                require_browser()
                async with asyncio.timeout(_STARTS_WITHIN):
                    self._chromium = await self._start()
            except InputError as error:
                await self._failed(str(error))
                raise PostponedError(str(error)) from error
            except Exception as error:  # of playwright, of its processes, of their pipes
                await self._failed(f"it did not start: {one_line(error)}")
                raise PostponedError(f"the browser did not start: {one_line(error)}") from error
            return self._chromium

    async def _start(self) -> "Chromium":
        # Here, as few need it.
        from playwright.async_api import Error, async_playwright

        await self._end()
        logging.getLogger("asyncio").addFilter(_is_worth_telling)
        self._driver = await async_playwright().start()
        *others, last = _programs()
        for program in others:
            with suppress(Error):
                return await self._launched(self._driver, program)
        return await self._launched(self._driver, last)

    async def _launched(self, driver: "Playwright", program: str | None) -> "Chromium":
        return await driver.chromium.launch(
            executable_path=program,
            args=[*_NO_NETWORK, *_LITTLE_MEMORY],
            ignore_default_args=_UNWANTED,
            # Chromium has no sandbox for root.
            chromium_sandbox=os.geteuid() != 0,
            # Ctrl-C is for us alone.
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
        )

    async def _failed(self, why: str) -> None:
        await self._end()
        self._pause = min(max(2 * self._pause, _FIRST_PAUSE), _LONGEST_PAUSE)
        self._rests_until = asyncio.get_running_loop().time() + self._pause
        self._why = why

    async def _end(self) -> None:
        """End the browser and its driver, whatever state they are in."""
        chromium, driver = self._chromium, self._driver
        self._chromium = self._driver = None
        if chromium is not None:
            await _ended(chromium.close())
        if driver is not None:
            await _ended(driver.stop())


def _is_worth_telling(record: logging.LogRecord) -> bool:
    """Whether a line of asyncio is not the one for what playwright notes for nobody."""
    return record.exc_info is None or str(record.exc_info[1]) != _DRIVER_DIED


async def _ended(ending: Awaitable[None]) -> None:
    """Wait for an end, but not for ever; what is dead already may raise anything."""
    with suppress(Exception):
        async with asyncio.timeout(_CLOSES_WITHIN):
            await ending


async def _closed(chromium: "Chromium", context: "BrowserContext | None") -> bool:
    """Close a context; whether the browser and its driver still do what they are told."""
    try:
        async with asyncio.timeout(_CLOSES_WITHIN):
            if context is not None:
                await context.close()
            # Closing says nothing: there is none left to close if the driver died.
            await (await chromium.new_browser_cdp_session()).detach()
    except Exception:  # of playwright, of its processes, of their pipes
        return False
    return True
