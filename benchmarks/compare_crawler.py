"""A crawler of crawlee that asks again and again for the pages listed in a file, with validators.

It is run by `compare.py`, by an interpreter that has crawlee.
"""

import asyncio
import itertools
import logging
import sys
from datetime import timedelta
from pathlib import Path

from crawlee import ConcurrencySettings, Request
from crawlee.configuration import Configuration
from crawlee.crawlers import HttpCrawler, HttpCrawlingContext
from crawlee.storage_clients import MemoryStorageClient


async def main() -> None:
    """Poll pages for ever: each answer asks for its page once more."""
    numbers = itertools.count()
    listed = Path(sys.argv[1])

    def request(url: str, etag: str | None) -> Request:
        headers = {} if etag is None else {"If-None-Match": etag}
        return Request.from_url(url, headers=headers, unique_key=f"{next(numbers)}")

    crawler = HttpCrawler(
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

    @crawler.router.default_handler
    async def again(context: HttpCrawlingContext) -> None:
        told = context.http_response.headers.get("etag")
        etag = told or context.request.headers.get("if-none-match")
        await context.add_requests([request(context.request.url, etag)])

    await crawler.run([request(url, None) for url in listed.read_text().split()])


logging.disable(logging.WARNING)
asyncio.run(main())
