"""A poll for a collection: robots.txt, sitemaps, fetch, and what the response processor finds.

Every request is one that politeness knows of. The scheduler keeps the crawl delay between polls;
within a poll this module keeps it after a robots.txt or a sitemap was read, and redirects are not
followed but lead to pages of their own.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import replace

from pollwise.errors import InputError
from pollwise.robot.document_collection import DocumentCollection
from pollwise.robot.fetcher import Clock, Fetcher, follow_none
from pollwise.robot.fetcher_controller import FetcherController
from pollwise.robot.poller import PollReport, WebPoller
from pollwise.robot.response_digest import Digest
from pollwise.robot.response_processor import ProcessingFailed, Response, ResponseProcessor
from pollwise.robot.robots import Robots, Rules
from pollwise.robot.sitemaps import SitemapEntry, parse_sitemap
from pollwise.robot.urls import origin_of, scope_of
from pollwise.types import Outcome, Page, PageMemory

__all__ = ["CollectingPoller"]

_MOST_SITEMAPS = 5
"""Sitemaps that are read of one origin, those that its indexes name included."""


class CollectingPoller:
    """Polls pages and hands what comes of it to a collection; a `Poller`.

    `web` must not follow redirects. `crawl_delay` is what the scheduler has, in seconds, and
    `sleep` waits so long. `controller` is told how long fetching and processing take; `clock`
    gives seconds. `robots` and `fetcher` are those of `web`.
    """

    def __init__(
        self,
        web: WebPoller,
        processor: ResponseProcessor[Digest],
        collection: DocumentCollection,
        controller: FetcherController,
        *,
        robots: Robots,
        fetcher: Fetcher,
        crawl_delay: float,
        clock: Clock,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._web = web
        self._processor = processor
        self._collection = collection
        self._controller = controller
        self._robots = robots
        self._fetcher = fetcher
        self._crawl_delay = crawl_delay
        self._clock = clock
        self._sleep = sleep
        # By origin: until when the robots.txt read last holds.
        self._read: dict[str, float] = {}
        # Polls that have ended: when, and how long they took without queue and processor.
        self._ended: list[tuple[float, float]] = []

    def staff(self) -> int:
        """How many polls may be under way now; to be asked when the polls that ended are told."""
        now = self._clock()
        for ended_at, seconds in self._ended:
            # A poll holds its place until the scheduler is told of it.
            self._controller.fetched(seconds + now - ended_at)
        self._ended.clear()
        return self._controller.staff(self._collection.hosts)

    async def poll(self, page: Page, memory: PageMemory) -> PollReport:
        """See `Poller.poll`."""
        begun_at = self._clock()
        rules = await self._robots.rules(page.url)
        sitemaps: list[SitemapEntry] = []
        requests = 0
        if self._read.get(origin_of(page.url)) != rules.expires_at:
            self._read[origin_of(page.url)] = rules.expires_at
            delay = max(self._crawl_delay, rules.crawl_delay)
            await self._sleep(delay)
            sitemaps, requests = await self._read_sitemaps(rules, page.scope, delay)
        report = await self._web.poll(page, memory)
        fetched_at = self._clock()
        digest = None if report.version is None else await self._digest(page, report)
        if isinstance(digest, ProcessingFailed):
            failure = replace(report.observation, outcome=Outcome.FAILED, last_changed_at=None)
            report = PollReport(failure, memory, notices=report.notices, error=str(digest))
            digest = None
        report = self._collection.take_in(page, report, digest, sitemaps)
        self._ended.append((self._clock(), fetched_at - begun_at))
        observation = report.observation
        return replace(report, observation=replace(observation, cost=observation.cost + requests))

    async def _digest(self, page: Page, report: PollReport) -> Digest | ProcessingFailed:
        assert report.version is not None
        response = Response(
            report.version.body, report.version.content_type, page.url, report.robots_tag or ""
        )
        result = await self._processor.process(response)
        if self._processor.processing_time is not None:
            self._controller.processed(self._processor.processing_time)
        return result

    async def _read_sitemaps(
        self, rules: Rules, scope: str, delay: float
    ) -> tuple[list[SitemapEntry], int]:
        """The pages that the sitemaps of a robots.txt name, and how many requests that took."""
        found: list[SitemapEntry] = []
        waiting = deque(rules.sitemaps)
        requests = 0
        while waiting and requests < _MOST_SITEMAPS:
            url = waiting.popleft()
            if not _is_of(scope, url):
                continue
            result = await self._fetcher.fetch(url, PageMemory(), may_follow=follow_none)
            requests += 1
            await self._sleep(delay)
            for entry in await asyncio.to_thread(parse_sitemap, result.body):
                if entry.is_index:
                    waiting.append(entry.url)
                elif _is_of(scope, entry.url):
                    found.append(entry)
        return found, requests


def _is_of(scope: str, url: str) -> bool:
    """Whether a host may speak for this URL, and politeness to it holds for the other."""
    try:
        return scope_of(url) == scope
    except InputError:
        return False
