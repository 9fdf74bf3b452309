"""A Scrapy spider that asks again and again for the pages listed in a file, with validators.

It is run by `compare.py`, by an interpreter that has Scrapy.
"""

import sys
from pathlib import Path

import scrapy
from scrapy.crawler import CrawlerProcess


class Again(scrapy.Spider):
    """Polls pages for ever: each answer asks for its page once more."""

    name = "again"
    handle_httpstatus_list = (304,)

    async def start(self):
        for url in Path(sys.argv[1]).read_text().split():
            yield scrapy.Request(url, dont_filter=True)

    def parse(self, response):
        etag = response.headers.get("ETag") or response.request.headers.get("If-None-Match")
        yield response.request.replace(headers={"If-None-Match": etag}, dont_filter=True)


process = CrawlerProcess(
    {
        # First in, first out: by default the latest request of each host comes first.
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        "CONCURRENT_REQUESTS": 200,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": False,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "COOKIES_ENABLED": False,
        "RETRY_ENABLED": False,
    }
)
process.crawl(Again)
process.start()
