"""Crawls by Scrapy in processes of their own, by a spider that is told what to do."""

import asyncio
import json
from asyncio.subprocess import PIPE, STDOUT, Process
from collections import Counter
from pathlib import Path

from ..fork_server import ENVIRONMENT, FORK

SPIDER = '''
import json
import scrapy
from scrapy import signals
from scrapy.utils.defer import deferred_from_coro
import pollwise.scrapy

class LinksSpider(scrapy.Spider):
    """Follows links; writes each outcome down, of so many at most, and ends then."""
    name = "links"

    def __init__(self, url, polls="1000000", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [url]
        self.left = int(polls)

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.note, pollwise.scrapy.polled)
        return spider

    def note(self, page, outcome):
        if self.left == 0:
            return  # it ends, which takes a while
        with open("polls.jsonl", "a") as file:
            print(json.dumps([page, outcome.name]), file=file)
        self.left -= 1
        if self.left == 0:
            deferred_from_coro(self.crawler.engine.close_spider_async(reason="enough"))

    def parse(self, response):
        yield {"url": response.url, "text": response.css("p::text").get()}
        yield from response.follow_all(css="a")
'''

INCREMENTAL = {
    "ADDONS": '{"pollwise.scrapy.Addon": 500}',
    "POLLWISE_BUDGET": "200/second",
    "POLLWISE_DB": "crawl.db",
}


class Crawls:
    """Crawls in a folder, with what they left there: items and outcomes, of all crawls so far.

    `python` are the words before the program, which is code.
    """

    def __init__(self, folder: Path, spider: str = SPIDER, python: tuple[str, ...] = FORK) -> None:
        self.folder = folder
        self.python = python
        (folder / "spider.py").write_text(spider, encoding="utf-8")

    async def start(self, url: str, *, polls: int | None = None, **settings: str) -> Process:
        told = {"LOG_LEVEL": "INFO", "TELNETCONSOLE_ENABLED": "0"} | INCREMENTAL | settings
        words = [word for name, value in told.items() for word in ("-s", f"{name}={value}")]
        ends = [] if polls is None else ["-a", f"polls={polls}"]
        return await asyncio.create_subprocess_exec(
            *(*self.python, "from scrapy.cmdline import execute; execute()"),
            *("runspider", "spider.py", "-a", f"url={url}", *ends, "-o", "items.jsonl", *words),
            cwd=self.folder,
            env=ENVIRONMENT,
            stdout=PIPE,
            stderr=STDOUT,
        )

    async def run(self, url: str, *, polls: int | None = None, **settings: str) -> str:
        """Crawl until so many polls have ended; what Scrapy logged."""
        return await ended(await self.start(url, polls=polls, **settings))

    @property
    def items(self) -> list[dict[str, str]]:
        return _lines(self.folder / "items.jsonl")

    @property
    def texts(self) -> Counter[str]:
        return Counter(item["text"] for item in self.items)

    @property
    def polls(self) -> list[tuple[str, str]]:
        """Page and outcome of each poll."""
        return [(page, outcome) for page, outcome in _lines(self.folder / "polls.jsonl")]

    def outcomes(self, url: str) -> list[str]:
        return [outcome for page, outcome in self.polls if page == url]


async def ended(process: Process, status: int = 0) -> str:
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == status, output.decode()
    return output.decode()


def _lines(path: Path):
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
