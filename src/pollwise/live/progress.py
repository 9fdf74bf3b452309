"""What came of a turn of the loop, and what is remembered of pages for the turns to come."""

from collections import Counter
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pollwise.events import (
    Added,
    Aimed,
    Event,
    Linked,
    Polled,
    Removed,
    Rescored,
    Together,
    Updated,
)
from pollwise.store.records import ChangeKind, Discoveries
from pollwise.types import Observation, Outcome, Page, PageMemory, has_same_parts, seen_page
from pollwise.watched_pages import Watched
from pollwise.web.noise.by_hand import MaskChange
from pollwise.web.poll_reports import PollReport

__all__ = ["Progress", "heeded", "progress_of", "remask"]

_NOTHING = PageMemory()  # one for the million pages of a fringe
_MANY = 500
"""Discovered pages, more than which come in several events of `_ADDED_AT_ONCE` each: the scheduler
takes in ten a millisecond, and lets the loop go after each event."""
_ADDED_AT_ONCE = 100


@dataclass(frozen=True)  # without slots: what several ask for is kept beside the fields
class Progress:
    """What came of a turn of the loop: the events for the scheduler, in order, and the reports of
    the polls among them.

    `first_copies`: the ids of the pages whose first copy these polls brought. Their outcome is
    CHANGED, but no change was seen. `gone_or_back`: the ids of pages with a copy that were there
    and are gone, or were gone and are back. `remembered` has the memories of pages, by id, whose
    masks somebody has changed.
    """

    events: tuple[Event, ...]
    reports: tuple[PollReport, ...]
    first_copies: frozenset[int] = frozenset()
    gone_or_back: frozenset[int] = frozenset()
    remembered: Mapping[int, PageMemory] = field(default_factory=dict)

    @cached_property
    def observations(self) -> list[Observation]:
        """What the polls told."""
        return [report.result.observation for report in self.reports]

    @cached_property
    def outcomes(self) -> Counter[Outcome]:
        """How many polls had each outcome."""
        return Counter([one.outcome for one in self.observations])

    @cached_property
    def cost(self) -> float:
        """The cost units that the polls took."""
        return sum([one.cost for one in self.observations])

    @cached_property
    def changes(self) -> int:
        """The polls that found a change."""
        if Outcome.CHANGED not in self.outcomes:  # as a rule
            return 0
        changed = [one for one in self.observations if one.outcome is Outcome.CHANGED]
        return sum([one.page_id not in self.first_copies for one in changed])

    def happened(self, observation: Observation) -> ChangeKind | None:
        """What one of these polls found that changes tell of; None: nothing."""
        page_id, outcome = observation.page_id, observation.outcome
        if outcome is Outcome.CHANGED and page_id not in self.first_copies:
            return ChangeKind.BACK_CHANGED if page_id in self.gone_or_back else ChangeKind.CHANGED
        if page_id not in self.gone_or_back:
            return None
        return ChangeKind.GONE if outcome is Outcome.GONE else ChangeKind.BACK


def heeded(
    events: Sequence[Event], watched: MutableMapping[int, Watched], now: float
) -> Iterator[Event]:
    """What users want from now on, as the events for the scheduler.

    Each is noted in `watched` when it is asked for: until the scheduler hears of it, it may command
    polls of pages that a later one takes away.
    """
    for event in events:
        match event:
            case Added(pages=pages):
                watched.update({page.id: Watched(page, _NOTHING) for page in pages})
            case Removed(page_ids=page_ids):
                for page_id in page_ids:
                    watched.pop(page_id, None)
            case Updated(pages=pages):
                known = tuple(page for page in pages if page.id in watched)
                for page in known:
                    watched[page.id] = _updated(watched[page.id], page)
                event = Updated(now, tuple(watched[page.id].page for page in known))
        yield replace(event, now=now)


def remask(watched: MutableMapping[int, Watched], change: MaskChange) -> None:
    """Remember what somebody has changed of the masks of a page."""
    own = watched[change.page_id]
    watched[change.page_id] = replace(own, memory=change.applied(own.memory))


def _updated(own: Watched, wanted: Page) -> Watched:
    """A page as it is wanted now, with what its polls told, which the store may not have yet."""
    page = replace(wanted, seen_at=own.page.seen_at, changes_in_a_row=own.page.changes_in_a_row)
    if has_same_parts(own.page, page):
        return replace(own, page=page)
    return replace(own, page=replace(page, changes_in_a_row=0), memory=_NOTHING)


def progress_of(
    reports: tuple[PollReport, ...], watched: MutableMapping[int, Watched], now: float
) -> Progress:
    """What came of the polls that have ended; many new pages come in several events."""
    first_copies, gone_or_back = _remember(watched, reports)
    return Progress(_told(reports, now), reports, first_copies, gone_or_back)


def _told(reports: Sequence[PollReport], now: float) -> tuple[Event, ...]:
    """The events of some reports; what hosts ask for comes first, to hold for the next poll.

    So do, of many pages that were discovered, all but the last ones.
    """
    if not reports:
        return ()
    notices = [replace(notice, now=now) for report in reports for notice in report.notices]
    polled = Polled(now, tuple(report.result.observation for report in reports))
    added = _added(reports, now)
    discovered = (*added[-1:], *_learned(reports, now))
    # A page just discovered may be worth more than the one that its host would be polled for next.
    last = Together(now, (polled, *discovered)) if discovered else polled
    return (*notices, *added[:-1], last)


def _added(reports: Sequence[PollReport], now: float) -> list[Added]:
    """The pages that polls discovered, in the order of their ids, in which they were found."""
    found = [new.page for _, discoveries in _discoveries(reports) for new in discoveries.new_pages]
    found.sort(key=lambda page: page.id)  # the reports are in another order
    at_once = _MANY if len(found) <= _MANY else _ADDED_AT_ONCE
    return [
        Added(now, tuple(found[begin : begin + at_once])) for begin in range(0, len(found), at_once)
    ]


def _learned(reports: Sequence[PollReport], now: float) -> Iterator[Event]:
    """The topic, the links that may lead to discovered pages, and new scores."""
    for _, discoveries in _discoveries(reports):
        if discoveries.aimed:
            yield Aimed(now, discoveries.aimed)
    for report, discoveries in _discoveries(reports):
        if discoveries.links is not None:
            yield Linked(now, report.result.observation.page_id, discoveries.links)
        if rescored := discoveries.rescored:
            yield Rescored(now, tuple(rescored), tuple(rescored.values()))


def _discoveries(reports: Sequence[PollReport]) -> Iterator[tuple[PollReport, Discoveries]]:
    return ((report, report.discovered) for report in reports if report.discovered is not None)


def _remember(
    watched: MutableMapping[int, Watched], reports: Sequence[PollReport]
) -> tuple[frozenset[int], frozenset[int]]:
    """Keep what reports tell for the next polls of their pages.

    Gives the ids of pages seen first now, and of those that are gone now or are back.
    """
    for _, discoveries in _discoveries(reports):
        watched.update({f.page.id: Watched(f.page, _NOTHING) for f in discoveries.new_pages})
    first_copies, gone_or_back = set(), set()
    for report in reports:
        observation = report.result.observation
        own = watched.get(observation.page_id)
        if own is None:  # removed while it was polled
            continue
        page, gone, outcome = own.page, own.gone, own.outcome
        if observation.outcome is not Outcome.POSTPONED:
            outcome = observation.outcome
        if observation.outcome in (Outcome.CHANGED, Outcome.UNCHANGED, Outcome.GONE):
            gone = observation.outcome is Outcome.GONE
            if gone != own.gone and page.seen_at is not None:
                gone_or_back.add(page.id)
        if observation.outcome in (Outcome.CHANGED, Outcome.UNCHANGED):
            if page.seen_at is None:
                first_copies.add(page.id)
            in_a_row = report.result.memory.noise.changes_in_a_row
            page = seen_page(page, observation.polled_at, in_a_row)
        watched[page.id] = Watched(page, report.result.memory, gone, outcome)
    return frozenset(first_copies), frozenset(gone_or_back)
