"""The spider middleware: what a spider made of a page has been taken in."""

from collections.abc import AsyncIterator
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from pollwise.scrapy.middleware import Middleware
from pollwise.scrapy.polls import Poll

__all__ = ["SpiderMiddleware"]


class SpiderMiddleware:
    """Has a page count as taken by the spider when its callback has come to its end.

    So a page whose callback the death of the process cut short is given to the spider again. Its
    place is near the engine, beyond what else looks at the output of the spider. Without it a page
    counts as taken when it is given to the spider.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._middleware: Middleware | None = None
        crawler.signals.connect(self._open, signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Scrapy makes it by this."""
        return cls(crawler)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Pass on what the spider yields, and note its end."""
        async for one in result:
            yield one
        poll = None if response.request is None else Poll.latest_of(response.request)
        if self._middleware is not None and poll is not None and poll.page is not None:
            self._middleware.take(poll.page)

    def _open(self) -> None:
        self._middleware = self._crawler.get_downloader_middleware(Middleware)
        if self._middleware is not None:
            self._middleware.hears_of_ends = True
