"""The document collection of a running robot: what it knows of pages by their URLs and texts.

What a poll brought goes in, and what it means for the collection comes out: how relevant the page
is, whether it is a copy of another, which pages its links lead to. The documents themselves are
in the store; in memory are URLs, depths and fingerprints.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from sys import intern

import numpy as np

from pollwise.collecting.duplicates import Duplicates, believes_canonical
from pollwise.collecting.link_filter import LinkFilter, Rejected
from pollwise.collecting.response_digest import Digest
from pollwise.kinds import kind_of
from pollwise.relevance.parsed_text import parse_text
from pollwise.relevance.topic_filter import TopicFilter
from pollwise.store.records import Collected, Discovery, PageRecord
from pollwise.types import Links, Outcome, Page
from pollwise.web.crawl_urls import host_of
from pollwise.web.poller import PollReport
from pollwise.web.sitemaps import SitemapEntry

__all__ = ["DocumentCollection", "StoredTerms"]

StoredTerms = Callable[[], Iterator[tuple[int, bytes]]]
"""Gives the `Collected.terms` that the store has, with the ids of their pages."""

_RESCORED_AT_ONCE = 6
"""Pages that are scored anew with each poll. The topic is told anew when a quarter more pages have
come, so all of them are brought up to date before the next time."""
_RESCORED_BY = 0.005
"""A smaller change of a score is of no interest."""
_NO_LINKS = Links(np.empty(0, np.int64), ())


class DocumentCollection:
    """Takes in what polls bring, one after another; nothing here waits.

    `topic_filter` scores pages and learns from them. `link_filter` makes the gate of the frontier
    for a collection of known URLs. `stored_terms` reads back what was collected. `next_page_id` is
    the id of the next page to be discovered.
    """

    def __init__(
        self,
        topic_filter: TopicFilter,
        link_filter: Callable[[Collection[str]], LinkFilter],
        stored_terms: StoredTerms,
        *,
        records: Sequence[PageRecord] = (),
        next_page_id: int = 0,
    ) -> None:
        self.topic_filter = topic_filter
        self._pages = {record.page.url: record.page for record in records}
        self._depths = {record.page.id: record.depth for record in records}
        collected = [record for record in records if record.relevance is not None]
        self._relevances = {r.page.id: r.relevance or 0.0 for r in collected}
        self._scopes = {record.page.id: record.page.scope for record in collected}
        self._copies = {r.page.id for r in records if r.duplicate_of is not None}
        self._hosts = {record.page.scope for record in records}
        self._next_page_id = next_page_id
        self._stored_terms = stored_terms
        self._duplicates = Duplicates()
        originals = {
            r.page.id: r.memory.text_hash
            for r in collected
            if r.page.id not in self._copies and r.outcome is not Outcome.GONE
        }
        for page_id, packed in stored_terms():
            if text_hash := originals.get(page_id):
                self._duplicates.seen(page_id, text_hash, _unpacked(packed)[0])
        self._links = link_filter(self._pages)
        # None: by whatever version, as a sweep that was under way has ended with the run before.
        self._scored_by: int | None = None
        self._sweep: Iterator[tuple[int, bytes]] = iter(())
        # Collected since the sweep began: what it reads of them may be older than they are.
        self._fresh: set[int] = set()

    @property
    def hosts(self) -> int:
        """The number of hosts that have pages."""
        return len(self._hosts)

    @property
    def rejections(self) -> dict[Rejected, int]:
        """How many links were left aside, by reason."""
        return self._links.rejections

    def take_in(
        self,
        page: Page,
        report: PollReport,
        digest: Digest | None,
        sitemaps: Sequence[SitemapEntry] = (),
    ) -> PollReport:
        """The report with all that it means for the collection.

        `digest` is that of the new content, if the page has some, `sitemaps` are pages that its
        host named on this occasion.
        """
        now = report.observation.polled_at
        found: list[Discovery] = []
        depth = self._depths.get(page.id, 0)
        for entry in sitemaps:
            self._discover(entry.url, 1, now, found)
        if report.observation.outcome is Outcome.GONE:
            self._duplicates.discard(page.id)
        elif report.redirected_to is not None:
            target = self._discover(report.redirected_to, depth, now, found)
            target = None if target == page.id else target
            links = _links([] if target is None else [(target, "", "")])
            report = replace(_scored(report, 0.0), links=links)
            if page.id in self._relevances and target not in self._copies:
                report = replace(report, collected=self._withdrawn(page, target, links))
        elif digest is not None:
            report = self._collected(page, report, digest, found)
        return replace(report, new_pages=tuple(found), rescored=self._rescored())

    def _collected(
        self, page: Page, report: PollReport, digest: Digest, found: list[Discovery]
    ) -> PollReport:
        original = self._original(page, report, digest)
        if page.id in self._relevances:
            relevance = self.topic_filter.score(page.scope, digest.terms)
        else:
            relevance = self.topic_filter.observe(page.scope, digest.terms)
        self._copies.discard(page.id)
        if original is not None:
            relevance = 0.0  # it says nothing new
            self._copies.add(page.id)
        links = _NO_LINKS
        if not digest.nofollow:
            links = self._followed(page, digest, report.observation.polled_at, found)
        self._note(page, relevance)
        collected = Collected(
            page.id,
            relevance,
            digest.title,
            digest.text,
            _packed(digest.simhash, self.topic_filter.pack(page.scope, digest.terms)),
            links=links,
            indexed=not digest.noindex,
            duplicate_of=original,
        )
        return replace(_scored(report, relevance), collected=collected, links=links)

    def _withdrawn(self, page: Page, target: int | None, links: Links) -> Collected:
        """What is left of a collected page that only leads to another one now, if to any."""
        self._duplicates.discard(page.id)
        self._note(page, 0.0)
        if target is not None:
            self._copies.add(page.id)
        terms = _packed(None, self.topic_filter.pack(page.scope, parse_text([])))
        return Collected(
            page.id, 0.0, "", "", terms, links=links, indexed=False, duplicate_of=target
        )

    def _note(self, page: Page, relevance: float) -> None:
        self._relevances[page.id] = relevance
        self._scopes[page.id] = page.scope
        self._fresh.add(page.id)

    def _original(self, page: Page, report: PollReport, digest: Digest) -> int | None:
        """The page that this one is a copy of."""
        if digest.canonical is not None and digest.canonical != page.url:
            declared = self._pages.get(digest.canonical)
            known = declared is not None and declared.id in self._relevances
            if declared is not None and known and believes_canonical(page.url, digest.canonical):
                self._duplicates.discard(page.id)
                return declared.id
        assert report.memory.text_hash is not None  # it was fetched just now
        return self._duplicates.seen(page.id, report.memory.text_hash, digest.simhash)

    def _followed(self, page: Page, digest: Digest, now: float, found: list[Discovery]) -> Links:
        depth = self._depths.get(page.id, 0) + 1
        rows: dict[int, tuple[int, str, str]] = {}
        for link in digest.links:
            target = self._discover(link.url, depth, now, found, nofollow=link.nofollow)
            # Two URLs of a page may be spelled alike in the end: the first one counts.
            if target is not None and target != page.id and target not in rows:
                rows[target] = target, link.anchor, link.place
        return _links(list(rows.values()))

    def _discover(
        self, url: str, depth: int, now: float, found: list[Discovery], nofollow: bool = False
    ) -> int | None:
        """The id of the page that a link leads to, new or known; None where it is left aside."""
        admitted = self._links.admit(url, depth=depth, nofollow=nofollow)
        if isinstance(admitted, Rejected):
            return None
        known = self._pages.get(admitted)
        if known is not None:
            return known.id
        # Interned: a million pages have a few thousand of these.
        scope, kind = intern(host_of(admitted)), intern(kind_of(admitted))
        page = Page(self._next_page_id, admitted, scope, site=scope, kind=kind)
        self._next_page_id += 1
        self._pages[admitted] = page
        self._depths[page.id] = depth
        self._hosts.add(scope)
        found.append(Discovery(page, now, depth))
        return page.id

    def _rescored(self) -> Mapping[int, float]:
        """The next few pages whose scores changed with the topic vector."""
        if self.topic_filter.judged:
            return {}
        if self._scored_by != self.topic_filter.version:
            self._scored_by = self.topic_filter.version
            self._sweep = self._stored_terms()
            self._fresh.clear()
        rescored = {}
        for page_id, packed in islice(self._sweep, _RESCORED_AT_ONCE):
            if page_id in self._copies or page_id in self._fresh:
                continue
            if page_id not in self._relevances:
                continue
            relevance = self.topic_filter.rescore(self._scopes[page_id], _unpacked(packed)[1])
            if abs(relevance - self._relevances[page_id]) > _RESCORED_BY:
                rescored[page_id] = self._relevances[page_id] = relevance
        return rescored


def _scored(report: PollReport, relevance: float) -> PollReport:
    return replace(report, observation=replace(report.observation, relevance=relevance))


def _links(rows: Sequence[tuple[int, str, str]]) -> Links:
    targets = np.array([target for target, _, _ in rows], np.int64)
    return Links(targets, tuple(row[1] for row in rows), tuple(row[2] for row in rows))


def _packed(simhash: int | None, terms: bytes) -> bytes:
    """The SimHash (one byte that says whether there is one, then eight) and the packed terms."""
    return bytes([simhash is not None]) + (simhash or 0).to_bytes(8, "little") + terms


def _unpacked(packed: bytes) -> tuple[int | None, bytes]:
    """What `_packed` packed."""
    return int.from_bytes(packed[1:9], "little") if packed[0] else None, packed[9:]
