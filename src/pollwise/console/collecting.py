"""What people see of a running `pollwise collect`."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pollwise.collecting.link_filter import Rejected
from pollwise.console.display import RunDisplay
from pollwise.console.log import LogFormat
from pollwise.console.quantities import count
from pollwise.console.watching import trouble_of
from pollwise.live.loop import Progress, Watched
from pollwise.store.records import PageRecord
from pollwise.types import Outcome

__all__ = ["CollectDisplay"]

_WORTH_A_LINE = 0.3
"""Documents of at least this relevance get a line each."""


class CollectDisplay(RunDisplay):
    """The relevant documents that are found, a line each, and a summary over all runs."""

    def __init__(
        self, *, subject: str, budget: str, db: Path, log: LogFormat = LogFormat.text
    ) -> None:
        self._polls = self._documents = self._relevant = self._seen = 0
        self._relevance = 0.0
        self._troubles = set[int]()
        """The ids of the pages that failed, or were gone, at their latest poll."""
        self._fringe = self._under_way = self._queued = 0
        super().__init__(f"collecting pages about {subject} at {budget}, database {db}", log=log)

    def begin(self, records: Sequence[PageRecord]) -> None:
        """See `CollectingDisplay.begin`."""
        for record in records:
            self._polls += record.polls
            self._seen += record.page.seen_at is not None
            if record.outcome in (Outcome.FAILED, Outcome.GONE):
                self._troubles.add(record.page.id)
            if record.relevance is not None:
                self._count(record.relevance)
        self._fringe = len(records) - self._seen

    def _count(self, relevance: float) -> None:
        """Count a document."""
        self._documents += 1
        self._relevance += relevance
        self._relevant += relevance > 0

    def show(
        self, progress: Progress, watched: Mapping[int, Watched], under_way: int, queued: int
    ) -> None:
        """See `CollectingDisplay.show`."""
        for report in progress.reports:
            self._polls += report.result.observation.outcome is not Outcome.POSTPONED
            page = watched[report.result.observation.page_id].page
            trouble = trouble_of(report)
            if trouble is None:
                self._troubles.discard(page.id)
            else:
                self._troubles.add(page.id)
                if page.seen_at is None and self._documents == 0:
                    self._tell(
                        report.result.observation.polled_at, trouble, page.url, level="warning"
                    )
            collected = None if report.discovered is None else report.discovered.collected
            if page.id in progress.first_copies and collected is not None:
                relevance = collected.relevance or 0.0
                self._count(relevance)
                if relevance >= _WORTH_A_LINE:
                    title = f"{relevance:.2f}  {collected.title or '(no title)'}"
                    self._tell(report.result.observation.polled_at, title, page.url)
        self._seen += len(progress.first_copies)
        self._fringe = len(watched) - self._seen
        self._under_way, self._queued = under_way, queued
        self._tell_at_times()

    def rejected(self, reasons: Mapping[Rejected, int]) -> None:
        """See `CollectingDisplay.rejected`."""
        told = ", ".join(f"{reason.value} {number:,}" for reason, number in reasons.items())
        if told:
            self._print(f"links left aside: {told}")

    def _line(self) -> str:
        return (
            f"{count(self._polls, 'poll')}, {count(self._documents, 'document')} of which"
            f" {self._relevant:,} relevant (sum {self._relevance:.1f}), {self._fringe:,} in the"
            f" fringe, {self._under_way} under way, {self._queued} queued,"
            f" {count(len(self._troubles), 'page')} in trouble"
        )
