"""An ordinary spider over a year of real pages: crawled whole at fixed intervals, and by pollwise.

    python benchmarks/scrapy_year.py [--days 365] [--budget 0.1/day/page]

Both crawl the bundled time-lapse over HTTP, each in a process of its own whose event loop has
virtual time, so that a year takes a minute or two and the figures do not depend on the machine. The
whole crawls are as many as make about the requests that the crawl by pollwise made, robots.txt,
redirects and what was tried again included. Prints a Markdown table.
"""

import argparse
import asyncio
import math
import multiprocessing
import tempfile
import time
from pathlib import Path

import numpy as np

from pollwise.live.virtual_clock import VirtualClock
from pollwise.metrics import Polls, ratios, tally
from pollwise.simulation.recorded.example import history_of
from pollwise.testing.timelapse import TimeLapse, TimeLapseServer

_DAY = 86_400.0
_REQUESTS_A_CRAWL = 114
"""101 pages and 12 robots.txt, and what Scrapy tries again."""
_FOREVER = 1e9


def crawl(how, days, budget, crawls, told):
    """The process: crawls for so many days, and sends its polls and the number of requests."""
    from scrapy.utils.reactor import install_reactor

    install_reactor(
        "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
        "pollwise.live.virtual_clock.VirtualTime",
    )
    from twisted.internet import reactor

    loop = asyncio.get_event_loop()
    # After half a year the last digit of the time is coarser than asyncio takes it to be.
    loop._clock_resolution = 1e-6
    reactor.seconds = lambda: loop.time() + 2e-6
    patch(loop)

    async def run():
        try:
            told.send(await year(loop, how, days, budget, crawls))
        finally:
            reactor.stop()

    reactor.callWhenRunning(lambda: loop.create_task(run()))
    reactor.run(installSignalHandlers=False)


def patch(loop):
    """Have all of Scrapy go by the virtual time, and not look around every few seconds of it."""
    import logging

    import scrapy.core.downloader as downloader
    from scrapy.core.engine import ExecutionEngine

    logging.disable()
    # In binary fractions, of which differences are exact.
    downloader.monotonic = lambda: math.floor(1024 * loop.time()) / 1024
    downloader.Downloader._SLOT_GC_INTERVAL = _FOREVER
    ExecutionEngine._SLOT_HEARTBEAT_INTERVAL = _FOREVER


async def year(loop, how, days, budget, crawls):
    import scrapy
    from scrapy import signals
    from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
    from scrapy.crawler import AsyncCrawlerRunner

    import pollwise.scrapy
    from pollwise import Outcome

    timelapse = TimeLapse.bundled()
    clock = VirtualClock(timelapse.start, loop)
    server = TimeLapseServer(timelapse, clock, real_clock=loop.time, sleep=loop.sleep)
    polls = []

    class Held(HTTP11DownloadHandler):
        """No virtual time passes during an exchange, but for what the server sleeps."""

        async def download_request(self, request):
            with loop.held():
                return await super().download_request(request)

    class VirtualScheduler(pollwise.scrapy.Scheduler):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.clock = clock

    class PagesSpider(scrapy.Spider):
        name = "pages"

        def parse(self, response):
            yield {"url": response.url}

    def seen(request, response):
        if request.url in numbers and response.status == 200:
            polls.append((numbers[request.url], clock()))

    def was_polled(page, outcome):
        if outcome in (Outcome.CHANGED, Outcome.UNCHANGED):
            polls.append((numbers[page], clock()))

    settings = {
        "DOWNLOAD_DELAY": 1,
        "DOWNLOAD_DELAY_JITTER": 0,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "ROBOTSTXT_OBEY": True,
        "DOWNLOAD_HANDLERS": {"http": Held},
        "EXTENSIONS_BASE": {},
        "LOG_ENABLED": False,
    }
    if how == "pollwise":
        settings |= {
            "ADDONS": {"pollwise.scrapy.Addon": 500},
            "SCHEDULER": VirtualScheduler,
            "POLLWISE_BUDGET": budget,
            "EXTENSIONS": {"scrapy.extensions.closespider.CloseSpider": 0},
            "CLOSESPIDER_TIMEOUT": days * _DAY,
        }
        crawls = 1
    async with server:
        numbers = {url: number for number, url in enumerate(server.urls.values())}
        with tempfile.TemporaryDirectory() as folder:
            runner = AsyncCrawlerRunner(settings | {"POLLWISE_DB": str(Path(folder) / "crawl.db")})
            for number in range(crawls):
                await asyncio.sleep(max(number * days * _DAY / crawls - loop.time(), 0))
                crawler = runner.create_crawler(PagesSpider)
                if how == "pollwise":
                    crawler.signals.connect(was_polled, pollwise.scrapy.polled)
                else:
                    crawler.signals.connect(seen, signals.response_received)
                await runner.crawl(crawler, start_urls=list(numbers))
        return polls, server.requests.total()


def run(*arguments):
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=crawl, args=(*arguments, theirs))
    began_at = time.monotonic()
    with theirs:
        process.start()
    try:
        polls, requests = ours.recv()
    finally:
        process.join()
    return polls, requests, time.monotonic() - began_at


def figures(polls, days):
    """Changes, those that were seen, and the mean delay from a change to the poll after it."""
    world = history_of(TimeLapse.bundled()).with_copies()
    world.reset(0)
    pages, times = zip(*polls, strict=True)
    done = Polls(np.array(pages, np.int64), np.array(times))
    start = np.full(len(world.pages), world.begin)
    end = min(world.end, world.begin + days * _DAY)
    return ratios(tally(done, world.changes, begin=world.begin, end=end, seen_at=start).sum(axis=0))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--days", type=float, default=365)
    parser.add_argument("--budget", default="0.1/day/page")
    told = parser.parse_args()
    learned = run("pollwise", told.days, told.budget, None)
    crawls = max(round(learned[1] / _REQUESTS_A_CRAWL), 1)
    whole = run("whole", told.days, told.budget, crawls)
    print("| crawl | requests | changes seen | mean delay | fresh | seconds |")
    print("|---|---|---|---|---|---|")
    for name, (polls, requests, seconds) in (
        (f"whole, {crawls} times", whole),
        ("pollwise", learned),
    ):
        found = figures(polls, told.days)
        delay = found["delay"] / _DAY
        print(
            f"| {name} | {requests:,} | {found['captured']:.1%} | {delay:.2f} days"
            f" | {found['freshness']:.1%} | {seconds:.0f} |"
        )


if __name__ == "__main__":
    main()
