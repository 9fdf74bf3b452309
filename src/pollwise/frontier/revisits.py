"""Which known page of a crawl is fetched next: as many as the client's dates say, by the index.

The client gives every URL that it fetched a date. That date entitles one page of the crawl to a
visit: not this one, but the page of the largest index then. So there are as many visits as the
client wants, and they go where they are worth most. A page that is chosen while the date of another
passed gives its own date to that one, so that no visit is lost or made up.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence

from pollwise.policies.base import StateDict
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.rehearsal import rehearsal
from pollwise.types import Observation, Outcome, Page

__all__ = ["Revisits"]

Accept = Callable[[int], float | None]


class Revisits:
    """The pages of a crawl that the policy chooses from.

    Pages have small numbers, which the caller gives. Each is either waiting, with a date to come
    (`waiting`) or one that has passed unused (`passed`), or it is chosen: in the line of its queue
    or given out.
    """

    def __init__(self) -> None:
        self.policy = BayesianIndex(objective="freshness")
        self.chosen: set[int] = set()
        self.dates: dict[int, int] = {}
        self._rests: dict[int, float] = {}
        self._passed: dict[int, None] = {}
        self._heap: list[tuple[int, int]] = []
        self._latest = 0.0
        self._observations: list[Observation] = []  # that the policy is not told yet

    @classmethod
    def compile(cls) -> None:
        """Compile all that is needed, which takes a while the first time on a machine."""
        policy = cls().policy
        for _ in rehearsal(policy):
            pass
        policy.copied([1], 1e9)
        policy.rest(1, 2e9)
        policy.best([1, 2], 2e9)

    def add(self, pages: Sequence[Page]) -> None:
        """Take up pages that have a copy."""
        self.policy.add(pages)

    def load(self, learned: StateDict) -> None:
        """Put back what was learned of pages that were added; `StateError` if it does not fit."""
        self.policy.load_state_dict(learned)

    def discard(self, pages: Sequence[int]) -> None:
        """Forget pages."""
        self._tell()
        self.policy.discard(pages)
        for page in pages:
            self.chosen.discard(page)
            self.dates.pop(page, None)
            self._passed.pop(page, None)
            self._rests.pop(page, None)

    def give_date(self, page: int, date: int) -> None:
        """A page waits from now on, with this date; one that it had before ends."""
        self.chosen.discard(page)
        self._passed.pop(page, None)
        self.dates[page] = date
        heapq.heappush(self._heap, (date, page))
        if len(self._heap) > 64 + 4 * len(self.dates):
            self._heap = [(date, page) for page, date in self.dates.items()]
            heapq.heapify(self._heap)

    def observe(
        self, page: int, outcome: Outcome | None, at: float, changed_at: float | None
    ) -> None:
        """Learn from a report; None: it does not tell whether the page has changed."""
        at = self._latest = max(self._latest, at)
        self._rests.pop(page, None)
        if outcome is None:
            self._tell()
            self.policy.copied([page], at)
            outcome = Outcome.FAILED  # which teaches nothing, and ends the lease
        self._observations.append(Observation(page, at, outcome, changed_at))

    def rest(self, page: int, until: float) -> None:
        """Do not choose a page before a time; its next report ends that."""
        self._tell()
        self.policy.rest(page, until)
        self._rests[page] = until  # for one that competes already

    def _tell(self) -> None:
        """Tell the policy of all reports: of many at once it learns faster."""
        if self._observations:
            self.policy.observe(self._observations)
            self._observations = []

    def choose(self, now: float, limit: int, accept: Accept) -> Iterator[tuple[int, int | None]]:
        """Choose at most `limit` pages to fetch, as far as dates have passed.

        `accept` says of a page whether it finds room in the line of its queue: None for yes, else
        until when it is to wait. Gives the pages, each with the one that gets its date (None: it
        used its own).
        """
        self._tell()
        now = self._latest = max(self._latest, now)
        while self._heap and self._heap[0][0] <= now:
            date, page = heapq.heappop(self._heap)
            if self.dates.get(page) == date:
                del self.dates[page]
                self._passed[page] = None
        for _ in range(limit):
            if not self._passed:
                return
            pages = self.policy.select(now, 1).page_ids
            if len(pages) == 0:
                return
            page = int(pages[0])
            if page in self.chosen:  # since a restart, which the policy does not know
                continue
            rests_until = self._rests.get(page, 0.0)
            until = rests_until if rests_until > now else accept(page)
            if until is not None:
                self.policy.defer([page], until)
                continue
            yield page, self._use_date(page)

    def best(self, pages: Sequence[int], now: float) -> int:
        """Of these pages the one to fetch."""
        return self.policy.best(pages, max(self._latest, now))

    def learned(self, pages: Sequence[int]) -> StateDict:
        """What is to be written down of pages, and what all of them share."""
        self._tell()
        return self.policy.state_dict(sorted(set(pages)))

    def _use_date(self, page: int) -> int | None:
        """Let a page be chosen; the page that gets its date, if it has one to come."""
        self.chosen.add(page)
        if page in self._passed:
            del self._passed[page]
            return None
        other = next(iter(self._passed))
        del self._passed[other]
        date = self.dates.pop(page, None)
        if date is None:  # it had none, which cannot be but after damage
            return None
        self.dates[other] = date
        heapq.heappush(self._heap, (date, other))
        return other
