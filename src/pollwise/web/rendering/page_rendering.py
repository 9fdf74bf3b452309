"""One page in the browser: what its requests are answered, when it is ready, what it says then."""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from pollwise.web.fetcher import FetchResult
from pollwise.web.rendering.page_parts import PageParts

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Route

__all__ = ["PageRendering"]

_QUIET = 0.5
"""Seconds without a request after which a page is ready."""
_READY_WITHIN = 15.0
"""Seconds after which it is taken as it is: some pages ask for news without end."""
_LOOK_EVERY = 0.05
_DATA = frozenset({"xhr", "fetch"})


class PageRendering:
    """Shows a page, which was fetched already, to a browser; all that it asks for are its `parts`.

    Only scripts and data are fetched, and only by GET. Images, fonts, media, frames, pings and
    streams are refused, and so is every page that this one would lead to; style sheets are empty.
    """

    def __init__(self, page: FetchResult, parts: PageParts) -> None:
        self._page = page
        self._parts = parts
        self._is_shown = False
        self._under_way: set[asyncio.Task[None]] = set()

    async def content(self, context: "BrowserContext") -> str:
        """The HTML of the page once its scripts have run; call it once.

        Raises what playwright raises. The caller bounds the time, as a script may run
        for ever.
        """
        await context.route("**/*", self._routed)
        page = await context.new_page()
        try:
            await page.goto(self._page.final_url, wait_until="domcontentloaded", timeout=0)
            await self._ready()
            return await page.content()
        finally:
            under_way = tuple(self._under_way)
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    async def _ready(self) -> None:
        """Wait until nothing is under way for a while."""
        loop = asyncio.get_running_loop()
        busy_at = loop.time()
        ends_at = busy_at + _READY_WITHIN
        while loop.time() < min(busy_at + _QUIET, ends_at):
            await asyncio.sleep(_LOOK_EVERY)
            if self._under_way:
                busy_at = loop.time()

    def _routed(self, route: "Route") -> None:
        task = asyncio.ensure_future(self._answer(route))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _answer(self, route: "Route") -> None:
        from playwright.async_api import Error

        try:
            answer = await self._answer_to(route)
            if answer is None:
                await route.abort("aborted")  # not to be shown as an error instead of the page
                return
            headers = {} if answer.content_type is None else {"content-type": answer.content_type}
            try:
                await route.fulfill(status=answer.status, headers=headers, body=answer.body)
            finally:
                answer.release()
        except (Error, asyncio.CancelledError):  # the page is gone, or the browser; or it is ready
            # Playwright would wait for ever: the browser may try, which has no network.
            with suppress(Error):
                await route.fallback()

    async def _answer_to(self, route: "Route") -> FetchResult | None:
        """What the browser gets for a request; None: nothing."""
        request = route.request
        kind = request.resource_type
        if request.is_navigation_request():
            is_shown, self._is_shown = self._is_shown, True
            return None if is_shown else self._page
        if kind == "stylesheet":  # some scripts wait for it
            return FetchResult(request.url, request.url, 200, content_type="text/css")
        is_script = kind == "script"
        if request.method != "GET" or not (is_script or kind in _DATA):
            return None
        return await self._parts.fetch(request.url, request.headers, is_script=is_script)
