"""What an answer means: the report of a poll.

=================================  =========  ==================================================
answer                             outcome    besides
=================================  =========  ==================================================
200 or 203, content differs        CHANGED    a `Version`, also for the first copy.
                                              `reverted`: the content of an earlier version
200 or 203, content is the same    UNCHANGED  (by `pollwise.web.change`)
304                                UNCHANGED  costs `not_modified_cost` times the cost of the page
404, 410                           GONE
429, 503                           FAILED     with Retry-After: `HostBlocked`
not asked, as this machine or a    POSTPONED  (`PostponedError`)
host on the way lacks room
a redirect, if none is followed    UNCHANGED  `redirected_to`; a page without content
200 or 203, a selector matches     FAILED     also if the content is too broken to be read as what
nothing                                       it is
robots.txt disallows the page      FAILED     not fetched
robots.txt cannot be fetched       FAILED     not fetched; `HostBlocked` until it is asked again, if
                                              the scope has no other origin, or it is 429 or 503
                                              with Retry-After
no connection, or no answer in     FAILED     `Unanswered`; also if robots.txt had none, and if the
time                                          poll is POSTPONED as there is no network
everything else                    FAILED
a page that is to be rendered      the same   of what the browser shows; it costs a unit a request
=================================  =========  ==================================================
"""

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pollwise.errors import InputError
from pollwise.events import HostBlocked, HostPaced, Unanswered
from pollwise.sources.view import NO_HUB, WHOLE, HubLinks, Parts
from pollwise.store.records import Discoveries, FoundItem, PollResult
from pollwise.types import (
    Item,
    Observation,
    Outcome,
    Page,
    PageMemory,
    Version,
    plain_observation,
)
from pollwise.web.change import Comparison, unmodified
from pollwise.web.fetcher import FetchResult
from pollwise.web.headers import parse_http_date
from pollwise.web.large_bodies import Release, release_nothing
from pollwise.web.seeing import Seen
from pollwise.web.stops import of_status
from pollwise.web.urls import joined

__all__ = [
    "Notice",
    "PollReport",
    "at_cost",
    "hub_links",
    "report_of_answer",
    "report_of_content",
    "report_of_failure",
    "unanswered",
]

Notice = HostBlocked | HostPaced | Unanswered
"""What a poll tells of the page's host, for the scheduler."""


@dataclass(slots=True)  # not frozen: as `FetchResult`
class PollReport:
    """Everything that one poll brought: its `result`, and what it tells of the page's host.

    For collections: `robots_tag` is the X-Robots-Tag of the answer, `redirected_to` the canonical
    URL of a redirect that was not followed. `reread` is the content of an unchanged page whose
    markup, or X-Robots-Tag, may still tell robots something new. `discovered` is what the poll
    meant for the collection (None: there is none).

    `answered_by` is the canonical URL that answered after redirects; None: that of the page itself,
    or nobody did. `hub_links` are those of the page, by absolute URLs, that of the hub canonical;
    None: as before. `left_out` says which items of a list were not read; empty: all were, or it was
    not read again.

    Call `release` when the report was committed and its content is held no more.
    """

    result: PollResult
    notices: tuple[Notice, ...] = ()
    robots_tag: str | None = None
    redirected_to: str | None = None
    answered_by: str | None = None
    reread: Version | None = None
    discovered: Discoveries | None = None
    hub_links: HubLinks | None = None
    left_out: str = ""
    release: Release = field(default=release_nothing, compare=False, repr=False)


def report_of_answer(
    page: Page,
    memory: PageMemory,
    result: FetchResult,
    seen: Seen,
    now: float,
    *,
    not_modified_cost: float,
    follows: bool,
) -> PollReport:
    """The report of what was fetched, as the table has it.

    `seen` is what its body is to the latest copy. A 304 costs `not_modified_cost` times the cost of
    the page. `follows`: redirects were to be followed; else one is all that the page has.
    """
    if result.redirected_to is not None and not follows:
        observation = _observed(page, memory, result, now, Outcome.UNCHANGED, page.cost)
        moved = PollResult(observation, PageMemory())
        return PollReport(moved, redirected_to=result.redirected_to)
    if result.error is not None:
        return report_of_failure(page, memory, now, result.error)
    if result.status in (404, 410):
        gone = Observation(page.id, now, Outcome.GONE, cost=page.cost)
        return PollReport(PollResult(gone, memory, status=result.status))
    if result.status == 304:
        cost = page.cost * not_modified_cost
        observation = _observed(page, memory, result, now, Outcome.UNCHANGED, cost)
        if memory.items:
            observation = replace(observation, n_items=0, items=())
        return PollReport(PollResult(observation, _remembered(result, unmodified(memory))))
    if result.status in (200, 203):
        return report_of_content(page, memory, result, seen, now)
    return report_of_failure(page, memory, now, of_status(result.status))


def hub_links(result: FetchResult, seen: Seen) -> HubLinks | None:
    """What an answer says of hubs: by its headers, else by what was read of its body."""
    links = result.hub_links if result.hub_links.hub else seen.hub_links
    if links is None or not links.hub:
        return links
    try:
        hub, topic = (joined(result.final_url, told) for told in (links.hub, links.topic))
        # Hubs know a topic by the very words of its feed.
        return HubLinks(hub, links.topic if links.topic.startswith("http") else topic)
    except InputError:
        return NO_HUB


def at_cost(page: Page, result: FetchResult) -> Page:
    """The page at the cost of this fetch, if that was measured."""
    return page if result.requests is None else replace(page, cost=float(result.requests))


def report_of_failure(
    page: Page, memory: PageMemory, now: float, error: str, notices: tuple[Notice, ...] = ()
) -> PollReport:
    """The report of a poll that failed at `now` (UTC seconds); what is remembered stays."""
    observation = Observation(page.id, now, Outcome.FAILED, cost=page.cost)
    return PollReport(PollResult(observation, memory, error=error), notices)


def unanswered(report: PollReport) -> PollReport:
    """A report that says, too, that no host has answered."""
    seen = report.result.observation
    told = Unanswered(seen.polled_at, seen.page_id)
    return replace(report, notices=(*report.notices, told))


def report_of_content(
    page: Page, memory: PageMemory, result: FetchResult, seen: Seen, now: float
) -> PollReport:
    """The report of an answer with content."""
    compared = seen.compared
    # The validators are those of this answer alone, even if it sent none.
    kept = _remembered(result, compared.memory)
    version = Version(
        page.id, now, result.content_type or "", result.body, compared.body_hash, result.head
    )
    # Of a page that was seen there is a copy, unless other parts of it count since.
    can_tell = page.seen_at is None or memory.text_hash is not None
    outcome = Outcome.CHANGED if compared.changed and can_tell else Outcome.UNCHANGED
    observation = _observed(page, memory, result, now, outcome, page.cost)
    if compared.items is not None:
        observation = _with_items(observation, compared, page)
    items = compared.items or ()
    if items:
        items = tuple(_located(item, result.final_url) for item in items)
    poll = PollResult(
        observation,
        kept,
        masked=compared.masked,
        title=seen.title,
        source=seen.kind,
        items=items,
    )
    if compared.changed:
        observation = replace(observation, reverted=compared.reverted and can_tell)
        return PollReport(replace(poll, observation=observation, version=version))
    same = compared.body_hash == memory.body_hash and result.robots_tag is None
    return PollReport(poll, reread=None if same else version)


def _located(item: FoundItem, base: str) -> FoundItem:
    """An item of the list at `base` with its whole URL, if it tells a part of one."""
    if item.url and "://" not in item.url:
        with suppress(InputError):  # the list may tell anything
            return replace(item, url=joined(base, item.url))
    return item


def _with_items(observation: Observation, compared: Comparison, page: Page) -> Observation:
    """An observation of a list: what its items tell of time goes before what the server does."""
    now = observation.polled_at
    times = (item.published_at for item in compared.items or ())
    items = tuple(
        Item(published_at=time if time is not None and time <= now else None) for time in times
    )
    told = compared.changed_at
    is_credible = told is not None and (page.seen_at or -math.inf) < told <= now
    return replace(
        observation,
        n_items=len(items),
        items=items,
        last_changed_at=told if is_credible else None,
    )


def _remembered(result: FetchResult, memory: PageMemory) -> PageMemory:
    """`memory` with the validators that the answer sent (RFC 9111 section 4.3.4)."""
    # Why not after a redirect: see `pollwise.web.polite_fetcher`.
    told = result.last_modified if result.final_url == result.url else None
    etag, last_modified = result.etag or memory.etag, told or memory.last_modified
    if (etag, last_modified) == (memory.etag, memory.last_modified):
        return memory
    return replace(memory, etag=etag, last_modified=last_modified)


def _observed(
    page: Page, memory: PageMemory, result: FetchResult, now: float, outcome: Outcome, cost: float
) -> Observation:
    changed_at = _last_changed_at(page, memory, result, now, outcome)
    return plain_observation(page.id, now, outcome, changed_at, cost)


def _last_changed_at(
    page: Page, memory: PageMemory, result: FetchResult, now: float, outcome: Outcome
) -> float | None:
    """The time of Last-Modified (RFC 9110 section 8.8.2) if it is credible.

    It must not be in the future. It must be earlier than Date, as pages made on demand are stamped
    with the time of the answer. And a changed page changed after the latest copy. That of an
    unchanged one may be later, which shows that the server tells something else; of a page of which
    only parts count it shows nothing.
    """
    changed_at = parse_http_date(result.last_modified)
    if changed_at is None or changed_at > now:
        return None
    if result.date is not None and changed_at >= result.date:
        return None
    if page.seen_at is None:
        return changed_at
    is_later = changed_at > page.seen_at
    if outcome is Outcome.CHANGED:
        return changed_at if is_later else None
    all_counts = Parts.of(page) == WHOLE and not memory.noise.masks
    return changed_at if all_counts or not is_later else None
