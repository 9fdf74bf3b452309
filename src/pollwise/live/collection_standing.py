"""How a collection stands: totals over all runs, and what a robot is about to do."""

import math
import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from pollwise.collecting.document_collection import DocumentCollection
from pollwise.collecting.hosts_of_copies import ROUND, HostsOfCopies
from pollwise.collecting.known_pages import KnownPages
from pollwise.collecting.response_digest import Digest
from pollwise.collecting.response_processor import ResponseProcessor
from pollwise.insight.capacity import host_delays, taken_words
from pollwise.live.progress import Progress
from pollwise.live.session import Session
from pollwise.policies.collecting.robot import Robot
from pollwise.scheduler.capacity import rate_taken
from pollwise.settings import CollectSettings
from pollwise.types import LikelyLink, Outcome, Page
from pollwise.watched_pages import Watched

__all__ = ["CollectionTotals", "Standing", "StandingCounter"]

_LOOK_EVERY, _LOOK_SHARE = 1.0, 0.01
"""Seconds between two looks at what takes some time to find, and the most that this may take of the
time: it takes longer the more pages there are.
"""
_SHOWN_LINKS = 10
"""How many of the links that are followed next are shown."""
_POLLS_A_HOST = 5
"""Polls for each host after which it is believed that there are no more hosts."""


@dataclass(frozen=True, slots=True)
class CollectionTotals:
    """What a collection has come to, over all runs.

    `polls` that were made, `documents` that were read, and how many of them are `relevant`. The
    `fringe` are pages that are known by links only. `hosts` (or groups of them that share a delay)
    can take requests, see `KnownPages.hosts`.
    """

    polls: int
    documents: int
    relevant: int
    fringe: int
    hosts: int


@dataclass(frozen=True, slots=True)
class Standing(CollectionTotals):
    """How a collection stands at the moment.

    The hosts take `taken` polls a second at most, of those that the budget allows. `under_way` are
    polls, `queued` responses. `silent` are the hosts where every poll failed. `links` are those
    that are followed next, with their values and anchors, best first.
    """

    taken: float
    under_way: int = 0
    queued: int = 0
    silent: Sequence[str] = ()
    links: Sequence[LikelyLink] = ()


class StandingCounter:
    """Keeps count of how a collection stands."""

    def __init__(
        self,
        session: Session,
        settings: CollectSettings,
        collection: DocumentCollection,
        processor: ResponseProcessor[Digest],
        left_out: Container[int],
    ) -> None:
        self._scheduler = session.scheduler
        self._collection = collection
        self._processor = processor
        self._polls = session.store.totals().polls
        self._known = KnownPages()
        self._hosts_of_copies = HostsOfCopies()
        self._shared = settings.shared_scopes()
        for page_id, own in session.watched.items():
            if page_id not in left_out:
                self._note(own.page, own.outcome)
        self._delay = host_delays(settings, session.scheduler.host_pace)
        self._say = session.say
        self._look_at = -math.inf
        self._told = False
        self._links: Sequence[LikelyLink] = ()
        self._hosts: Sequence[str] = ()
        self._silent: Sequence[str] = ()
        self._taken = 0.0

    def after(self, progress: Progress, watched: Mapping[int, Watched]) -> Standing:
        """How it stands after a turn; what takes long to find is some seconds old."""
        for report in progress.reports:
            if report.discovered is not None:
                for new in report.discovered.new_pages:
                    self._note(new.page, None)
        for report in progress.reports:
            observation = report.result.observation
            self._polls += observation.outcome is not Outcome.POSTPONED
            page = watched[observation.page_id].page
            self._note(page, observation.outcome)
            collected = None if report.discovered is None else report.discovered.collected
            if page.id in progress.first_copies and collected is not None:
                self._note_copy(page, is_copy=collected.duplicate_of is not None)
        now = time.monotonic()
        if now >= self._look_at:
            self._links = self.links(_SHOWN_LINKS)
            self._hosts = self._known.hosts()
            self._silent = self.silent_hosts()
            self._taken = rate_taken(self._hosts, self._delay, self._scheduler.budget.rate)
            self._tell()
            end = time.monotonic()
            self._look_at = end + max(_LOOK_EVERY, (end - now) / _LOOK_SHARE)
        return Standing(
            **self._totals(self._hosts),
            taken=self._taken,
            under_way=self._scheduler.in_flight,
            queued=self._processor.queued,
            silent=self._silent,
            links=self._links,
        )

    def silent_hosts(self) -> list[str]:
        """The hosts where every poll failed, in all runs."""
        return self._known.silent_hosts()

    def totals(self) -> CollectionTotals:
        """What it has come to by now."""
        return CollectionTotals(**self._totals(self._known.hosts()))

    def _totals(self, hosts: Sequence[str]) -> dict[str, int]:
        return {
            "polls": self._polls,
            "documents": self._collection.documents,
            "relevant": self._collection.relevant,
            "fringe": self._known.fringe,
            "hosts": len(hosts),
        }

    def _note(self, page: Page, outcome: Outcome | None) -> None:
        self._known.note(page.id, self._shared.get(page.scope, page.scope), outcome)

    def _note_copy(self, page: Page, *, is_copy: bool) -> None:
        copies = self._hosts_of_copies.note(page.scope, is_copy=is_copy)
        if copies is not None:
            example = f", such as {page.url}" if is_copy else ""
            self._say(
                f"{page.scope}: {copies} of the latest {ROUND} new pages are copies of others"
                f"{example}; --deny leaves out those that fit an expression"
            )

    def links(self, count: int) -> list[LikelyLink]:
        """The links that are followed next, so many at most."""
        robot = self._scheduler.policy
        return robot.likely_links(count) if isinstance(robot, Robot) else []

    def _tell(self) -> None:
        """Say once that the hosts cannot take the budget, when most of them are known."""
        allowed = self._scheduler.budget.rate
        is_known = self._polls >= _POLLS_A_HOST * len(self._hosts) > 0
        if not self._told and is_known and self._taken < allowed:
            self._told = True
            self._say(f"so far {taken_words(len(self._hosts), self._taken, allowed)}")
