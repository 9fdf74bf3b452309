"""What people see of a running `pollwise watch`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pollwise.console.display import RunDisplay
from pollwise.console.tables import count
from pollwise.types import Outcome

if TYPE_CHECKING:
    from pollwise.live.loop import Progress, Watched
    from pollwise.web.poller import PollReport

__all__ = ["WatchDisplay", "trouble_of"]

_MOST_REASONS = 10


class WatchDisplay(RunDisplay):
    """What the polls find, a line each, and a summary."""

    def __init__(self, *, pages: int, budget: str, db: Path) -> None:
        self._polls = self._changes = self._postponed = 0
        self._troubles: dict[int, str] = {}
        """What was wrong at the latest poll of each page."""
        self._reasons: set[str] = set()
        """Why polls were postponed, as far as it was told."""
        super().__init__(f"watching {count(pages, 'page')} at {budget}, database {db}")

    def show(self, progress: "Progress", watched: "Mapping[int, Watched]") -> None:
        """Show what came of a turn; the same trouble with a page is told once."""
        for report in progress.reports:
            observation = report.result.observation
            if observation.outcome is Outcome.POSTPONED:
                self._postponed += 1
                self._tell_reason(report, watched[observation.page_id].page.url)
                continue
            self._polls += 1
            news = None
            if observation.page_id in progress.first_copies:
                news = "first copy"
            elif observation.outcome is Outcome.CHANGED:
                self._changes += 1
                news = "changed"
            trouble = trouble_of(report)
            if trouble is None:
                self._troubles.pop(observation.page_id, None)
            elif self._troubles.get(observation.page_id) != trouble:
                news = self._troubles[observation.page_id] = trouble
            if news is not None:
                self._tell(observation.polled_at, news, watched[observation.page_id].page.url)
        self._tell_at_times()

    def _tell_reason(self, report: "PollReport", url: str) -> None:
        """Tell each reason once, and not all of them: a busy host has one of its own."""
        why = report.result.error
        if why is not None and why not in self._reasons and len(self._reasons) < _MOST_REASONS:
            self._reasons.add(why)
            self._tell(report.result.observation.polled_at, f"postponed ({why})", url)

    def _line(self) -> str:
        return (
            f"{count(self._polls, 'poll')}, {count(self._changes, 'change')},"
            f" {count(len(self._troubles), 'page')} in trouble"
            + (f", {count(self._postponed, 'poll')} postponed" if self._postponed else "")
        )


def trouble_of(report: "PollReport") -> str | None:
    """What was wrong with a page, in words; None: nothing that its poll told."""
    result = report.result
    if result.observation.outcome is Outcome.GONE:
        return "gone"
    if result.error is None or result.observation.outcome is Outcome.POSTPONED:
        return None
    return f"failed ({result.error})"
