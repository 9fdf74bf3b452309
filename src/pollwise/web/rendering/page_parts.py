"""What a page asks for while it is rendered: fetched politely, counted, within bounds."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from pollwise.errors import InputError, PostponedError
from pollwise.web.fetcher import Asking, FetchResult, MayFollow
from pollwise.web.urls import canonical, origin_of, scope_of

__all__ = ["FetchPart", "PageParts"]

FetchPart = Callable[[str, Asking], Awaitable[FetchResult]]
"""One exchange for a page, such as `PoliteFetcher.fetch_part`."""

_MOST_REQUESTS = 100
_AT_ONCE = 6
_MOST_REDIRECTS = 5
_OUR_OWN = frozenset(
    {"accept-encoding", "connection", "content-length", "cookie", "host", "range", "user-agent"}
)
"""Headers that are not the script's to say."""
_OUR_OWN_BEGIN = ("if-", "proxy-", "sec-", "upgrade-")


class PageParts:
    """The scripts and the data of the page at `page_url`, a canonical URL.

    Each request is made where robots.txt allows it, by `refusal`, and without a pause, as a browser
    makes it. `requests` counts those wanted, also if robots.txt refuses them, and after 100 there
    are no more. What another origin does not want scripts of this page to read is not read.
    """

    def __init__(self, page_url: str, fetch_part: FetchPart, refusal: MayFollow) -> None:
        self.requests = 0
        self._origin = origin_of(page_url)
        self._scope = scope_of(page_url)
        self._fetch_part = fetch_part
        self._refusal = refusal
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def fetch(
        self, url: str, headers: Mapping[str, str], *, is_script: bool
    ) -> FetchResult | None:
        """The answer to a request that the browser wants to make; None: there is none for it.

        Redirects are followed. `headers` are those of the browser, by names in lower case. Call
        `release` of the answer when its body is held no more.
        """
        try:
            async with self._places:
                answer = await self._followed(canonical(url), headers)
        except (InputError, PostponedError):
            return None
        if answer is None:
            return None
        if answer.error is None and (is_script or self._may_read(answer)):
            return answer
        answer.release()
        return None

    async def _followed(self, url: str, headers: Mapping[str, str]) -> FetchResult | None:
        for _ in range(_MOST_REDIRECTS + 1):
            if self.requests >= _MOST_REQUESTS:
                return None
            self.requests += 1  # also if it is refused, which may take one for robots.txt
            if await self._refusal(url) is not None:
                return None
            asking = Asking(self._scope, self._passed_on(url, headers))
            answer = await self._fetch_part(url, asking)
            if answer.redirected_to is None:
                return answer
            if origin_of(answer.redirected_to) != origin_of(url):
                headers = {}  # they were meant for that origin alone
            url = answer.redirected_to
        return None

    def _passed_on(self, url: str, headers: Mapping[str, str]) -> dict[str, str]:
        passed = {
            name: value
            for name, value in headers.items()
            if name not in _OUR_OWN and not name.startswith(_OUR_OWN_BEGIN)
        }
        return passed if self._is_own(url) else {**passed, "origin": self._origin}

    def _may_read(self, answer: FetchResult) -> bool:
        """Whether scripts of the page may read an answer (the CORS protocol of Fetch)."""
        return self._is_own(answer.final_url) or answer.allowed_origin in ("*", self._origin)

    def _is_own(self, url: str) -> bool:
        return origin_of(url) == self._origin
