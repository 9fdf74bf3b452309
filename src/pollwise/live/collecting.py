"""`pollwise collect`: from what a user says to a robot that builds a collection."""

import asyncio
import gc
import resource
import signal
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import uvloop

from pollwise.collecting.collecting_poller import CollectingPoller
from pollwise.collecting.document_collection import DocumentCollection
from pollwise.collecting.fetcher_controller import FetcherController
from pollwise.collecting.link_filter import LinkFilter, Rejected
from pollwise.collecting.response_digest import Digest, digest
from pollwise.collecting.response_processor import ProcessorLoad, ResponseProcessor
from pollwise.collecting.stored_topic import (
    FILTER_STATE,
    pack_filter_state,
    stored_filter,
    stored_subject,
    stored_topic,
)
from pollwise.console.collecting import CollectDisplay
from pollwise.errors import InputError
from pollwise.insight.knowledge import learned_by
from pollwise.live.journal import watch
from pollwise.live.loop import Progress, WallClock, Watched
from pollwise.policies.collecting.robot import Robot
from pollwise.relevance.topic import Topic, topic
from pollwise.scheduler.budgets import parse_budget
from pollwise.scheduler.scheduler import Scheduler
from pollwise.store import NewPage, Store
from pollwise.types import Budget, PageMemory
from pollwise.web.fetcher import HttpFetcher
from pollwise.web.polite_fetcher import PoliteFetcher
from pollwise.web.poller import WebPoller
from pollwise.web.reading.page_parser import parse_page
from pollwise.web.robots_txt import Robots
from pollwise.web.urls import scope_of

__all__ = ["CollectOptions", "collect_pages"]

_SEED = 0
_LEASE = 86400.0
"""Seconds: longer than any poll waits for its host, sitemaps and the response queue. A lease that
ran out would let a second poll of the host begin beside the first."""
_MOST_FILES = 8192
_MOST_BYTES = 4 * 2**20
"""Of a page or sitemap. What a reader sees of a page is found in the loop that fetches, which
stands still meanwhile: up to a second for so many bytes."""
_LINE = 1
"""Pages that may wait for a busy host: the robot chooses anew each time, by what it has learned."""


@dataclass(frozen=True, slots=True)
class CollectOptions:
    """What a run of `pollwise collect` may be told besides topic, seeds and budget.

    `crawl_delay` is in seconds. `requests` ends the run after so many polls (None: never). `allow`
    and `deny` are regular expressions on URLs, `max_depth` counts links from a seed. `workers` is
    the number of processes that read responses.
    """

    crawl_delay: float = 1.0
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    max_depth: int | None = None
    pages_per_host: int | None = None
    requests: int | None = None
    workers: int = 1


def collect_pages(
    words: str,
    examples: Sequence[str],
    judge: str | None,
    seeds: Sequence[str],
    *,
    budget: str,
    db: Path,
    options: CollectOptions,
) -> ProcessorLoad:
    """Collect pages about a topic until SIGINT or SIGTERM, or until all polls were made.

    The topic is that of the database where none is named. What the response processor did is the
    answer. `InputError` and `StoreError` before anything is changed; `StoreError` also ends a run
    whose database can be written no longer.
    """
    amount = parse_budget(budget)
    if amount.per_page:
        raise InputError(
            f"budget {budget!r}: the pages of a collection are not known beforehand; give a budget"
            " for all of them, such as 2/second"
        )
    told = _topic(words, examples, judge)
    link_filter = partial(
        LinkFilter,
        allow=options.allow,
        deny=options.deny,
        max_depth=options.max_depth,
        pages_per_host=options.pages_per_host,
    )
    pages = _admitted(seeds, link_filter({}))
    if not db.exists() and not (told and pages):
        raise InputError(
            f"nothing to collect: there is no database {db}; name a topic (--topic) and pages to"
            " begin with (--seed)"
        )
    clock = WallClock()
    with Store.open(db) as store:
        about = _agreed_topic(store, told, db)
        store.add_pages(pages, now=clock())
        subject = words or stored_subject(store) or judge or "what the examples are about"
        settings = {
            "budget": budget,
            "rate": amount.rate,
            "topic": asdict(about),
            "subject": subject,
        }
        policy = Robot(generator=np.random.default_rng(_SEED))
        if learned_by(store, policy) is None and store.has_learned():
            store.forget_learned()
        scheduler = Scheduler(
            policy,
            Budget(amount.rate, burst=max(1.0, amount.rate)),
            lease=_LEASE,
            crawl_delay=options.crawl_delay,
            line=_LINE,
        )
        with CollectDisplay(subject=subject, budget=budget, db=db) as display:
            return uvloop.run(
                _collect(store, scheduler, clock, settings, about, link_filter, options, display)
            )


async def _collect(
    store: Store,
    scheduler: Scheduler,
    clock: WallClock,
    settings: Mapping[str, object],
    about: Topic,
    link_filter: Callable[[Collection[str]], LinkFilter],
    options: CollectOptions,
    display: CollectDisplay,
) -> ProcessorLoad:
    gc.freeze()
    gc.enable()
    _have_room_for_connections()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    collection = DocumentCollection(
        stored_filter(store, about),
        link_filter,
        partial(_stored_terms, store.path),
        records=store.pages(),
        next_page_id=store.next_page_id(),
    )
    controller = FetcherController(workers=options.workers)
    processor = ResponseProcessor[Digest](
        partial(digest, judge=about.judge), workers=options.workers
    )
    polls = 0

    def show(progress: Progress, watched: Mapping[int, Watched]) -> None:
        nonlocal polls
        polls += len(progress.reports)
        if options.requests is not None and polls >= options.requests:
            stop.set()
        display.show(progress, watched, scheduler.in_flight, processor.queued)

    async with HttpFetcher(clock=clock, max_bytes=_MOST_BYTES) as exchanges, processor:
        fetcher = PoliteFetcher(
            exchanges, delay=options.crawl_delay, clock=time.monotonic, sleep=asyncio.sleep
        )
        robots = Robots(fetcher, clock=clock)
        web = WebPoller(fetcher, robots, clock=clock, follow_redirects=False)
        poller = CollectingPoller(
            web,
            processor,
            collection,
            controller,
            robots=robots,
            fetcher=fetcher,
            crawl_delay=options.crawl_delay,
            clock=clock,
            sleep=asyncio.sleep,
        )
        await watch(
            store,
            scheduler,
            poller,
            clock=clock,
            stop=stop,
            settings=settings,
            on_progress=show,
            staff=poller.staff,
            states=lambda: {FILTER_STATE: pack_filter_state(collection.topic_filter.state_dict())},
        )
        display.rejected(collection.rejections)
        return processor.load


def _have_room_for_connections() -> None:
    """Raise the bound on open files, which is 1,024 on most systems unless one asks for more.

    A thousand polls may be under way, and a connection stays open for a while after its poll.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _topic(words: str, examples: Sequence[str], judge: str | None) -> Topic | None:
    """What the command line says of the topic; None: nothing."""
    if not (words or examples or judge):
        return None
    return topic(words, [_text_of(example) for example in examples], judge)


def _text_of(example: str) -> str:
    """The text of an example page, a URL or the name of a file."""
    if example.startswith(("http://", "https://")):
        body, content_type, url = asyncio.run(_fetched(example))
    else:
        try:
            body, content_type = Path(example).read_bytes(), None
        except OSError as error:
            raise InputError(
                f"topic: the example {example} cannot be read ({error.strerror}); name a file or a"
                " URL"
            ) from error
        url = "http://localhost/"
    page = parse_page(body, content_type, url)
    return "\n".join([page.title, *page.blocks])


async def _fetched(url: str) -> tuple[bytes, str | None, str]:
    async with HttpFetcher(clock=WallClock()) as fetcher:
        result = await fetcher.fetch(url, PageMemory())
    if result.error is not None or result.status != 200:
        why = result.error or f"status {result.status}"
        raise InputError(f"topic: the example {url} cannot be fetched ({why}); name another page")
    return result.body, result.content_type, result.final_url


def _admitted(seeds: Sequence[str], link_filter: LinkFilter) -> list[NewPage]:
    pages = []
    for seed in seeds:
        url = link_filter.admit(seed)
        if isinstance(url, Rejected):
            raise InputError(f"seed {seed}: {url.value}; name another page to begin with")
        pages.append(NewPage(url, scope_of(url)))
    return pages


def _agreed_topic(store: Store, told: Topic | None, db: Path) -> Topic:
    """The topic of the database, or of the command line where it has none yet."""
    runs = store.runs()
    kept = stored_topic(store)
    if runs and kept is None:
        raise InputError(f"{db} watches pages and holds no collection; name another file (--db)")
    if kept is not None and told is not None and kept != told:
        raise InputError(
            f"{db} is about another topic ({' '.join(kept.words) or kept.judge or 'by example'});"
            " leave --topic out to go on with it, or name another file (--db)"
        )
    about = kept or told
    if about is None:
        raise InputError(f"{db} has no topic yet; name one (--topic)")
    if kept is None and not runs and store.totals().pages == 0 and told is None:
        raise InputError(f"{db} has no pages; name some to begin with (--seed)")
    return about


def _stored_terms(db: Path) -> Iterator[tuple[int, bytes]]:
    """The packed terms of all collected pages; read beside the writer, bit by bit."""
    with Store.open_readonly(db) as reader:
        yield from reader.terms()
