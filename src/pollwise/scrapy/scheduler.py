"""The scheduler: which request is next, when pages are to be polled again and again."""

import logging
import pickle
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapy import Spider, signals
from scrapy.core.scheduler import Scheduler as QueueScheduler
from scrapy.crawler import Crawler
from scrapy.http import Request, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import CallLaterResult, call_later
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from pollwise.errors import InputError, StateError, StoreError
from pollwise.live.clock import LiveClock
from pollwise.schedule import Schedule
from pollwise.scrapy.middleware import Middleware, polled
from pollwise.scrapy.polls import Poll, page_of, poll_of
from pollwise.scrapy.settings import budget_of
from pollwise.scrapy.templates import pack, unpack
from pollwise.slow_work import told_if_slow
from pollwise.types import Outcome
from pollwise.units import HOUR
from pollwise.web.headers import parse_retry_after
from pollwise.web.robots_rules import parse_rules, product_token
from pollwise.web.urls import scope_of

__all__ = ["Scheduler"]

_LOG = logging.getLogger(__name__)
_LEASE = HOUR
"""Seconds. All polls end by themselves, but for those of which a component of the user loses the
request."""
_SAVE_AFTER = 60.0
_SHORTEST_WAIT = 0.001
_START = "is_start_request"
"""In the `meta` of requests with which Scrapy begins, and of what is made of them."""
_UNREADABLE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    TypeError,
    ValueError,
    pickle.UnpicklingError,
)
"""What unpickling may raise when the classes of the values, or the spider, have changed."""


class Scheduler(QueueScheduler):
    """Makes pages of the requests that a spider yields, and polls them by the index of pollwise.

    A plain GET whose callback is a method of the spider makes its page known, once, as far as the
    duplicate filter allows; then the page is polled within POLLWISE_BUDGET until the crawl ends.
    All other requests go through the queues of Scrapy and are made once, at once: so do those with
    `dont_filter` for a page that is known, unless they are start requests.

    One page of a host is polled at a time. Between two polls a host is left alone for the delay
    that its slot of Scrapy's downloader has, for its Crawl-delay if ROBOTSTXT_OBEY is set, or for
    as long as it asks by Retry-After. Scrapy tries no poll again: when to do that is pollwise's.

    What was learned is in a file beside POLLWISE_DB, with `.schedule` after its name, written each
    minute or so and at the end. The attribute `clock` gives the time, in UTC seconds.
    """

    clock: Callable[[], float]
    crawler: Crawler

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.clock = LiveClock()
        self._ready: deque[Request] = deque()
        # Pages that are not in the schedule yet, and how they are asked for.
        self._new: dict[str, bytes] = {}
        self._announced: Poll | None = None
        self._crawl_delays: dict[str, float] = {}
        self._waking: CallLaterResult | None = None
        self._saving: CallLaterResult | None = None
        self._save_after = _SAVE_AFTER
        self._has_told_of_others = False
        self._is_open = False

    def open(self, spider: Spider) -> "Deferred[None] | None":
        """Take up what the file holds; errors of the file, and an `InputError` for settings."""
        middleware = self.crawler.get_downloader_middleware(Middleware)
        if middleware is None:
            raise InputError(
                "pollwise.scrapy.Scheduler works with pollwise.scrapy.Middleware only: put it into"
                " DOWNLOADER_MIDDLEWARES, at 75, or have both by"
                ' ADDONS = {"pollwise.scrapy.Addon": 500}'
            )
        self._budget = budget_of(self.crawler.settings)
        self._middleware = middleware
        middleware.is_scheduled = True
        middleware.before_taking = self._add_new
        self._store = middleware.store
        self._file = Path(f"{self._store.path}.schedule")
        # Scrapy shows what libraries log: of the compiler that would be thousands of lines.
        logging.getLogger("numba").setLevel(logging.WARNING)
        opened = super().open(spider)
        self._take_up()
        connect = self.crawler.signals.connect
        connect(self._record, polled)
        connect(self._announce, signals.request_scheduled)
        connect(self._read_robots_txt, signals.response_received)
        self._is_open = True
        return opened

    def close(self, reason: str) -> "Deferred[None] | None":
        """Write down what was learned."""
        if not self._is_open:  # nor could it be
            return None
        for timer in (self._waking, self._saving):
            if timer is not None:
                timer.cancel()
        if self.dqs is None and (lost := super().__len__()):
            _LOG.warning(
                "%d requests that were to be made once, such as POST, are lost: with JOBDIR set"
                " they are kept for the next crawl",
                lost,
            )
        self._add_new()
        self._save()
        return super().close(reason)

    def has_pending_requests(self) -> bool:
        """Whether there is anything to fetch, now or later: a page that is known always is."""
        return bool(self._ready or self._new or self._schedule) or super().has_pending_requests()

    def enqueue_request(self, request: Request) -> bool:
        """Take in a request; False: it is a duplicate."""
        poll = poll_of(request)
        if poll is not None:
            self._announced = None
            return self._go_on(poll, request)
        is_start = bool(request.meta.pop(_START, False)) and Poll.latest_of(request) is None
        Poll.detach(request)
        if isinstance(request.errback, _Ending):  # of a request that the spider made this one from
            request.errback = request.errback.errback
        page = page_of(request)
        if page is None:
            if is_start:
                request.meta[_START] = True
            return super().enqueue_request(request)
        if self.df.request_seen(request) and not request.dont_filter:
            self.df.log(request, self.spider)
            return False
        if self._knows(page):
            if not is_start:
                self._middleware.begin(page, request, whole=True)
                self._queue(request)
            return True
        template = pack(request, self.spider)
        if template is None:
            self._tell_of_others(request)
            self._queue(request)
        else:
            self._new[page] = template
        return True

    def next_request(self) -> Request | None:
        """The next request; None: there is none yet. Then the engine is woken when there is."""
        self._end_announced()
        if self._ready:
            return self._ready.popleft()
        request = super().next_request() or self._lease()
        if request is None:
            self._wake_later()
        return request

    def _take_up(self) -> None:
        """Make the schedule of what the files hold."""
        pages, lost = [], []
        for page in self._store.pages():
            template = self._store.template(page)
            assert template is not None
            try:
                self.df.request_seen(unpack(template, self.spider))
                pages.append(page)
            except _UNREADABLE as error:
                lost.append(page)
                why = f"{type(error).__name__}: {error}"
        if lost:
            self._store.forget(lost)
            _LOG.warning(
                "%d pages are forgotten until they are found again, as their requests cannot be"
                " made any more (the last: %s, %s)",
                *(len(lost), lost[-1], why),
            )
        if self._file.exists():
            try:
                self._schedule = Schedule.load(self._file, now=self.clock())
            except StateError as error:
                raise StateError(
                    f"{self._file} is damaged: delete it, or put a copy of it back; the pages are"
                    f" kept, and what was learned of them is learned anew ({error})"
                ) from error
            self._schedule.budget = self._budget
            self._schedule.remove(set(self._schedule) - set(pages), now=self.clock())
        else:
            self._schedule = Schedule(self._budget, crawl_delay=0.0, lease=_LEASE)
        self._add(pages)
        if pages:
            _LOG.info(
                "%d pages are known; the next poll is due in %.0f s",
                *(len(pages), self._schedule.wait(self.clock())),
            )

    def _knows(self, page: str) -> bool:
        return page in self._new or page in self._schedule

    def _queue(self, request: Request) -> None:
        """Put a request into the queues of Scrapy."""
        if not self._dqpush(request):
            self._mqpush(request)

    def _go_on(self, poll: Poll, request: Request) -> bool:
        """Let a poll go on by a further request, unless that is for another page."""
        page = page_of(request)
        is_other = poll.page is not None and page is not None and page != poll.page
        if is_other and page is not None and not request.dont_filter and self._knows(page):
            self._middleware.end(poll, Outcome.GONE)
            self.df.log(request, self.spider)
            return False
        self._ready.append(request)
        return True

    def _announce(self, request: Request) -> None:
        """Note that a poll goes on, if no component keeps the request from being taken in."""
        self._end_announced()
        self._announced = poll_of(request)

    def _end_announced(self) -> None:
        """End a poll whose request, such as a redirect to another site, was not taken in."""
        if self._announced is not None:
            self._middleware.end(self._announced, Outcome.GONE)
            self._announced = None

    def _add_new(self) -> None:
        """Take the new pages into file and schedule."""
        if self._new:
            try:
                self._store.put_templates(self._new)
            except StoreError as error:
                self._middleware.fail(error)
                return
            self._add(list(self._new))
            self._new.clear()

    def _add(self, pages: list[str]) -> None:
        with told_if_slow(_LOG.info, "pollwise is compiling, once, about half a minute", after=3.0):
            self._schedule.add(pages, now=self.clock())
        self._save_later()

    def _lease(self) -> Request | None:
        """A request for the page that is next; None: none is due."""
        self._add_new()
        page = self._schedule.next(self.clock())
        if page is None:
            return None
        try:
            template = self._store.template(page)
        except StoreError as error:
            self._middleware.fail(error)
            return None
        assert template is not None
        request = unpack(template, self.spider)
        request.meta.setdefault("dont_retry", True)
        poll = self._middleware.begin(page, request)
        request.errback = _Ending(poll, self._middleware, request.errback)
        return request

    def _wake_later(self) -> None:
        """Have the engine woken when a page is due: it would ask again in five seconds only."""
        if self._waking is not None:
            self._waking.cancel()
        wait = max(self._schedule.wait(self.clock()), _SHORTEST_WAIT)
        self._waking = call_later(wait, self._wake)

    def _wake(self) -> None:
        request = self._lease()
        if request is None:
            self._wake_later()
        else:
            self.crawler.engine.crawl(request)

    def _record(
        self,
        page: str,
        outcome: Outcome,
        request: Request | None,
        last_modified: str | None,
        retry_after: str | None,
    ) -> None:
        """Learn from the outcome of a poll."""
        if page not in self._schedule:
            return
        now = self.clock()
        pause = max(self._delay(page, request), parse_retry_after(retry_after, now) or 0.0)
        known = outcome in (Outcome.CHANGED, Outcome.UNCHANGED)
        self._schedule.record(
            page,
            outcome is Outcome.CHANGED if known else None,
            failed=outcome is Outcome.FAILED,
            gone=outcome is Outcome.GONE,
            last_changed_at=last_modified,
            retry_after=pause or None,
            now=now,
        )
        self._save_later()

    def _delay(self, page: str, request: Request | None) -> float:
        """Seconds for which the host of a page is left alone after a poll."""
        slots = self.crawler.engine.downloader.slots
        slot = None if request is None else slots.get(request.meta.get("download_slot", ""))
        delay = self.crawler.settings.getfloat("DOWNLOAD_DELAY") if slot is None else slot.delay
        return max(delay, self._crawl_delays.get(scope_of(page), 0.0))

    def _read_robots_txt(self, response: Response, request: Request) -> None:
        """Take in the Crawl-delay of a robots.txt that Scrapy fetched."""
        if request.callback is not NO_CALLBACK or urlsplit(request.url).path != "/robots.txt":
            return
        told = self.crawler.settings
        robot = product_token(told.get("ROBOTSTXT_USER_AGENT") or told.get("USER_AGENT"))
        if response.status == 200:
            rules = parse_rules(response.body, robot, expires_at=0.0)
            with suppress(InputError):
                self._crawl_delays[scope_of(request.url)] = rules.crawl_delay

    def _save_later(self) -> None:
        if self._saving is None:
            self._saving = call_later(self._save_after, self._save)

    def _save(self) -> None:
        """Write down what was learned. How often depends on how long it takes."""
        self._saving = None
        began_at = time.monotonic()
        try:
            if not self._store.path.exists():
                raise StoreError(
                    f"{self._store.path} is no more: it was deleted or moved meanwhile"
                )
            self._schedule.save(self._file)
        except (InputError, StoreError) as error:
            self._middleware.fail(error)
        self._save_after = max(_SAVE_AFTER, 100 * (time.monotonic() - began_at))

    def _tell_of_others(self, request: Request) -> None:
        if not self._has_told_of_others:
            self._has_told_of_others = True
            _LOG.warning(
                "%s is fetched once and not polled again, as its callback is no method of the"
                " spider, or something in it cannot be pickled (no more of these are told)",
                request.url,
            )


class _Ending:
    """The errback of a poll: it ends if a component failed behind the back of the middleware."""

    def __init__(
        self, poll: Poll, middleware: Middleware, errback: Callable[[Failure], Any] | None
    ) -> None:
        self._poll = poll
        self._middleware = middleware
        self.errback = errback

    def __call__(self, failure: Failure) -> Any:
        if self._poll.under_way:
            self._middleware.end(self._poll, Outcome.FAILED)
        return failure if self.errback is None else self.errback(failure)
