"""The document collection of a running robot: what it knows of pages by their URLs and texts.

It takes in what a poll brought and tells what that means for the collection: how relevant the page
is, whether it is a copy of another, which pages its links lead to. The documents themselves are in
the store; in memory are URLs, depths, relevances and fingerprints.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from sys import intern

import numpy as np

from pollwise.collecting.collected_terms import packed_terms, unpacked_terms
from pollwise.collecting.duplicates import Duplicates, believes_canonical
from pollwise.collecting.link_filter import LinkFilter, Rejected
from pollwise.collecting.rescoring import Sweep
from pollwise.collecting.response_digest import Digest
from pollwise.kinds import kind_of
from pollwise.relevance.parsed_text import parse_text
from pollwise.relevance.topic_filter import TopicFilter
from pollwise.store.records import Collected, Discoveries, Discovery, PageRecord, PollResult
from pollwise.types import Links, Outcome, Page, discovered_page
from pollwise.web.crawl_urls import host_of
from pollwise.web.poll_reports import PollReport
from pollwise.web.reading.parsed_page import Link
from pollwise.web.sitemaps import SitemapEntry
from pollwise.web.urls import joined

__all__ = ["DocumentCollection", "StoredTerms"]

StoredTerms = Callable[[], Iterator[tuple[int, bytes]]]
"""Gives the `Collected.terms` that the store has, with the ids of their pages."""

_RESCORED_AT_ONCE = 6
"""Pages that are scored anew with each poll. The topic vector changes after a quarter more pages,
so all of them are up to date before its next change."""
_NEW_HOSTS = 200
"""Hosts that one page may name for the first time at a poll; more are a link farm, or a scan."""
_RESCORED_BY = 0.005
"""Smaller changes of relevance are ignored."""


@dataclass(slots=True)
class _Held:
    """A page that was collected, perhaps a copy of an `original`.

    `is_there`: it is neither gone nor has it moved.
    """

    scope: str
    relevance: float
    original: int | None
    is_there: bool

    @property
    def is_copy(self) -> bool:
        return self.original is not None


class DocumentCollection:
    """Takes in what polls bring, one after another, without waiting.

    `topic_filter` scores pages and learns from them. `link_filter` makes the filter of links, given
    the known URLs. `stored_terms` reads back what was collected. `next_page_id` is the id of the
    next page to be discovered. `say` is told, in words, when scores made anew change much.
    """

    def __init__(
        self,
        topic_filter: TopicFilter,
        link_filter: Callable[[Collection[str]], LinkFilter],
        stored_terms: StoredTerms,
        *,
        records: Sequence[PageRecord] = (),
        next_page_id: int = 0,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.topic_filter = topic_filter
        self._say = say
        self._ids = {record.page.url: record.page.id for record in records}
        self._depths = {record.page.id: record.depth for record in records}
        self._hosts = {record.page.scope for record in records}
        self._documents = {
            r.page.id: _Held(
                r.page.scope,
                r.relevance,
                original=r.duplicate_of,
                is_there=not r.gone and r.memory.text_hash is not None,
            )
            for r in records
            if r.relevance is not None
        }
        self.relevant = sum(one.relevance > 0 for one in self._documents.values())
        """How many of the documents are about the topic."""
        self._next_page_id = next_page_id
        self._stored_terms = stored_terms
        self._duplicates = Duplicates()
        originals = {
            r.page.id: (r.memory.text_hash, r.title or "")
            for r in records
            if r.relevance is not None and r.duplicate_of is None and not r.gone
        }
        for page_id, packed in stored_terms():
            text_hash, title = originals.get(page_id, (None, ""))
            if text_hash:
                self._duplicates.seen(page_id, text_hash, unpacked_terms(packed)[0], title)
        self._links = link_filter(self._ids)
        # None: not known, as the run before may have ended within a sweep.
        self._scored_by: int | None = None
        self._aimed_by: int | None = None
        self._sweep = Sweep()
        # Collected since the sweep began, which may read older terms of them.
        self._fresh: set[int] = set()

    @property
    def hosts(self) -> int:
        """The number of hosts that have pages."""
        return len(self._hosts)

    @property
    def documents(self) -> int:
        """The number of pages that were read."""
        return len(self._documents)

    @property
    def rejections(self) -> dict[Rejected, int]:
        """See `LinkFilter.rejections`."""
        return self._links.rejections

    def has_lost_original(self, page_id: int) -> bool:
        """Whether a page is a copy of one that is no original any more, so that it may be one."""
        document = self._documents.get(page_id)
        return (
            document is not None
            and document.is_copy
            and document.is_there
            and not self._may_be_original(document.original)
        )

    def name(self, entries: Sequence[SitemapEntry], now: float) -> list[Discovery]:
        """The new pages among those that a sitemap names, found at a time (UTC seconds).

        They belong to the next report that is taken in.
        """
        found: list[Discovery] = []
        for entry in entries:
            self._discover(entry.url, 1, now, found)
        return found

    def take_in(
        self,
        page: Page,
        report: PollReport,
        digest: Digest | None,
        named: Sequence[Discovery] = (),
    ) -> PollReport:
        """The report with all that it means for the collection.

        `digest` is that of the new content, if there is any; `named` are the pages that the
        sitemaps of its host named in this poll.
        """
        result = report.result
        now, depth = result.observation.polled_at, self._depths.get(page.id, 0)
        found = [*named]
        collected, links, relevance = None, None, None
        if result.observation.outcome is Outcome.GONE:
            self._duplicates.discard(page.id)
            if page.id in self._documents:
                self._documents[page.id].is_there = False
        elif report.redirected_to is not None:
            relevance = 0.0
            target = self._discover(report.redirected_to, depth, now, found)
            target = None if target == page.id else target
            links = _links(
                {} if target is None else {target: Link(report.redirected_to, "", "", False)}
            )
            collected = self._withdrawn(page, target)
        elif digest is not None:
            collected = self._collected(page, result, digest)
            relevance = collected.relevance
            links = _links({} if digest.nofollow else self._followed(page, digest, now, found))
            if relevance:
                # The front page leads to more of the host than what others named of it.
                self._discover(joined(page.url, "/"), depth, now, found, counted=False)
        discovered = Discoveries(tuple(found), collected, links, self._rescored(), self._aimed())
        if relevance is not None:
            observation = replace(result.observation, relevance=relevance)
            result = replace(result, observation=observation)
        return replace(report, result=result, discovered=discovered)

    def _collected(self, page: Page, result: PollResult, digest: Digest) -> Collected:
        """What is in a page with new content."""
        original = self._original(page, result, digest)
        if page.id in self._documents:
            relevance = self.topic_filter.score(page.scope, digest.terms)
        else:
            relevance = self.topic_filter.observe(page.scope, digest.terms)
        if original is not None:
            relevance = 0.0  # it says nothing new
        self._note(page, relevance, original=original)
        return Collected(
            page.id,
            relevance,
            digest.title,
            digest.text,
            packed_terms(digest.simhash, self.topic_filter.pack(page.scope, digest.terms)),
            indexed=not digest.noindex,
            duplicate_of=original,
        )

    def _withdrawn(self, page: Page, target: int | None) -> Collected | None:
        """What is left of a collected page that now redirects (to the page `target`, if known).

        None if it was not collected, or if the other page is a copy itself.
        """
        before = self._documents.get(page.id)
        if before is None or self._is_copy(target):
            return None
        self._duplicates.discard(page.id)
        kept = before.original if target is None else target
        self._note(page, 0.0, original=kept, is_there=False)
        terms = packed_terms(None, self.topic_filter.pack(page.scope, parse_text([])))
        return Collected(page.id, 0.0, "", "", terms, indexed=False, duplicate_of=target)

    def _note(
        self, page: Page, relevance: float, *, original: int | None, is_there: bool = True
    ) -> None:
        before = self._documents.get(page.id)
        self.relevant += (relevance > 0) - (before is not None and before.relevance > 0)
        self._documents[page.id] = _Held(page.scope, relevance, original, is_there)
        self._fresh.add(page.id)

    def _is_copy(self, page_id: int | None) -> bool:
        document = None if page_id is None else self._documents.get(page_id)
        return document is not None and document.is_copy

    def _may_be_original(self, page_id: int | None) -> bool:
        document = None if page_id is None else self._documents.get(page_id)
        return document is not None and document.is_there and not document.is_copy

    def _original(self, page: Page, result: PollResult, digest: Digest) -> int | None:
        """The page that this one is a copy of.

        Of pages that declare each other, or one that is no longer there, one stays the original.
        """
        if digest.canonical is not None and digest.canonical != page.url:
            declared = self._ids.get(digest.canonical)
            if self._may_be_original(declared) and believes_canonical(page.url, digest.canonical):
                self._duplicates.discard(page.id)
                return declared
        text_hash = result.memory.text_hash
        assert text_hash is not None  # it was fetched just now
        return self._duplicates.seen(page.id, text_hash, digest.simhash, digest.title)

    def _followed(
        self, page: Page, digest: Digest, now: float, found: list[Discovery]
    ) -> dict[int, Link]:
        """The pages that this one links to, by their ids."""
        depth, known_hosts = self._depths.get(page.id, 0) + 1, len(self._hosts)
        links: dict[int, Link] = {}
        for link in digest.links:
            may_be_new = len(self._hosts) - known_hosts < _NEW_HOSTS
            target = self._discover(
                link.url, depth, now, found, nofollow=link.nofollow, may_be_new=may_be_new
            )
            # Two URLs of a page may have one canonical spelling: the first one counts.
            if target is not None and target != page.id:
                links.setdefault(target, link)
        return links

    def _discover(
        self, url: str, depth: int, now: float, found: list[Discovery], **link: bool
    ) -> int | None:
        """The id of the page that a link leads to, new or known; None: the link was rejected.

        `link` is what else `LinkFilter.admit` is to know of it.
        """
        admitted = self._links.admit(url, depth=depth, **link)
        if isinstance(admitted, Rejected):
            return None
        known = self._ids.get(admitted)
        if known is not None:
            return known
        # Interned: a million pages share a few thousand of these.
        scope, kind = intern(host_of(admitted)), intern(kind_of(admitted))
        page = discovered_page(self._next_page_id, admitted, scope, kind)
        self._next_page_id += 1
        self._ids[admitted] = page.id
        self._depths[page.id] = depth
        self._hosts.add(scope)
        found.append(Discovery(page, now, depth))
        return page.id

    def _aimed(self) -> tuple[tuple[str, float], ...]:
        """The terms of the topic, if they are not those that were told last."""
        if self._aimed_by == self.topic_filter.version:
            return ()
        self._aimed_by = self.topic_filter.version
        return tuple(self.topic_filter.topic_vector.items())

    def _rescored(self) -> Mapping[int, float]:
        """The next few pages whose scores changed with the topic vector."""
        if self.topic_filter.judged:
            return {}
        if self._scored_by != self.topic_filter.version:
            self._scored_by = self.topic_filter.version
            self._end(self._sweep, Sweep(self._stored_terms()))
            self._fresh.clear()
        rescored = {}
        rows = list(islice(self._sweep.rows, _RESCORED_AT_ONCE))
        for page_id, packed in rows:
            document = self._documents.get(page_id)
            if document is None or document.is_copy or page_id in self._fresh:
                continue
            scored = self.topic_filter.rescore(document.scope, unpacked_terms(packed)[1])
            relevance = self._sweep.settled(document.relevance, scored)
            if abs(relevance - document.relevance) > _RESCORED_BY:
                self.relevant += (relevance > 0) - (document.relevance > 0)
                rescored[page_id] = document.relevance = relevance
        if not rows:
            self._end(self._sweep, Sweep())
        return rescored

    def _end(self, sweep: Sweep, following: Sweep) -> None:
        told = sweep.told()
        if told is not None and self._say is not None:
            self._say(told)
        self._sweep = following


def _links(links: Mapping[int, Link]) -> Links:
    around = tuple(link.around for link in links.values())
    return Links(
        np.array([*links], np.int64),
        tuple(link.anchor for link in links.values()),
        tuple(link.place for link in links.values()),
        around if any(around) else (),
    )
