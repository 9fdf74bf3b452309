"""Polls under way: what they take of hosts and budget until they are answered or given up."""

import math
from collections import OrderedDict
from typing import NamedTuple

from pollwise.scheduler.cell_rate import CellRate
from pollwise.scheduler.hosts import Hosts
from pollwise.types import Observation, Outcome

__all__ = ["Lease", "Leases", "Terms"]

_ANSWERS = (Outcome.UNCHANGED, Outcome.CHANGED, Outcome.GONE)


class Terms(NamedTuple):
    """What the scheduler needs of a page."""

    scope: str
    cost: float
    weight: float
    tags: tuple[str, ...]


class Lease(NamedTuple):
    """A poll under way, of a page as it was when the poll began, with the rates it counts in."""

    page: Terms
    rates: tuple[CellRate, ...]
    started_at: float
    expires_at: float
    looks: bool = False
    """It has its answer and looks for noise, while others have its host."""


class Leases:
    """The polls under way, each of which is given up `seconds` after its start.

    A host knows of the poll that it has to answer. A poll counts in its rates by the cost that its
    page has; the real cost, known when it is answered, corrects that.
    """

    def __init__(self, seconds: float, hosts: Hosts) -> None:
        self._seconds = seconds
        self._hosts = hosts
        # All are equally long, and time never falls: the first one expires first.
        self.by_page: OrderedDict[int, Lease] = OrderedDict()
        """By the id of the page, to be read."""
        self.begun = 0
        """The number of polls that were begun."""

    @property
    def first_expiry(self) -> float:
        """When the first one has run out; infinite: there is none."""
        return next(iter(self.by_page.values())).expires_at if self.by_page else math.inf

    def begin(self, page_id: int, page: Terms, rates: tuple[CellRate, ...], now: float) -> None:
        """A poll begins."""
        self.begun += 1
        for rate in rates:
            rate.spend(page.cost, now)
        self.by_page[page_id] = Lease(page, rates, now, now + self._seconds)
        self._hosts.poll_begun(page.scope, now)

    def look(self, page_id: int, seconds: float, now: float) -> bool:
        """A poll waits for so many seconds before it fetches its page again.

        Whether others have its host meanwhile.
        """
        lease = self.by_page.get(page_id)
        if lease is None or lease.looks:
            return False
        if not self._hosts.look_begun(lease.page.scope, seconds, now):
            return False
        self.by_page[page_id] = lease._replace(looks=True)
        return True

    def end(self, observation: Observation, now: float) -> None:
        """A poll has ended, and found this."""
        page_id, cost = observation.page_id, observation.cost
        lease = self.by_page[page_id]
        del self.by_page[page_id]
        more = cost / lease.page.cost - 1.0
        if more > 0:
            self._hosts.fetched_more(lease.page.scope, more, now)
        if lease.looks:
            self._hosts.look_ended(lease.page.scope, now)
        else:
            # One that fetched its page again, or waited in vain, took another time.
            is_timed = more <= 0 and observation.outcome in _ANSWERS
            self._hosts.poll_ended(lease.page.scope, now, is_timed=is_timed)
        for rate in lease.rates:
            rate.correct(cost - lease.page.cost, now)

    def give_up_first(self, now: float) -> tuple[int, Lease]:
        """Give up the poll that is under way for the longest time: its page, and what it was."""
        page_id, lease = self.by_page.popitem(last=False)
        ended = self._hosts.look_ended if lease.looks else self._hosts.poll_lost
        ended(lease.page.scope, now)
        return page_id, lease
