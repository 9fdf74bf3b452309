"""`pollwise collect`: from a user's words to a robot that builds a collection."""

import asyncio
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from pollwise.collecting.collecting_poller import CollectingPoller
from pollwise.collecting.document_collection import DocumentCollection
from pollwise.collecting.fetcher_controller import FetcherController
from pollwise.collecting.link_filter import LinkFilter, Rejected, UrlRules
from pollwise.collecting.response_digest import Digest, digest
from pollwise.collecting.response_processor import ProcessorLoad, ResponseProcessor
from pollwise.collecting.stored_filter import FILTER_STATE, pack_filter_state, stored_filter
from pollwise.collecting.stored_links import NEXT_LINKS, pack_links
from pollwise.errors import InputError
from pollwise.insight.words import count
from pollwise.live.changed_settings import changes_of
from pollwise.live.clock import LiveClock
from pollwise.live.collection_standing import CollectionTotals, Standing, StandingCounter
from pollwise.live.opening import opened
from pollwise.live.progress import Progress
from pollwise.live.run_figures import BesideRun
from pollwise.live.session import Run, Session, run_until_stopped
from pollwise.live.web_polling import MakePoller, fetching, web_poller
from pollwise.relevance.topic import Topic, topic
from pollwise.settings import CollectSettings, Settings, latest_settings, told_alone
from pollwise.store import Place, Store
from pollwise.store.place import file_of
from pollwise.store.records import NewPage
from pollwise.texts import read_bytes
from pollwise.types import Outcome, Page, PageMemory, Version
from pollwise.watched_pages import Watched
from pollwise.web.descriptors import make_room, most_polls
from pollwise.web.own_headers import OwnHeaders, read_own_headers
from pollwise.web.poll_reports import PollReport
from pollwise.web.poller import Poller
from pollwise.web.reading.page_parser import parse_page
from pollwise.web.traffic import Traffic
from pollwise.web.urls import canonical, plain_scopes, scope_of

__all__ = ["CollectRun", "CollectingDisplay", "MakeDisplay", "collect_pages"]

_KEPT_LINKS = 100
"""How many of the links that are followed next the store keeps, with their values."""
_MOST_BYTES = 4 * 2**20
"""Of a page or sitemap. Finding the visible text of so many bytes stops the loop that fetches for
up to a second."""
_LARGEST_EXAMPLE = 64 * 2**20


@dataclass(frozen=True, slots=True)
class CollectRun:
    """What a run of `pollwise collect` ends with: totals, and what the response processor did."""

    totals: CollectionTotals
    load: ProcessorLoad


class CollectingDisplay(Protocol):
    """Shows people what a robot collects."""

    def show(self, progress: Progress, watched: Mapping[int, Watched], standing: Standing) -> None:
        """Show what came of a turn, and how the collection stands."""

    def rejected(self, reasons: Mapping[Rejected, int]) -> None:
        """Show how many links were rejected, and why."""

    def silent(self, hosts: Sequence[str]) -> None:
        """Show which hosts gave no page, as every poll of them failed."""


MakeDisplay = Callable[[CollectSettings], AbstractContextManager[CollectingDisplay]]
"""Makes the display of a collection with these settings."""


def collect_pages(
    words: str,
    examples: Sequence[str],
    judge: str | None,
    seeds: Sequence[str],
    told: Mapping[str, Any],
    db: Place,
    *,
    make_display: MakeDisplay,
    say: Callable[[str], None],
    beside: Sequence[BesideRun] = (),
    listed: Sequence[str] = (),
) -> CollectRun:
    """Collect pages about a topic until SIGINT or SIGTERM, or until all polls were made.

    Words, examples (URLs or files) and judge name the topic; without any, it is that of the
    database. `seeds` without a copy are polled before all other pages, then those of `listed`, of
    which the ones that no collection takes are left out, and said. `told` are settings by name; the
    others stay as they were. `say`: see `Session`; `beside`: see `watch_pages`. `InputError`
    and `StoreError` come before anything is changed; later, a `StoreError` ends the run.
    """
    make_room()
    told_filter = _link_filter(CollectSettings(**told_alone(told, db)))({})
    _admitted(seeds, told_filter)

    def prepared(kept: Settings | None) -> tuple[OwnHeaders, dict[str, Any]]:
        """The user's headers, and all that was told; examples are fetched as pages will be."""
        known = kept if isinstance(kept, CollectSettings) else CollectSettings()
        settings = replace(known, **told)
        own_headers = read_own_headers(settings)
        about = _named_topic(words, examples, judge, fetching(settings, own_headers))
        return own_headers, {**told, "topic": about, "subject": words}

    is_new = not file_of(db, "a collection").exists()
    if is_new:
        # Before there is a file, as an example may be out of reach.
        own_headers, told_all = prepared(None)
        verdicts = map(told_filter.admit, listed)
        begins = bool(seeds) or not all(isinstance(url, Rejected) for url in verdicts)
        if not (told_all["topic"] != Topic() and begins):
            missing = [] if told_all["topic"] != Topic() else ["a topic (--topic)"]
            if not begins:
                _taken(listed, told_filter, say)  # says why there is none
                missing.append("pages to begin with (--seed or --seed-file)")
            raise InputError(
                f"nothing to collect: there is no database {db}; name {' and '.join(missing)}"
            )
    with opened(db, say) as store:
        kept = latest_settings(store)
        if not is_new:
            own_headers, told_all = prepared(kept)
        agreed = _agreed(kept, told_all, db)
        link_filter = _link_filter(agreed)
        own_filter = link_filter({})
        pages = [*_admitted(seeds, own_filter), *_taken(listed, own_filter, say)]
        given = {*agreed.given, *(page.scope for page in pages)}
        given_plain = {*agreed.given_plain, *plain_scopes(page.url for page in pages)}
        agreed = replace(agreed, given=tuple(sorted(given)), given_plain=tuple(sorted(given_plain)))
        for change in changes_of(kept, agreed):
            say(change)
        if kept is None:
            # Whatever interrupts this one: from now on the database is that of a collection.
            store.start_run(time.time(), agreed.recorded(), None)
        named = [page.id for page in store.add_pages(pages, now=time.time())]
        with make_display(agreed) as display:
            countdown = _Countdown(agreed.requests)

            def begin(clock: LiveClock) -> Run[CollectRun]:
                session = Session(store, agreed, clock=clock, say=say)
                return partial(
                    _collect,
                    session,
                    agreed,
                    named,
                    own_headers,
                    link_filter,
                    countdown,
                    display,
                    beside,
                    say,
                )

            return run_until_stopped(begin, say, latest_time=store.latest_time)


def _link_filter(settings: CollectSettings) -> Callable[[Collection[str]], LinkFilter]:
    return partial(
        LinkFilter,
        allow=settings.allow,
        deny=settings.deny,
        max_depth=settings.max_depth,
        pages_per_host=settings.pages_per_host,
    )


async def _collect(
    session: Session,
    settings: CollectSettings,
    named: Sequence[int],
    own_headers: OwnHeaders,
    link_filter: Callable[[Collection[str]], LinkFilter],
    countdown: "_Countdown",
    display: CollectingDisplay,
    beside: Sequence[BesideRun],
    say: Callable[[str], None],
    stop: asyncio.Event,
) -> CollectRun:
    traffic = Traffic()
    rules = UrlRules(settings.allow, settings.deny)
    pages = [own.page for own in session.watched.values()]
    left_out = [page.id for page in pages if rules.refusal(page.url) is not None]
    if left_out:
        nothing = ": nothing is left to poll" if len(left_out) == len(pages) else ""
        session.say(f"--allow and --deny leave out {count(len(left_out), 'known page')}{nothing}")
    held = {page.id for page in pages if page.seen_at is not None}
    collection = _collection(session, settings.topic, link_filter, say)
    processor = ResponseProcessor[Digest](
        partial(digest, judge=settings.topic.judge), workers=settings.workers
    )

    standing = StandingCounter(session, settings, collection, processor, set(left_out))

    def on_progress(progress: Progress, watched: Mapping[int, Watched]) -> None:
        if countdown.is_over:
            stop.set()
        display.show(progress, watched, standing.after(progress, watched))

    async with (
        fetching(settings, own_headers, max_bytes=_MOST_BYTES)(
            session.clock,
            follow_redirects=False,
            given=settings.given,
            given_plain=settings.given_plain,
            allow_private=settings.allow_private,
            blocked_until=session.scheduler.host_blocked_until,
            traffic=traffic,
        ) as web,
        processor,
    ):
        poller = CollectingPoller(
            web,
            processor,
            collection,
            FetcherController(workers=settings.workers, most_polls=min(1000, most_polls())),
            crawl_delay=settings.crawl_delay,
            clock=session.clock,
        )
        await session.run(
            _CountedPoller(poller, countdown),
            stop,
            on_progress=on_progress,
            staff=lambda: countdown.bound(poller.staff()),
            states={
                FILTER_STATE: lambda: pack_filter_state(collection.topic_filter.state_dict()),
                NEXT_LINKS: lambda: pack_links(standing.links(_KEPT_LINKS)),
            },
            traffic=traffic,
            told_figures=beside,
            topic=collection.topic_filter.topic_vector,
            left_out=left_out,
            first=[page_id for page_id in dict.fromkeys(named) if page_id not in held],
        )
        display.rejected(collection.rejections)
        display.silent(standing.silent_hosts())
        return CollectRun(standing.totals(), processor.load)


class _Countdown:
    """How many polls are left to be made; None: any number."""

    def __init__(self, polls: int | None) -> None:
        self._left = math.inf if polls is None else polls

    def count(self, outcome: Outcome) -> None:
        """Count a poll that has ended; one that was postponed was not made."""
        self._left -= outcome is not Outcome.POSTPONED

    def bound(self, staff: int) -> int:
        """How many of so many polls may be under way: all can be answered before the end."""
        return int(min(staff, max(self._left, 0)))

    @property
    def is_over(self) -> bool:
        """Whether all were made."""
        return self._left <= 0


class _CountedPoller:
    """A `Poller` that counts its polls down, each before another can begin in its place."""

    def __init__(self, poller: Poller, countdown: _Countdown) -> None:
        self._poller = poller
        self._countdown = countdown

    async def poll(self, page: Page, memory: PageMemory) -> PollReport:
        """See `Poller.poll`."""
        report = await self._poller.poll(page, memory)
        self._countdown.count(report.result.observation.outcome)
        return report


def _collection(
    session: Session,
    about: Topic,
    link_filter: Callable[[Collection[str]], LinkFilter],
    say: Callable[[str], None],
) -> DocumentCollection:
    """The collection as it is in the store."""
    store = session.store
    return DocumentCollection(
        stored_filter(store, about),
        link_filter,
        partial(_stored_terms, store.path),
        records=store.pages(),
        next_page_id=store.next_page_id(),
        say=say,
    )


def _named_topic(
    words: str, examples: Sequence[str], judge: str | None, make_poller: MakePoller
) -> Topic:
    """The topic of the command line; empty if it names none."""
    if not (words or examples or judge):
        return Topic()
    return topic(words, [_text_of(example, make_poller) for example in examples], judge)


def _text_of(example: str, make_poller: MakePoller = web_poller) -> str:
    """The text of an example page, given by its URL or as a file."""
    if example.startswith(("http://", "https://")):
        version = asyncio.run(_fetched(example, make_poller))
        parsed = parse_page(version.body, version.content_type, example)
    else:
        try:
            data = read_bytes(Path(example), _LARGEST_EXAMPLE)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise InputError(
                f"topic: the example {example} cannot be read ({why}); name a file or a URL"
            ) from error
        parsed = parse_page(data, None, "http://localhost/")
    text = "\n".join([parsed.title, *parsed.blocks])
    if not text.strip():
        why = parsed.reason or "it has no text"
        raise InputError(
            f"topic: the example {example} cannot be used ({why}); name a page with text about the"
            " topic"
        )
    return text


async def _fetched(url: str, make_poller: MakePoller) -> Version:
    try:
        page = Page(0, canonical(url), scope_of(url))
    except InputError as error:
        raise InputError(f"topic: the example {error}") from error
    given_plain = plain_scopes([page.url])
    async with make_poller(LiveClock(), given={page.scope}, given_plain=given_plain) as poller:
        result = (await poller.poll(page, PageMemory())).result
    if result.version is None:
        why = result.error or "there is no such page"
        raise InputError(f"topic: the example {url} cannot be fetched ({why}); name another page")
    return result.version


def _admitted(seeds: Sequence[str], link_filter: LinkFilter) -> list[NewPage]:
    pages = []
    for seed in seeds:
        url = link_filter.admit(seed)
        if isinstance(url, Rejected):
            mend = (
                "begin it with https:// or http://"
                if url is Rejected.NOT_FETCHED and "://" not in seed
                else "name another page to begin with"
            )
            raise InputError(f"seed {seed}: {url.value}; {mend}")
        pages.append(NewPage(url, scope_of(url)))
    return pages


def _taken(
    listed: Sequence[str], link_filter: LinkFilter, say: Callable[[str], None]
) -> list[NewPage]:
    """The pages of a file that a collection takes."""
    verdicts = {url: link_filter.admit(url) for url in listed}
    refused = {url: why for url, why in verdicts.items() if isinstance(why, Rejected)}
    if refused:
        first, why = next(iter(refused.items()))
        say(
            f"{count(len(refused), 'page')} of the {len(verdicts):,} listed left out, such as"
            f" {first}: {why.value}"
        )
    taken = [url for url in verdicts.values() if not isinstance(url, Rejected)]
    return [NewPage(url, scope_of(url)) for url in taken]


def _agreed(kept: Settings | None, told: Mapping[str, Any], db: Place) -> CollectSettings:
    """The settings of the database with those that were told, but for the topic, which stays."""
    if kept is None:
        first = CollectSettings(**told)
        if first.topic == Topic():
            raise InputError(f"{db} has no topic yet; name one (--topic)")
        return replace(first, subject=first.subject or _subject(first.topic))
    if not isinstance(kept, CollectSettings):
        raise InputError(f"{db} watches pages and holds no collection; name another file (--db)")
    about = kept.topic
    if told["topic"] not in (Topic(), about):
        raise InputError(
            f"{db} is about another topic ({kept.subject or _subject(about)});"
            " leave --topic, --example and --judge out to go on with it, or name another file"
            " (--db)"
        )
    subject = told["subject"] or kept.subject or _subject(about)
    return replace(kept, **{**told, "topic": about, "subject": subject})


def _subject(about: Topic) -> str:
    """The name of a topic without words."""
    return about.judge or "what the examples are about"


def _stored_terms(db: Place) -> Iterator[tuple[int, bytes]]:
    """See `StoreReader.terms`; by a reader of its own, as the writer is at work."""
    with Store.open_readonly(db) as reader:
        yield from reader.terms()
