"""A poll for a collection: robots.txt, sitemaps, fetch, and what the response processor finds.

Every request is polite: the scheduler keeps the crawl delay between polls, the fetcher within one.
Redirects are not followed but lead to pages of their own. A poll ends before its page if the host
asks for a delay too long to wait for, or answers a request for a sitemap with 429 or 503.
"""

import asyncio
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import takewhile

from pollwise.collecting.document_collection import DocumentCollection
from pollwise.collecting.fetcher_controller import FetcherController
from pollwise.collecting.response_digest import Digest
from pollwise.collecting.response_processor import (
    ProcessingFailed,
    ProcessorLoad,
    Response,
    ResponseProcessor,
)
from pollwise.errors import PostponedError
from pollwise.store.records import Discovery, PollResult
from pollwise.types import Outcome, Page, PageMemory, Version
from pollwise.web.deadlines import time_limit
from pollwise.web.fetcher import FetchResult, Now, follow_none
from pollwise.web.poll_reports import PollReport
from pollwise.web.poller import LONGEST_POLL, WebPoller
from pollwise.web.robots_rules import Rules
from pollwise.web.sitemaps import SitemapEntry, parse_sitemap
from pollwise.web.urls import origin_of, scope_of

__all__ = ["CollectingPoller"]

_PERIOD = 1.0
"""Seconds over which the idleness of the processor is measured."""
_MOST_SITEMAPS = 5
"""Sitemaps that are read of one origin, including those named in its sitemap indexes."""
_MOST_PASSED_OVER = 200
"""Sitemaps of one origin that are not read, as they are of another one or disallowed, before no
more are looked at: an index may name 50,000, which are compared with robots.txt one by one."""
_MOST_ENTRIES = 10_000
"""Pages taken from the sitemaps of one origin at a time; a site may list millions."""
_NAMED_AT_ONCE = 100
"""Pages of sitemaps that are taken in before the loop may go on with other things: 5 ms."""
_LEAST_PATIENCE, _PATIENCE = 1.0, 4.0
"""In seconds, and in mean times of a poll: what takes longer counts no more as under way, so that
hosts that do not answer never hold up those that do."""
_LONGEST_PAUSE = 30.0
"""Seconds that a poll waits between two requests at most. It counts as under way meanwhile, and
slow hosts must not take up all polls that may be."""


class CollectingPoller:
    """A `Poller` that hands what it finds to a collection.

    `web` must not follow redirects. `crawl_delay` is the scheduler's, in seconds; `clock` gives
    seconds. `controller` is told how long fetching and processing
    take.
    """

    def __init__(
        self,
        web: WebPoller,
        processor: ResponseProcessor[Digest],
        collection: DocumentCollection,
        controller: FetcherController,
        *,
        crawl_delay: float,
        clock: Now,
    ) -> None:
        self._web = web
        self._processor = processor
        self._collection = collection
        self._controller = controller
        self._crawl_delay = crawl_delay
        self._clock = clock
        # By origin: when the latest robots.txt expires.
        self._read: dict[str, float] = {}
        self._load: ProcessorLoad | None = None
        # Polls that have ended: when, and how long they took without queue and processor.
        self._ended: list[tuple[float, float]] = []
        # When the polls that are being fetched were begun, by page, the earliest first.
        self._begun: dict[int, float] = {}
        # Held for one report, with all that its poll found: the ids of new pages have no gaps.
        self._taking_in = asyncio.Lock()

    def staff(self) -> int:
        """How many polls may be under way now; ask when the scheduler learns which have ended."""
        now = self._clock()
        patience = max(_LEAST_PATIENCE, _PATIENCE * self._controller.latency)
        for ended_at, seconds in self._ended:
            # A poll holds its place until the scheduler is told of it, or patience ends.
            self._controller.fetched(min(seconds + now - ended_at, patience))
        self._ended.clear()
        self._tell_idleness()
        slow = sum(1 for _ in takewhile(lambda at: at < now - patience, self._begun.values()))
        return self._controller.staff(self._collection.hosts, slow)

    def _tell_idleness(self) -> None:
        load, before = self._processor.load, self._load
        if before is None:
            self._load = load
        elif load.elapsed - before.elapsed >= _PERIOD:
            idle, busy = load.idle - before.idle, load.busy - before.busy
            self._controller.idled(idle / (idle + busy))
            self._load = load

    async def poll(self, page: Page, memory: PageMemory) -> PollReport:
        """See `Poller.poll`."""
        begun_at = self._begun[page.id] = self._clock()
        visit = _Visit()
        # What it says is read anew, though it has not changed, if it may be an original by now.
        known = PageMemory() if self._collection.has_lost_original(page.id) else memory
        try:
            async with time_limit(asyncio.get_running_loop().time() + LONGEST_POLL):
                report = await self._first_contact(page, memory, visit) or await self._web.poll(
                    page, known
                )
        except TimeoutError:
            report = self._web.timed_out(page, memory)
        except PostponedError as error:
            # The machine slept, so they are read before the next poll. Sitemaps that took too long
            # (`TimeoutError`) are not: each poll would end in reading them.
            if visit.reads_sitemaps:
                self._read.pop(origin_of(page.url), None)
            report = self._web.postponed(page, memory, None, error)
        finally:
            del self._begun[page.id]
        fetched_at = self._clock()
        with ExitStack() as place:
            place.callback(report.release)
            report = await self._taken_in(page, memory, report, visit)
            place.pop_all()
        self._ended.append((self._clock(), fetched_at - begun_at))
        return _costing(report, visit.requests)

    async def _taken_in(
        self, page: Page, memory: PageMemory, report: PollReport, visit: "_Visit"
    ) -> PollReport:
        """The report with all that it means for the collection."""
        content = report.result.version or report.reread
        digest = None if content is None else await self._digest(page, content, report.robots_tag)
        if isinstance(digest, ProcessingFailed):
            report = _failed(report, memory, str(digest))
            digest = None
        found_at = report.result.observation.polled_at
        async with self._taking_in:
            named: list[Discovery] = []
            for begin in range(0, len(visit.entries), _NAMED_AT_ONCE):
                some = visit.entries[begin : begin + _NAMED_AT_ONCE]
                named += self._collection.name(some, found_at)
                await asyncio.sleep(0)
            return self._collection.take_in(page, report, digest, named)

    async def _digest(
        self, page: Page, content: Version, robots_tag: str | None
    ) -> Digest | ProcessingFailed:
        response = Response(content.body, content.content_type, page.url, robots_tag or "")
        result = await self._processor.process(response)
        if self._processor.processing_time is not None:
            self._controller.processed(self._processor.processing_time)
        return result

    async def _first_contact(
        self, page: Page, memory: PageMemory, visit: "_Visit"
    ) -> PollReport | None:
        """Do what comes before the page if the robots.txt of its origin was read anew.

        The report of the poll if it ended with that.
        """
        rules: Rules | None = None
        try:
            rules = await self._web.robots_txt.rules(page.url)
            return await self._read_first(page, memory, rules, visit)
        except PostponedError as error:
            return self._web.postponed(page, memory, rules, error)

    async def _read_first(
        self, page: Page, memory: PageMemory, rules: Rules, visit: "_Visit"
    ) -> PollReport | None:
        origin = origin_of(page.url)
        if self._read.get(origin) == rules.expires_at:
            return None
        self._read[origin] = rules.expires_at
        delay = max(self._crawl_delay, rules.crawl_delay)
        if delay > _LONGEST_PAUSE:
            why = f"{origin} wants {delay:g} s between requests: robots.txt was one"
            return self._web.postponed(page, memory, rules, PostponedError(why))
        visit.reads_sitemaps = True
        try:
            refusal = await self._read_sitemaps(rules, origin, visit)
        except PostponedError:
            self._read.pop(origin, None)  # they are read before the next poll
            raise
        visit.reads_sitemaps = False
        return None if refusal is None else self._web.answered(page, memory, rules, refusal)

    async def _read_sitemaps(
        self, rules: Rules, origin: str, visit: "_Visit"
    ) -> FetchResult | None:
        """Read the sitemaps of a robots.txt; the answer 429 or 503 that ended it, if one did."""
        waiting, passed_over = deque(rules.sitemaps), 0
        while waiting and visit.requests < _MOST_SITEMAPS and len(visit.entries) < _MOST_ENTRIES:
            url = waiting.popleft()
            if origin_of(url) != origin or not await self._web.robots_txt.decide(rules, url):
                passed_over += 1
                if passed_over == _MOST_PASSED_OVER:
                    break
                continue
            result = await self._web.fetcher.fetch(url, PageMemory(), may_follow=follow_none)
            visit.requests += 1
            if result.status in (429, 503):
                return result
            try:
                sitemaps, entries = await asyncio.to_thread(_read_sitemap, result.body, origin)
            finally:
                result.release()
            waiting += sitemaps
            visit.entries += entries
        del visit.entries[_MOST_ENTRIES:]
        return None


def _read_sitemap(body: bytes, origin: str) -> tuple[list[str], list[SitemapEntry]]:
    """The sitemaps that a sitemap names, and the entries of the host of its origin."""
    entries, scope = parse_sitemap(body), scope_of(origin)
    pages = [one for one in entries if not one.is_index and scope_of(one.url) == scope]
    return [one.url for one in entries if one.is_index], pages


def _failed(report: PollReport, memory: PageMemory, error: str) -> PollReport:
    """The report of a poll whose answer could not be read."""
    seen = replace(report.result.observation, outcome=Outcome.FAILED, last_changed_at=None)
    result = PollResult(seen, memory, error=error)
    return PollReport(result, report.notices, release=report.release)


def _costing(report: PollReport, more: float) -> PollReport:
    """The report with so many cost units more."""
    seen = report.result.observation
    result = replace(report.result, observation=replace(seen, cost=seen.cost + more))
    return replace(report, result=result)


@dataclass(slots=True)
class _Visit:
    """What a poll found and asked for before its page."""

    entries: list[SitemapEntry] = field(default_factory=list)
    requests: int = 0
    reads_sitemaps: bool = False
