"""Spiders of Scrapy: `again`, `read` or `crawl` the pages listed in a file.

They are run by `compare.py`, by an interpreter that has Scrapy.
"""

import hashlib
import sys
from pathlib import Path

import scrapy
from scrapy.crawler import CrawlerProcess

JOB, LISTED = sys.argv[1:]


class Again(scrapy.Spider):
    """Polls pages with their validators for ever: each answer asks for its page once more."""

    name = "again"
    handle_httpstatus_list = (304,)

    async def start(self):
        for url in Path(LISTED).read_text().split():
            yield scrapy.Request(url, dont_filter=True)

    def parse(self, response):
        etag = response.headers.get("ETag") or response.request.headers.get("If-None-Match")
        yield response.request.replace(headers={"If-None-Match": etag}, dont_filter=True)


class Read(Again):
    """Fetches pages for ever, and takes a hash of their text."""

    def parse(self, response):
        text = " ".join(response.xpath("//body//text()").getall())
        hashlib.sha256(text.encode())
        yield response.request.replace(dont_filter=True)


class Crawl(scrapy.Spider):
    """Follows all links, and gets title and text of each page."""

    name = "crawl"

    async def start(self):
        for url in Path(LISTED).read_text().split():
            yield scrapy.Request(url)

    def parse(self, response):
        response.css("title::text").get()
        " ".join(response.xpath("//body//text()").getall())
        yield from response.follow_all(css="a")


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
process.crawl({"again": Again, "read": Read, "crawl": Crawl}[JOB])
process.start()
