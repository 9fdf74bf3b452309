"""What people see of a running `pollwise collect`."""

import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from pollwise.collecting.link_filter import Rejected
from pollwise.console.display import RunDisplay
from pollwise.console.log import LogFormat
from pollwise.console.quantities import number
from pollwise.console.tables import short
from pollwise.console.watching import trouble_of
from pollwise.insight.capacity import taken_words
from pollwise.live.progress import Progress
from pollwise.scheduler.budgets import parse_budget
from pollwise.store.place import Place
from pollwise.types import Outcome
from pollwise.watched_pages import Watched
from pollwise.web.crawl_urls import crawl_url

if TYPE_CHECKING:
    from pollwise.live.collection_standing import Standing
    from pollwise.web.poll_reports import PollReport

__all__ = ["CollectDisplay"]

_WORTH_A_LINE = 0.3
"""Documents of at least this relevance get a line each."""
_LATELY = 300.0
"""Seconds over which relevant documents are counted."""
_LINKS = 3
_NAMED = 3
"""How many hosts are named that gave no page."""
_MOST_SEEDS = 10
"""How many seeds get a line each if they cannot be had."""
_MARGIN = 2
_LONG = 100_000
"""Numbers from here on are told in thousands, so that the line of counts fits a terminal."""


class CollectDisplay(RunDisplay):
    """The relevant documents that are found, a line each, and how the collection stands.

    Of `seeds`, URLs that were named for this run, the first that cannot be had get a line, too.
    """

    def __init__(
        self,
        *,
        subject: str,
        budget: str,
        db: Place,
        seeds: Collection[str] = (),
        log: LogFormat = LogFormat.text,
    ) -> None:
        self._troubles = set[int]()
        """The ids of the pages that failed, or were gone, at their latest poll."""
        self._tells_trouble = True
        """Whether the next trouble gets a line: the first one, if it comes before any document."""
        self._seeds = {crawl_url(seed) for seed in seeds}
        """Those of which no trouble was told."""
        self._seeds_told = 0
        self._postponed = set[str]()
        """Seeds of which it was told that they wait."""
        self._standing: Standing | None = None
        self._allowed = parse_budget(budget).total(0)
        self._made_at = time.monotonic()
        self._begun_at: float | None = None
        self._latest_at = 0.0
        self._found: deque[float] = deque()
        """When relevant documents were found lately."""
        self._next: list[str] = []
        super().__init__(f"collecting pages about {subject} at {budget}, database {db}", log=log)

    def show(
        self, progress: Progress, watched: Mapping[int, Watched], standing: "Standing"
    ) -> None:
        """See `CollectingDisplay.show`."""
        self._standing = standing
        for report in progress.reports:
            polled_at = report.result.observation.polled_at
            if self._begun_at is None:
                self._begun_at = polled_at
            self._latest_at = max(self._latest_at, polled_at)
            page = watched[report.result.observation.page_id].page
            trouble = trouble_of(report)
            if report.result.observation.outcome is Outcome.POSTPONED:
                self._tell_postponed_seed(page.url, report)
            elif trouble is None:
                self._troubles.discard(page.id)
            else:
                self._troubles.add(page.id)
                if page.seen_at is None and (self._is_to_be_told(page.url) or self._tells_trouble):
                    self._tells_trouble = False
                    self._tell(polled_at, trouble, page.url, level="warning")
            collected = None if report.discovered is None else report.discovered.collected
            if page.id in progress.first_copies and collected is not None:
                self._tells_trouble = False
                relevance = collected.relevance or 0.0
                if relevance > 0:
                    self._found.append(polled_at)
                if relevance >= _WORTH_A_LINE:
                    title = f"{relevance:.2f}  {collected.title or '(no title)'}"
                    self._tell(polled_at, title, page.url)
        self._next = [
            f"next  {link.value:.2f}  {link.anchor or '(no text)'}  {own.page.url}"
            for link in standing.links[:_LINKS]
            if (own := watched.get(link.page_id)) is not None
        ]
        self._tell_at_times()

    def _is_to_be_told(self, url: str) -> bool:
        """Whether this is a seed whose trouble is to be told, which is noted as told."""
        if url not in self._seeds or self._seeds_told >= _MOST_SEEDS:
            return False
        self._seeds.discard(url)
        self._seeds_told += 1
        return True

    def _tell_postponed_seed(self, url: str, report: "PollReport") -> None:
        """Tell once why a seed waits: until then nothing may happen."""
        is_new = url in self._seeds and url not in self._postponed
        if is_new and len(self._postponed) < _MOST_SEEDS:
            self._postponed.add(url)
            result = report.result
            self._tell(result.observation.polled_at, f"postponed ({result.error})", url)

    def rejected(self, reasons: Mapping[Rejected, int]) -> None:
        """See `CollectingDisplay.rejected`."""
        told = ", ".join(f"{reason.value} {number:,}" for reason, number in reasons.items())
        if told:
            self._print(f"links left aside: {told}")

    def silent(self, hosts: Sequence[str]) -> None:
        """See `CollectingDisplay.silent`."""
        if told := _silent_words(hosts) or self._nothing_left():
            self._print(told)

    def _line(self) -> str:
        told = (self._last_line(), self._pace(), self._hint(), self._silent_hosts())
        return "; ".join(filter(None, told))

    def _silent_hosts(self) -> str:
        return "" if self._standing is None else _silent_words(self._standing.silent)

    def _last_line(self) -> str:
        now = self._standing
        if now is None:
            return "nothing was fetched"
        return (
            f"{_counted(now.polls, 'poll')}, {_counted(now.documents, 'document')},"
            f" {_brief(now.relevant)} relevant, {_brief(now.fringe)} in the fringe"
        )

    def _pace(self) -> str:
        """How fast it goes, and where; empty: nothing is known yet."""
        now = self._standing
        if now is None:
            return ""
        trouble = f", {len(self._troubles):,} failing or gone" if self._troubles else ""
        return (
            f"{self._lately()}, {_counted(now.hosts, 'host')},"
            f" {now.under_way} under way, {now.queued} queued{trouble}"
        )

    def _lately(self) -> str:
        """The relevant documents a minute, on average over the latest minutes."""
        while self._found and self._found[0] < self._latest_at - _LATELY:
            self._found.popleft()
        elapsed = 0.0 if self._begun_at is None else self._latest_at - self._begun_at
        minutes = min(max(elapsed, 60.0), _LATELY) / 60.0
        told = number(len(self._found) / minutes)
        return f"{told} relevant a minute of the last {_LATELY / 60.0:.0f}"

    def _hint(self) -> str:
        """Why the budget is not used up; empty: it is, as far as is known."""
        now = self._standing
        if now is None:
            return ""
        if now.fringe == 0 and now.under_way == 0 and now.documents:
            return "no new page is known; others rest until they may have changed"
        if nothing_left := self._nothing_left():
            return nothing_left
        if now.taken < self._allowed:
            return taken_words(now.hosts, now.taken, self._allowed)
        return ""

    def _nothing_left(self) -> str:
        """That no page can be collected; empty: one can."""
        now = self._standing
        if now is None or not now.polls or now.silent:
            return ""
        if now.documents or now.fringe or now.under_way:
            return ""
        return "no page is left to poll, and none had a text: name others with --seed"

    def _preparation(self) -> str:
        """What a person sees before the first poll: the first run compiles for half a minute."""
        return f"getting ready, {time.monotonic() - self._made_at:.0f} s so far"

    def _picture(self) -> RenderableType:
        width = self._console.width - _MARGIN
        line = self._preparation() if self._standing is None else self._last_line()
        self._spinner.update(text=Text(short(line, width)))
        told = (self._pace(), self._hint(), self._silent_hosts(), *self._next)
        more = [text for text in told if text]
        lines = [Text(" " * _MARGIN + short(text, width), no_wrap=True) for text in more]
        return Group(self._spinner, *lines)


def _silent_words(hosts: Sequence[str]) -> str:
    """Which hosts gave no page; empty: all did.

    >>> _silent_words(["a.example"]), _silent_words(["a", "b", "c", "d", "e"])
    ('1 host gave no page: a.example', '5 hosts gave no page: a, b, c and 2 more')
    """
    if not hosts:
        return ""
    more = f" and {len(hosts) - _NAMED:,} more" if len(hosts) > _NAMED else ""
    return f"{_counted(len(hosts), 'host')} gave no page: {', '.join(hosts[:_NAMED])}{more}"


def _counted(figure: int, noun: str) -> str:
    return f"{_brief(figure)} {noun}{'' if figure == 1 else 's'}"


def _brief(figure: int) -> str:
    """A number in seven characters at most, up to a hundred million.

    >>> _brief(99_999), _brief(1_234_567)
    ('99,999', '1,235k')
    """
    return f"{figure:,}" if figure < _LONG else f"{figure / 1000:,.0f}k"
