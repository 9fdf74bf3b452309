"""What people see of a running `pollwise collect`."""

from collections.abc import Mapping
from pathlib import Path

from pollwise.collecting.link_filter import Rejected
from pollwise.console.display import RunDisplay
from pollwise.console.log import LogFormat
from pollwise.console.quantities import count
from pollwise.console.watching import trouble_of
from pollwise.live.loop import Progress, Watched

__all__ = ["CollectDisplay"]

_WORTH_A_LINE = 0.3
"""Documents of at least this relevance get a line each."""


class CollectDisplay(RunDisplay):
    """The relevant documents that are found, a line each, and a summary."""

    def __init__(
        self, *, subject: str, budget: str, db: Path, log: LogFormat = LogFormat.text
    ) -> None:
        self._polls = self._documents = self._relevant = self._troubles = 0
        self._relevance = 0.0
        self._seen: int | None = None
        self._fringe = self._under_way = self._queued = 0
        super().__init__(f"collecting pages about {subject} at {budget}, database {db}", log=log)

    def show(
        self, progress: Progress, watched: Mapping[int, Watched], under_way: int, queued: int
    ) -> None:
        """See `CollectingDisplay.show`."""
        for report in progress.reports:
            self._polls += 1
            page = watched[report.result.observation.page_id].page
            trouble = trouble_of(report)
            if trouble is not None:
                self._troubles += 1
                if page.seen_at is None and self._documents == 0:
                    self._tell(
                        report.result.observation.polled_at, trouble, page.url, level="warning"
                    )
            collected = None if report.discovered is None else report.discovered.collected
            if page.id in progress.first_copies and collected is not None:
                self._documents += 1
                relevance = collected.relevance or 0.0
                self._relevance += relevance
                self._relevant += relevance > 0
                if relevance >= _WORTH_A_LINE:
                    title = f"{relevance:.2f}  {collected.title or '(no title)'}"
                    self._tell(report.result.observation.polled_at, title, page.url)
        if self._seen is None:  # some pages were seen in earlier runs
            self._seen = sum(own.page.seen_at is not None for own in watched.values())
        else:
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
            f" {self._troubles:,} in trouble"
        )
