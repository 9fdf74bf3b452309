"""Fetching a page as a browser shows it: a `Fetcher` whose bodies were made by scripts.

All requests of the browser are answered by us. So it is our own fetcher that judges the address
which is really connected to, bounds bodies, sends headers and goes through the user's proxy, and
what is counted is what leaves this machine. A proxy between the browser and the web would have to
break TLS for that.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from pollwise.errors import PostponedError
from pollwise.sources.recognition import recognised
from pollwise.types import PageMemory
from pollwise.web.content_coding import too_large
from pollwise.web.fetcher import FetchResult, MayFollow
from pollwise.web.polite_fetcher import PoliteFetcher
from pollwise.web.rendering.browser import Browser, BrowserError
from pollwise.web.rendering.page_parts import PageParts
from pollwise.web.rendering.page_rendering import PageRendering
from pollwise.web.robots_txt import RobotsTxt

__all__ = ["Renderer"]

_AT_ONCE = 2
_LONGEST_WAIT = 60.0
_WITHIN = 30.0
_HTML = "text/html; charset=utf-8"


class Renderer:
    """The `Fetcher` of pages that scripts fill.

    The page itself is fetched by `fetcher`, in its turn and unconditionally, as its data may be
    other ones behind the same shell. Two pages are rendered at a time, each for 30 seconds at most;
    `PostponedError` after a minute's wait for a place, and if there is no browser. Larger content
    than `max_bytes` is a result with `error`. What is no HTML is not rendered.
    """

    def __init__(
        self,
        browser: Browser,
        fetcher: PoliteFetcher,
        robots_txt: RobotsTxt,
        *,
        user_agent: str,
        max_bytes: int,
    ) -> None:
        self._browser = browser
        self._fetcher = fetcher
        self._robots_txt = robots_txt
        self._user_agent = user_agent
        self._max_bytes = max_bytes
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def fetch(
        self,
        url: str,
        memory: PageMemory,
        *,
        may_follow: MayFollow | None = None,
        again: bool = False,
    ) -> FetchResult:
        """See `Fetcher.fetch`; `memory` counts for nothing."""
        page = await self._fetcher.fetch(url, PageMemory(), may_follow=may_follow, again=again)
        page = replace(page, etag=None, last_modified=None, requests=1)
        if not page.body or recognised(page.body, page.content_type) != "page":
            return page
        try:
            async with self._place():
                return await self._rendered(page)
        finally:
            page.release()

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(_LONGEST_WAIT):
                await self._places.acquire()
        except TimeoutError:
            raise PostponedError(
                f"too many pages to render at once: no room within {_LONGEST_WAIT:g} s"
            ) from None
        try:
            yield
        finally:
            self._places.release()

    async def _rendered(self, page: FetchResult) -> FetchResult:
        parts = PageParts(page.final_url, self._fetcher.fetch_part, self._robots_txt.refusal)
        body, error = b"", None
        try:
            async with self._browser.context(self._user_agent) as context, asyncio.timeout(_WITHIN):
                text = await PageRendering(page, parts).content(context)
            # A NUL would make it what is no text.
            body = text.replace("\0", "").encode(errors="replace")
        except TimeoutError:
            error = f"not rendered within {_WITHIN:g} s"
        except BrowserError as raised:
            error = f"the browser could not render it: {raised}"
        if len(body) > self._max_bytes:
            body, error = b"", f"rendered {too_large(self._max_bytes)}"
        return replace(
            page,
            body=body,
            error=error,
            status=None if error else page.status,
            content_type=_HTML,
            head=b"",  # that of the answer would be untrue of this body
            requests=1 + parts.requests,
        )
