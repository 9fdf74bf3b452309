"""What `pollwise status` and `explain` tell of a collection, which may be at work meanwhile."""

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pollwise.checks import read_json
from pollwise.collecting.collected_terms import unpacked_terms
from pollwise.collecting.known_pages import KnownPages
from pollwise.collecting.link_filter import LinkFilter, Rejected, UrlRules
from pollwise.collecting.stored_filter import stored_filter
from pollwise.collecting.stored_links import stored_links
from pollwise.errors import InputError, PollwiseError, StateError
from pollwise.insight.capacity import host_delays
from pollwise.insight.words import count
from pollwise.relevance.packing import unpack_terms
from pollwise.scheduler.budgets import parse_budget
from pollwise.scheduler.capacity import rate_taken
from pollwise.scheduler.hosts import hosts_of
from pollwise.settings import CollectSettings, damaged_run, is_collection, latest_settings
from pollwise.store import Place, Store
from pollwise.store.base import StoreReader
from pollwise.store.records import PageRecord, Postponed
from pollwise.types import Outcome
from pollwise.web.crawl_urls import crawl_url

__all__ = [
    "CollectedExplanation",
    "CollectedSite",
    "CollectionStatus",
    "LinkingPage",
    "MatchedTerm",
    "NewDocument",
    "NextLink",
    "RelevantPage",
    "TextMatch",
    "explain_collected",
    "explain_page",
    "holds_collection",
    "summarise_collection",
]

_BEST = 10
_MOST_PARENTS = 10


@dataclass(frozen=True, slots=True)
class RelevantPage:
    """One of the most relevant pages of a collection."""

    relevance: float
    title: str | None
    url: str


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document about the topic that was first read at `first_seen_at` (UTC seconds)."""

    first_seen_at: float
    title: str | None
    url: str


@dataclass(frozen=True, slots=True)
class CollectedSite:
    """A host, how many documents were read there, and how many of them are about the topic."""

    host: str
    documents: int
    relevant: int


@dataclass(frozen=True, slots=True)
class NextLink:
    """A page known by links only, the relevance per request that it is expected to bring, and the
    text of a link to it.
    """

    value: float
    anchor: str
    url: str


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    """How large a collection is and what is `best` in it, most relevant first.

    `topic` is what it is about, in words. `documents` have been read, `relevant` of them are about
    the topic, and `relevance` is their sum. `copies` repeat another document. The `fringe` are
    pages known by links only, but for those that `--allow` and `--deny` refuse; `left_out` are all
    that these refuse, `gone` those that no longer exist. `hosts` counts hosts with a document.
    `hosts_that_take` are those that can take requests (groups that share a delay count once), and
    `hosts_take` how many a second at most, None if that is as much as the budget; `allowed` are
    those of the budget. `sites` are the hosts with the most documents about the topic, `terms` the
    stems of words that tell it, most telling first, `newest` the latest documents about it, and
    `next_links` those that are followed next.
    """

    topic: str | None
    documents: int
    relevant: int
    relevance: float
    copies: int
    fringe: int
    left_out: int
    gone: int
    hosts: int
    hosts_that_take: int
    hosts_take: float | None
    allowed: float
    best: tuple[RelevantPage, ...]
    newest: tuple[NewDocument, ...]
    sites: tuple[CollectedSite, ...]
    terms: tuple[str, ...]
    next_links: tuple[NextLink, ...]


@dataclass(frozen=True, slots=True)
class LinkingPage:
    """A page that links to another one, with the text of the link."""

    url: str
    relevance: float | None
    anchor: str


@dataclass(frozen=True, slots=True)
class MatchedTerm:
    """A term of the topic that a page has, and which `share` of its nearness that brings."""

    term: str
    share: float


@dataclass(frozen=True, slots=True)
class TextMatch:
    """How the text of a page compares with the topic, by what is known of it by now.

    `language` is that of the text (ISO 639-1; None: it is not clear), `words` how many different
    terms it has outside of what its host repeats. Its `nearness` to the topic is a cosine; up to
    `floor` the relevance is 0. `terms` are the ten that bring most of it. Without a nearness, a
    callable judges the page.
    """

    language: str | None
    words: int
    nearness: float | None
    floor: float | None
    terms: tuple[MatchedTerm, ...]


@dataclass(frozen=True, slots=True)
class CollectedExplanation:
    """What a collection knows of one page.

    `relevance` (0 to 1) is None if the page was not read. `value` is the relevance per request that
    a page of the fringe is expected to bring, if it is among those that are followed next, as the
    latest run told. `depth` is the number of links from a seed. `duplicate_of` is the URL of the
    page that it is a copy of. `text` tells what its text has of the topic, `indexed` whether it may
    be found, as it did not ask by `noindex` not to be; None: it was not read. Times are UTC
    seconds; None: not yet. `outcome` and `error` are those of the latest poll that was made,
    `postponed` is one since then that was not. `left_out_by` is the rule of the latest run
    (`--allow` or `--deny`) that keeps the page from being polled; None: none does. `linked_from`
    are the first pages that were found to link to it.
    """

    url: str
    title: str | None
    relevance: float | None
    value: float | None
    depth: int
    duplicate_of: str | None
    indexed: bool | None
    text: TextMatch | None
    polls: int
    changes: int
    polled_at: float | None
    last_changed_at: float | None
    outcome: Outcome | None
    error: str | None
    postponed: Postponed | None
    left_out_by: str | None
    linked_from: tuple[LinkingPage, ...]


def holds_collection(db: Place) -> bool:
    """Whether this database holds a collection; `StoreError` if it is no database."""
    with Store.open_readonly(db) as store:
        return is_collection(store)


def summarise_collection(
    settings: CollectSettings, records: Sequence[PageRecord], store: StoreReader
) -> CollectionStatus:
    """How the collection stands, given all its pages."""
    collected = [record for record in records if record.relevance is not None]
    relevant = [record for record in collected if record.relevance]
    best = heapq.nsmallest(_BEST, relevant, lambda one: (-(one.relevance or 0.0), one.page.id))
    dated = [(one.first_seen_at, one) for one in relevant if one.first_seen_at is not None]
    newest = heapq.nlargest(_BEST, dated, lambda one: one[0])
    allowed = parse_budget(settings.budget).total(0)
    known, left_out = _known_pages(settings, records)
    hosts = known.hosts()
    taken = _rate_taken(settings, hosts, store, allowed)
    return CollectionStatus(
        topic=settings.subject,
        documents=len(collected),
        relevant=len(relevant),
        relevance=sum(record.relevance or 0.0 for record in relevant),
        copies=sum(record.duplicate_of is not None for record in collected),
        fringe=known.fringe,
        left_out=left_out,
        gone=sum(record.outcome is Outcome.GONE for record in records),
        hosts=len({record.page.scope for record in collected}),
        hosts_that_take=len(hosts),
        hosts_take=taken if taken < allowed else None,
        allowed=allowed,
        best=tuple(RelevantPage(one.relevance or 0.0, one.title, one.page.url) for one in best),
        newest=tuple(NewDocument(at, one.title, one.page.url) for at, one in newest),
        sites=_sites(collected, relevant),
        terms=_terms(settings, store),
        next_links=_next_links(records, store),
    )


def _known_pages(
    settings: CollectSettings, records: Sequence[PageRecord]
) -> tuple[KnownPages, int]:
    """Those that may be polled, and how many others there are."""
    rules, shared = UrlRules(settings.allow, settings.deny), settings.shared_scopes()
    known, left_out = KnownPages(), 0
    for record in records:
        page = record.page
        if rules.refusal(page.url) is None:
            known.note(page.id, shared.get(page.scope, page.scope), record.outcome)
        else:
            left_out += 1
    return known, left_out


def _rate_taken(
    settings: CollectSettings, scopes: Sequence[str], store: StoreReader, allowed: float
) -> float:
    state = store.scheduler_state()
    try:
        hosts = {} if state is None else hosts_of(read_json(state)["hosts"])
    except (ValueError, TypeError, LookupError) as error:
        raise damaged_run(store.path) from error
    delay = host_delays(settings, lambda scope: hosts[scope].pace if scope in hosts else 0.0)
    return rate_taken(scopes, delay, allowed)


def _sites(
    collected: Sequence[PageRecord], relevant: Sequence[PageRecord]
) -> tuple[CollectedSite, ...]:
    documents = Counter(record.page.scope for record in collected)
    about = Counter(record.page.scope for record in relevant)
    hosts = heapq.nsmallest(_BEST, documents, lambda host: (-about[host], -documents[host], host))
    return tuple(CollectedSite(host, documents[host], about[host]) for host in hosts)


def _terms(settings: CollectSettings, store: StoreReader) -> tuple[str, ...]:
    try:
        weights = stored_filter(store, settings.topic).topic_vector
    except PollwiseError:  # another version learned them; a run says so
        return ()
    return tuple(heapq.nlargest(_BEST, weights, weights.__getitem__))


def _next_links(records: Sequence[PageRecord], store: StoreReader) -> tuple[NextLink, ...]:
    """Those that the run told last, as far as they were not followed since."""
    links = stored_links(store)
    wanted = {link.page_id for link in links}
    fringe = {r.page.id: r.page.url for r in records if r.page.id in wanted and r.polled_at is None}
    followed_next = [link for link in links if link.page_id in fringe][:_BEST]
    return tuple(NextLink(link.value, link.anchor, fringe[link.page_id]) for link in followed_next)


def explain_collected(db: Place, url: str) -> CollectedExplanation:
    """What a collection knows of one page; `InputError` if it knows nothing."""
    crawl_url(url)  # a bad URL is reported before a bad database
    with Store.open_readonly(db) as store:
        return explain_page(store, db, store.pages(), url)


def explain_page(
    store: StoreReader, db: Place, records: Sequence[PageRecord], url: str
) -> CollectedExplanation:
    """What a collection with these pages knows of one; `InputError` if it knows nothing."""
    address = crawl_url(url)
    record = store.find_page(address)
    left_out_by = _left_out_by(address, store)
    if record is None:
        why = (
            _why_unknown(address, store, records)
            if left_out_by is None
            else f"links to it are left aside, by {left_out_by}"
        )
        raise InputError(f"{address} is not known to the collection {db}: {why}")
    urls = {known.page.id: known.page.url for known in records}
    indexed, text = _match(record, store)
    linked_from = _linking_pages(store, record.page.id, urls)
    return CollectedExplanation(
        url=address,
        title=record.title,
        relevance=record.relevance,
        value=_value(record, store),
        depth=record.depth,
        duplicate_of=None if record.duplicate_of is None else urls.get(record.duplicate_of),
        indexed=indexed,
        text=text,
        polls=record.polls,
        changes=record.changes,
        polled_at=record.polled_at,
        last_changed_at=record.last_changed_at,
        outcome=record.outcome,
        error=record.error,
        postponed=record.postponed,
        left_out_by=left_out_by,
        linked_from=linked_from,
    )


def _left_out_by(url: str, store: StoreReader) -> str | None:
    settings = latest_settings(store)
    assert isinstance(settings, CollectSettings)  # of a collection
    return UrlRules(settings.allow, settings.deny).refusing(url)


def _why_unknown(url: str, store: StoreReader, records: Sequence[PageRecord]) -> str:
    """Why no page has this URL, which `--allow` and `--deny` let in."""
    settings = latest_settings(store)
    assert isinstance(settings, CollectSettings)
    urls = {record.page.url for record in records}
    verdict = LinkFilter(urls, pages_per_host=settings.pages_per_host).admit(url)
    if isinstance(verdict, Rejected):
        return f"links to it are left aside ({verdict.value})"
    most = settings.max_depth
    deep = "" if most is None else f", or is itself {count(most, 'link')} from a seed (--max-depth)"
    return f"no page that was read links to it, or each asks by nofollow not to follow{deep}"


def _match(record: PageRecord, store: StoreReader) -> tuple[bool | None, TextMatch | None]:
    """Whether a page may be found, and what its text has of the topic; None: it was not read."""
    kept = store.terms_of(record.page.id)
    if kept is None:
        return None, None
    indexed, terms_kept = kept
    if not terms_kept:  # nothing was made of its text
        return indexed, None
    packed = unpacked_terms(terms_kept)[1]
    settings = latest_settings(store)
    assert isinstance(settings, CollectSettings)
    hashes, _, language = unpack_terms(packed)
    try:
        topic_filter = stored_filter(store, settings.topic)
    except StateError:  # another version learned it; a run says so
        return indexed, None
    if topic_filter.judged:
        return indexed, TextMatch(language or None, len(hashes), None, None, ())
    like = topic_filter.likeness(record.page.scope, packed)
    most = heapq.nlargest(_BEST, like.shares, like.shares.__getitem__)
    terms = tuple(MatchedTerm(term, like.shares[term]) for term in most)
    return indexed, TextMatch(language or None, len(hashes), like.nearness, like.floor, terms)


def _value(record: PageRecord, store: StoreReader) -> float | None:
    if record.outcome is not None:
        return None
    return next((one.value for one in stored_links(store) if one.page_id == record.page.id), None)


def _linking_pages(
    store: StoreReader, page_id: int, urls: Mapping[int, str]
) -> tuple[LinkingPage, ...]:
    """The first pages that link to a page, among those with a URL in `urls`."""
    found: list[LinkingPage] = []
    for fetched in store.history():
        places = (fetched.links.targets == page_id).nonzero()[0]
        if len(places) and fetched.page_id in urls:
            anchor = fetched.links.anchors[places[0]]
            found.append(LinkingPage(urls[fetched.page_id], fetched.relevance, anchor))
            if len(found) == _MOST_PARENTS:
                break
    return tuple(found)
