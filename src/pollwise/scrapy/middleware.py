"""The downloader middleware: validators go in, and what each poll of a page found comes out."""

import logging
from collections.abc import Callable
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Request, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import deferred_from_coro

from pollwise.errors import PollwiseError, StoreError
from pollwise.scrapy.content import content_hash
from pollwise.scrapy.polls import Poll, page_of, poll_of
from pollwise.scrapy.settings import db_of, skips_unchanged
from pollwise.scrapy.store import Copy, CrawlStore
from pollwise.types import Outcome
from pollwise.web.headers import validator

__all__ = ["Middleware", "polled"]

_LOG = logging.getLogger(__name__)
_CONDITIONS = ("If-None-Match", "If-Modified-Since")
_NOT_OF_VALIDATORS = (401, 408, 425, 429)
"""Refusals that validators have no part in."""

polled = object()
"""The signal that the outcome of a poll is known.

Receivers get `page`, its canonical URL; `outcome`, an `Outcome` (the first copy is CHANGED);
`last_modified` and `retry_after`, the headers if the server sent them, else None; and the last
`request` of the poll, or None.
"""


class Middleware:
    """Asks for pages only if they have changed, and tells by the signal `polled` whether they have.

    Its place is near the engine, beyond redirects, retries and compression, so that a poll is
    judged once, by what the spider would get. What is remembered of pages is in `store`, the file
    POLLWISE_DB. Pages that are unchanged do not reach the spider, unless POLLWISE_SKIP_UNCHANGED is
    False or the request has `dont_skip_unchanged` in its `meta`: then they are asked for without
    validators. A 304 does reach a spider or a request with 304 in its `handle_httpstatus_list`.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._skips = skips_unchanged(crawler.settings)
        self._has_failed = False
        self._in_hand: set[str] = set()
        """Pages whose latest copy the spider is at work on."""
        self.hears_of_ends = False
        """Whether `take` is called when a callback has come to its end."""
        self.is_scheduled = False
        """Whether the requests that are to be skipped when nothing has changed have their polls."""
        self.before_taking: Callable[[], None] = lambda: None
        """Keeps what the spider made of pages."""
        self.store = CrawlStore(db_of(crawler.settings))
        crawler.signals.connect(self._not_taken, signals.spider_error)
        crawler.signals.connect(self._not_taken, signals.item_error)
        crawler.signals.connect(self._close, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Scrapy makes it by this; `InputError` for wrong settings, `StoreError` for the file."""
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        """Put the validators on a request for a page."""
        if request.callback is NO_CALLBACK:  # of components, such as for robots.txt
            return
        poll = poll_of(request)
        if poll is None:  # with the scheduler, one that a component or a callback waits for
            poll = self.begin(page_of(request), request, whole=self.is_scheduled)
        if poll.conditional:  # those of the request before, which was redirected or tried again
            poll.conditional = False
            for name in _CONDITIONS:
                request.headers.pop(name, None)
        if poll.page is None or poll.whole:
            return
        try:
            copy = self.store.copy(poll.page)
        except StoreError as error:
            self.fail(error)
            return
        if copy is None or copy.answered_by != request.url or not self._is_had(poll.page, copy):
            return
        if _is_conditional(request):  # by the spider
            return
        for name, value in zip(_CONDITIONS, (copy.etag, copy.last_modified), strict=True):
            if value is not None:
                request.headers[name] = value
                poll.conditional = True

    def process_response(self, request: Request, response: Response) -> Response:
        """Judge what came; `IgnoreRequest`, which nobody hears of, if it is unchanged."""
        poll = poll_of(request)
        if poll is None:
            return response
        if poll.page is None:
            poll.under_way = False
            return response
        try:
            skipped = self._judge(poll, poll.page, request, response)
        except StoreError as error:
            self.fail(error)
            return response
        finally:
            if poll.under_way:  # what decides what counts is the spider's, and may fail
                self.end(poll, Outcome.FAILED, request)
        if skipped:
            self._count("skipped")
            request.errback = None
            raise IgnoreRequest(f"unchanged: {response.url}")
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Note that nothing came."""
        poll = poll_of(request)
        if poll is not None:
            self.end(poll, Outcome.FAILED, request)

    def begin(self, page: str | None, request: Request, *, whole: bool = False) -> Poll:
        """Begin a poll of a page by a request; `whole`: the spider gets it, changed or not."""
        asked = not self._skips or bool(request.meta.get("dont_skip_unchanged"))
        poll = Poll(page, whole or asked)
        poll.attach(request)
        return poll

    def end(
        self,
        poll: Poll,
        outcome: Outcome,
        request: Request | None = None,
        *,
        last_modified: str | None = None,
        retry_after: str | None = None,
    ) -> None:
        """End a poll, and tell its outcome."""
        poll.under_way = False
        if poll.page is None:
            return
        self._count(outcome.name.lower())
        self._crawler.signals.send_catch_log(
            signal=polled,
            request=request,
            page=poll.page,
            outcome=outcome,
            last_modified=last_modified,
            retry_after=retry_after,
        )

    def take(self, page: str) -> None:
        """Note that the spider is done with the latest copy of a page."""
        if page not in self._in_hand:  # or it was taken, or given back, before
            return
        self._in_hand.discard(page)
        self.before_taking()
        try:
            self.store.take(page)
        except StoreError as error:
            self.fail(error)

    def fail(self, error: PollwiseError) -> None:
        """End the crawl, as what it learns cannot be kept."""
        if not self._has_failed:
            self._has_failed = True
            _LOG.critical("%s", error)
            deferred_from_coro(self._crawler.engine.close_spider_async(reason="pollwise_failed"))

    def _judge(self, poll: Poll, page: str, request: Request, response: Response) -> bool:
        """End a poll by its response; whether that is to be kept from the spider."""
        before = self.store.copy(page)
        headers = response.headers
        if response.status == 304 and _is_conditional(request):
            self.end(poll, Outcome.UNCHANGED, request)
            return poll.conditional and not self._asks_for_304(request)
        if response.status in (404, 410):
            self.store.give_back(page)
            self.end(poll, Outcome.GONE, request)
            return False
        if not 200 <= response.status < 300:
            is_refused = 400 <= response.status < 500 and response.status not in _NOT_OF_VALIDATORS
            if before is not None and poll.conditional and is_refused:  # else it may fail for ever
                self.store.put_copy(page, before._replace(etag=None, last_modified=None))
            wait = _text(headers.get("Retry-After"))
            self.end(poll, Outcome.FAILED, request, retry_after=wait)
            return False
        spider = self._crawler.spider
        assert spider is not None
        last_modified = _text(headers.get("Last-Modified"))
        content = content_hash(response, spider)
        unchanged = before is not None and before.content == content
        is_had = before is not None and unchanged and self._is_had(page, before)
        copy = Copy(
            response.url,
            validator(_text(headers.get("ETag"))),
            validator(last_modified),
            content,
            taken=before.taken if before is not None and is_had else not self.hears_of_ends,
        )
        if copy != before:
            self.store.put_copy(page, copy)
        if not copy.taken:
            self._in_hand.add(page)
        outcome = Outcome.UNCHANGED if unchanged else Outcome.CHANGED
        self.end(poll, outcome, request, last_modified=last_modified)
        return is_had and not poll.whole

    def _is_had(self, page: str, copy: Copy) -> bool:
        """Whether the spider has got this copy, and has not failed on it."""
        return copy.taken or page in self._in_hand

    def _asks_for_304(self, request: Request) -> bool:
        of_spider = getattr(self._crawler.spider, "handle_httpstatus_list", ())
        return 304 in request.meta.get("handle_httpstatus_list", of_spider)

    def _not_taken(self, response: Any) -> None:
        """What the spider or a pipeline failed on, it gets again."""
        request = getattr(response, "request", None)
        poll = None if request is None else Poll.latest_of(request)
        if poll is not None and poll.page is not None:
            self._in_hand.discard(poll.page)
            try:
                self.store.give_back(poll.page)
            except StoreError as error:
                self.fail(error)

    def _count(self, what: str) -> None:
        self._crawler.stats.inc_value(f"pollwise/{what}")

    def _close(self) -> None:
        self.store.close()


def _is_conditional(request: Request) -> bool:
    return any(name in request.headers for name in _CONDITIONS)


def _text(value: bytes | None) -> str | None:
    """A header's value."""
    return None if value is None else value.decode("latin-1")
