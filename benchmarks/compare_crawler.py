"""Crawlers of crawlee: `again`, `read` or `crawl` the pages listed in a file.

They are run by `compare.py`, by an interpreter that has crawlee.
"""

import asyncio
import hashlib
import itertools
import logging
import sys
from datetime import timedelta
from pathlib import Path

from crawlee import ConcurrencySettings, Request
from crawlee.configuration import Configuration
from crawlee.crawlers import (
    HttpCrawler,
    HttpCrawlingContext,
    ParselCrawler,
    ParselCrawlingContext,
)
from crawlee.storage_clients import MemoryStorageClient


async def main() -> None:
    """Poll pages for ever, each answer asks for its page once more; or follow all links."""
    numbers = itertools.count()
    job, listed = sys.argv[1], Path(sys.argv[2])

    def request(url: str, etag: str | None) -> Request:
        headers = {} if etag is None else {"If-None-Match": etag}
        return Request.from_url(url, headers=headers, unique_key=f"{next(numbers)}")

    crawler = (HttpCrawler if job == "again" else ParselCrawler)(
        configuration=Configuration(log_level="ERROR", storage_dir=str(listed.parent)),
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(
            min_concurrency=200, desired_concurrency=200, max_concurrency=200
        ),
        max_request_retries=0,
        use_session_pool=False,
        respect_robots_txt_file=False,
        statistics_log_format="inline",
        request_handler_timeout=timedelta(seconds=60),
    )

    async def again(context: HttpCrawlingContext) -> None:
        told = context.http_response.headers.get("etag")
        etag = told or context.request.headers.get("if-none-match")
        await context.add_requests([request(context.request.url, etag)])

    async def read(context: ParselCrawlingContext) -> None:
        text = " ".join(context.selector.xpath("//body//text()").getall())
        hashlib.sha256(text.encode())
        await context.add_requests([request(context.request.url, None)])

    async def crawl(context: ParselCrawlingContext) -> None:
        context.selector.css("title::text").get()
        " ".join(context.selector.xpath("//body//text()").getall())
        await context.enqueue_links(strategy="all")

    crawler.router.default_handler({"again": again, "read": read, "crawl": crawl}[job])
    urls = listed.read_text().split()
    await crawler.run(urls if job == "crawl" else [request(url, None) for url in urls])


logging.disable(logging.WARNING)
asyncio.run(main())
