"""Which known page of a crawl is fetched next: as many as the client's dates say, by the index.

The client gives every URL that it fetched a date. A page that was fetched at `a` and has the date
`b` saves up one visit every `b - a` seconds, until it is chosen. The visits of all pages of a crawl
make one sum; whenever it reaches 1, the page of the largest index is chosen, whatever its own date
says. So there are as many visits as the client wants, and they go where they are worth most.
"""

from collections.abc import Callable, Iterator, Sequence

from pollwise.policies.base import StateDict
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.rehearsal import rehearsal
from pollwise.types import Observation, Outcome, Page

__all__ = ["Revisits"]

_ONE = 1.0 - 1e-6
"""Sums of many small numbers are not exact."""

Accept = Callable[[int], float | None]


class Revisits:
    """The pages of a crawl that the policy chooses from.

    Pages have small numbers, which the caller gives. Those that are `chosen` are in the line of
    their queue or given out. `saved` is the sum of visits saved up until `saved_at`.
    """

    def __init__(self) -> None:
        self.policy = BayesianIndex(objective="freshness")
        self.chosen: set[int] = set()
        self.saved = 0.0
        self.saved_at = 0.0
        self._rates: dict[int, float] = {}
        """By page: visits a second."""
        self._rate = 0.0  # of all of them
        self._pages = 0
        self._rests: dict[int, float] = {}
        self._latest = 0.0
        # What the policy is not told yet: of many at once it learns faster.
        self._new: list[Page] = []
        self._observations: list[Observation] = []

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
        self._new += pages
        self._pages += len(pages)

    def load(self, learned: StateDict) -> None:
        """Put back what was learned of pages that were added; `StateError` if it does not fit."""
        self._tell()
        self.policy.load_state_dict(learned)

    def discard(self, pages: Sequence[int]) -> None:
        """Forget pages, which must be there."""
        self._tell()
        self.policy.discard(pages)
        self._pages -= len(pages)
        for page in pages:
            self._stop_saving(page)
            self.chosen.discard(page)
            self._rests.pop(page, None)

    def wait(self, page: int, copied_at: float, date: float) -> None:
        """A page was fetched, which is to happen again at a date; it is chosen no longer."""
        self._save_up(copied_at)
        self.chosen.discard(page)
        self.go_on_saving(page, copied_at, date)
        if page not in self._rates:
            self.saved += 1.0

    def go_on_saving(self, page: int, copied_at: float, date: float) -> None:
        """As `wait`, since the time `saved_at`; what was saved up before is in `saved`."""
        self._stop_saving(page)
        if date > copied_at:
            self._rates[page] = 1.0 / (date - copied_at)
            self._rate += self._rates[page]

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
        """Tell the policy of all new pages and reports."""
        if self._new:
            self.policy.add(self._new)
            self._new = []
        if self._observations:
            self.policy.observe(self._observations)
            self._observations = []

    def choose(self, now: float, limit: int, accept: Accept) -> Iterator[int]:
        """Choose at most `limit` pages to fetch, as far as visits are saved up.

        `accept` says of a page whether it finds room in the line of its queue: None for yes, else
        until when it is to wait.
        """
        self._tell()
        now = self._latest = max(self._latest, now)
        self._save_up(now)
        while limit > 0 and self.saved >= _ONE:
            wanted = min(limit, int(self.saved - _ONE) + 1)
            pages = self.policy.select(now, wanted).page_ids.tolist()
            if not pages:
                return
            limit -= len(pages)
            for page in pages:
                if page in self.chosen:  # since a restart, which the policy does not know
                    continue
                rests_until = self._rests.get(page, 0.0)
                until = rests_until if rests_until > now else accept(page)
                if until is not None:
                    self.policy.defer([page], until)
                    continue
                self.saved = max(self.saved - 1.0, 0.0)
                self.chosen.add(page)
                self._stop_saving(page)
                yield page

    def best(self, pages: Sequence[int], now: float) -> int:
        """Of these pages the one to fetch."""
        return self.policy.best(pages, max(self._latest, now))

    def learned(self, pages: Sequence[int]) -> StateDict:
        """What is to be written down of pages, and what all of them share."""
        self._tell()
        return self.policy.state_dict(sorted(set(pages)))

    def _save_up(self, now: float) -> None:
        """Reckon the visits that were saved up until now."""
        if now > self.saved_at:
            self.saved += self._rate * (now - self.saved_at)
            self.saved_at = now
        # No more than one for each page: the client may have been away, or reported one page often.
        self.saved = min(self.saved, float(self._pages - len(self.chosen)))

    def _stop_saving(self, page: int) -> None:
        self._rate -= self._rates.pop(page, 0.0)
        if not self._rates:
            self._rate = 0.0  # exactly
