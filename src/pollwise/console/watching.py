"""What people see of a running `pollwise watch`: changes on stdout, all else on stderr."""

import math
import time
from collections.abc import Callable, Collection, Mapping, Set
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from rich.text import Text

from pollwise.console.changes import Change, ChangeLines, LineLimit
from pollwise.console.display import RunDisplay
from pollwise.console.log import LogFormat, object_line
from pollwise.console.outages import Outage
from pollwise.console.quantities import count, duration
from pollwise.console.redirects import Redirects
from pollwise.console.remedies import always_remedy
from pollwise.events import Added, HostBlocked, Removed
from pollwise.insight.changes import happened
from pollwise.insight.documents import document
from pollwise.insight.polled import polled_page
from pollwise.insight.words import moment
from pollwise.scheduler.bounds import ALWAYS
from pollwise.store.place import Place, command
from pollwise.store.records import ChangeKind
from pollwise.types import Outcome
from pollwise.watched_pages import count_of_scope

if TYPE_CHECKING:
    from pollwise.live.ahead import Ahead
    from pollwise.live.progress import Progress
    from pollwise.settings import WatchSettings
    from pollwise.watched_pages import Watched
    from pollwise.web.poll_reports import PollReport

__all__ = ["Detail", "WatchDisplay", "trouble_of"]

_MOST_LINES = 3
"""Of a page, a minute: some pages change at every poll."""
_MOST_NAMED = 3
_GONE = "gone"
"""That it is so is told once, whatever the status."""
_LONG = 10.0
"""Seconds; that a host is left alone for less is not worth telling."""
_MOST_COUNTED = 10_000
"""Pages among which those of a host are counted when it wants to be left alone: some milliseconds,
but a second for a million hosts."""
_WIDTH_OF_SPINNER = 2
_LOOK_EVERY = 0.25
"""Seconds; what comes next takes a millisecond to find."""


class Detail(StrEnum):
    """What stderr tells: news, every poll, or every poll as a JSON object and nothing else."""

    news = "news"
    polls = "polls"
    log = "log"


_MOST_REASONS = 10


class WatchDisplay(RunDisplay):
    """Changes on stdout; on stderr troubles, on a terminal first copies too, and how it stands."""

    def __init__(
        self,
        settings: "WatchSettings",
        *,
        pages: int,
        db: Place,
        detail: Detail = Detail.news,
        log: LogFormat = LogFormat.text,
    ) -> None:
        self._db = db
        self._polls = self._changes = self._postponed = 0
        self._troubles: dict[int, str | None] = {}
        """What was wrong at the latest poll of each page, as far as it was told; None: nothing was
        told, as there was no network.
        """
        self._restless: set[int] = set()
        """Pages of which it was told that they differ at every poll."""
        self._cut: set[int] = set()
        """Lists of which it was told that they are not read to their end."""
        self._reasons: set[str] = set()
        """Why polls were postponed, as far as it was told."""
        self._outage = Outage()
        self._network_is_away: Callable[[], bool] = lambda: True
        self._redirects = Redirects()
        self._detail = detail
        self._limit = LineLimit(_MOST_LINES)
        self._end: Callable[[], None] | None = None
        self._look: Callable[[], Ahead] | None = None
        self._looked_at = -_LOOK_EVERY
        self._ahead: Ahead | None = None
        self._next_host = ""
        self._first_copies = self._copied = 0
        self._told_of_first_copies = False
        self._never_seen: set[int] = set()
        """Pages whose first copy was asked for without success."""
        doing = f"watching {count(pages, 'page')} at {settings.budget}"
        super().__init__(
            f"{doing} for {settings.objective}, database {db}",
            quiet=detail is Detail.log,
            log=LogFormat.json if detail is Detail.log else log,
        )
        self._lines = ChangeLines(
            db, aside=self._aside, say=self._say, on_closed=self._nobody_reads
        )

    def __exit__(self, *error: object) -> None:
        self._lines.close()
        self._tell_held_back()
        super().__exit__(*error)

    def begin(
        self,
        *,
        first_copies: int,
        failing_or_gone: Mapping[int, str | None] = MappingProxyType({}),
        gave_none: Collection[int] = (),
        ahead: "Callable[[], Ahead]",
        end: Callable[[], None],
        network_is_away: Callable[[], bool] = lambda: True,
    ) -> None:
        """See `WatchingDisplay.begin`."""
        for page_id, error in failing_or_gone.items():  # an earlier run has told it
            self._troubles.setdefault(page_id, _GONE if error is None else f"failed ({error})")
        self._first_copies = first_copies
        self._copied = 0
        self._never_seen = set(gave_none)
        self._told_of_first_copies = len(gave_none) == first_copies
        self._look = ahead
        self._end = end
        self._network_is_away = network_is_away

    def show(self, progress: "Progress", watched: "Mapping[int, Watched]") -> None:
        """Show what came of a turn; the same trouble with a page is told once."""
        for event in progress.events:
            if isinstance(event, Removed):
                for page_id in event.page_ids:
                    self._troubles.pop(page_id, None)
                    # Whether it had a copy is not known here: it stays counted among all.
                    self._never_seen.discard(page_id)
            elif isinstance(event, Added):
                self._first_copies += len(event.pages)
                self._told_of_first_copies = False
        for report in progress.reports:
            page_id = report.result.observation.page_id
            own = watched.get(page_id)
            if own is None:  # removed meanwhile
                continue
            page = own.page
            if page_id not in progress.first_copies and self._is_as_before(report, progress):
                self._polls += 1
                continue
            kind = progress.happened(report.result.observation)
            first_copy = page_id in progress.first_copies
            if self._detail is Detail.news:
                self._heed_network(report, page.scope, len(watched))
            self._heed_redirect(report, page.url, watched)
            self._show(report, page.url, watched, first_copy=first_copy, kind=kind)
            is_postponed = report.result.observation.outcome is Outcome.POSTPONED
            if page.seen_at is None and not is_postponed:
                self._never_seen.add(page_id)
        if self._outage.is_told and not self._network_is_away():
            self._say(self._outage.over(len(watched)))
        self._count(progress.first_copies)
        self._look_ahead(watched)
        self._tell_at_times()

    def _is_as_before(self, report: "PollReport", progress: "Progress") -> bool:
        """Whether a poll, of a page that had a copy, has nothing to tell: as most have."""
        seen, result = report.result.observation, report.result
        return (
            seen.outcome is Outcome.UNCHANGED
            and self._detail is Detail.news
            and not (result.error or result.masked or report.left_out or report.answered_by)
            and seen.page_id not in progress.gone_or_back
            and seen.page_id not in self._troubles
            and not self._redirects.leads_elsewhere(seen.page_id)
            and self._outage.is_none
        )

    def _show(
        self,
        report: "PollReport",
        url: str,
        watched: "Mapping[int, Watched]",
        *,
        first_copy: bool,
        kind: ChangeKind | None,
    ) -> None:
        observation = report.result.observation
        at, outcome = observation.polled_at, observation.outcome
        if self._detail is Detail.log:
            polled = polled_page(url, report.result, first_copy=first_copy)
            level = "info" if trouble_of(report) is None else "warning"
            self._write(object_line(at, "poll", level, document(polled)))
        if outcome is Outcome.POSTPONED:
            self._postponed += 1
            if not self._outage.hides(observation.page_id):
                self._tell_postponed(report, url)
            return
        self._polls += 1
        if report.result.masked:
            self._tell(at, f"masked as noise ({'; '.join(report.result.masked)})", url)
        if report.left_out and observation.page_id not in self._cut:
            self._cut.add(observation.page_id)
            self._tell(at, report.left_out, url)
        news = None
        if first_copy:
            news = "first copy" if self._console.is_terminal else None
        elif outcome is Outcome.CHANGED:
            self._changes += 1
            page_id = observation.page_id
            if (
                page_id not in self._restless
                and not self._redirects.leads_elsewhere(page_id)  # that is told of the other page
                and report.result.memory.noise.changes_in_a_row >= ALWAYS
            ):
                self._restless.add(page_id)
                self._tell(at, f"differs at every poll ({always_remedy(self._db, url)})", url)
        if kind is not None:
            self._tell_change(report, url, kind)
        trouble, is_gone = trouble_of(report), outcome is Outcome.GONE
        if trouble is None:
            was_told = self._troubles.pop(observation.page_id, None) is not None
            if was_told and not first_copy and kind is None:
                news = news or "back"
        elif self._outage.hides(observation.page_id):
            # What was told before stays so: that the page is back is told, too.
            self._troubles[observation.page_id] = self._troubles.get(observation.page_id) or None
        elif self._troubles.get(observation.page_id) != (_GONE if is_gone else trouble):
            self._troubles[observation.page_id] = _GONE if is_gone else trouble
            news = None if kind is not None else trouble
        if self._detail is Detail.polls:
            news = trouble or ("first copy" if first_copy else outcome.name.lower())
        if news is not None and news == trouble and outcome is Outcome.FAILED:
            news = f"failed ({report.result.error}{_left_alone(report, watched)})"
        if news is not None:
            self._tell(at, news, url, level="info" if trouble is None else "warning")

    def _heed_network(self, report: "PollReport", host: str, pages: int) -> None:
        seen = report.result.observation
        told = self._outage.note(seen.page_id, host, seen.outcome, report.result.error, pages=pages)
        if told is not None:
            self._say(told)

    def _heed_redirect(
        self, report: "PollReport", url: str, watched: "Mapping[int, Watched]"
    ) -> None:
        seen = report.result.observation
        has_answer = seen.outcome in (Outcome.CHANGED, Outcome.UNCHANGED, Outcome.GONE)
        if has_answer and self._redirects.note(seen.page_id, report.answered_by, watched):
            known = f"redirects to {report.answered_by}, which is watched as well"
            removes = command(self._db, "remove", url)
            once = "what changes there is shown once, notices tell it of both"
            remedy = f"{once}; `{removes}` saves these polls"
            self._tell(seen.polled_at, f"{known} ({remedy})", url)

    def _tell_change(self, report: "PollReport", url: str, kind: ChangeKind) -> None:
        seen = report.result.observation
        content = report.result.memory.text_hash if kind.is_of_content else None
        if not self._redirects.tell(seen.page_id, content or kind.name):
            return
        if self._limit.is_over(seen.polled_at):
            self._tell_held_back()
        if not self._limit.lets_through(url):
            return
        status = report.result.status if kind is ChangeKind.GONE else None
        said = happened(kind, status) + (" back" if seen.reverted else "")
        note = "" if said == "changed" else said
        self._lines.tell(Change(seen.page_id, url, seen.polled_at, note, kind.is_of_content))

    def _tell_postponed(self, report: "PollReport", url: str) -> None:
        """Each reason is told once, and not all of them: a busy host has one of its own."""
        why = str(report.result.error)
        is_new = why not in self._reasons and len(self._reasons) < _MOST_REASONS
        if is_new or self._detail is Detail.polls:
            self._reasons.add(why)
            self._tell(report.result.observation.polled_at, f"postponed ({why})", url)

    def _count(self, first_copies: Set[int]) -> None:
        """Count first copies; say when all were asked for, where they get no line each."""
        self._never_seen -= first_copies
        self._copied += len(first_copies)
        asked_for_all = self._copied + len(self._never_seen) >= self._first_copies
        if not self._told_of_first_copies and asked_for_all:
            self._told_of_first_copies = True
            if self._first_copies and not self._quiet and not self._console.is_terminal:
                without = count(len(self._never_seen), "page")
                again = f"; {without} gave none, and will be tried again"
                self._say(self._first_copies_words() + (again if self._never_seen else ""))

    def _first_copies_words(self) -> str:
        return f"first copies: {self._copied:,} of {self._first_copies:,}"

    def _look_ahead(self, watched: "Mapping[int, Watched]") -> None:
        """Ask what comes next, for the live line."""
        if self._look is None or not self._console.is_terminal:
            return
        now = time.monotonic()
        if now - self._looked_at >= _LOOK_EVERY:
            self._looked_at = now
            self._ahead = self._look()
            coming = self._ahead.next_poll
            self._next_host = "" if coming is None else watched[coming.page_id].page.scope

    def _tell_held_back(self) -> None:
        """Say how many changes of which pages the limit on lines held back."""
        held_back = self._limit.take_held_back()
        limit = f"(at most {_MOST_LINES} a minute of each page)"
        named = sorted(held_back, key=lambda url: -held_back[url])[:_MOST_NAMED]
        for url in named:
            changes = count(held_back.pop(url), "more change")
            self._say(f"{changes} of {url} not shown {limit}")
        if held_back:
            changes = count(sum(held_back.values()), "more change")
            self._say(f"{changes} of {count(len(held_back), 'other page')} not shown {limit}")

    def _nobody_reads(self) -> None:
        if self._end is not None:
            self._end()

    def _say(self, text: str) -> None:
        self._print(text)

    def _line(self) -> str:
        return (
            f"{count(self._polls, 'poll')}, {count(self._changes, 'change')},"
            f" {len(self._troubles):,} failing or gone"
            + (f", {count(self._postponed, 'poll')} postponed" if self._postponed else "")
        )

    def _live_line(self) -> str:
        line = Text(f"{self._line()}; {self._ahead_words()}")
        line.truncate(self._console.width - _WIDTH_OF_SPINNER, overflow="ellipsis")
        return line.plain

    def _ahead_words(self) -> str:
        ahead = self._ahead
        if ahead is None:
            return "getting ready"
        if ahead.first_copies or ahead.compiling:
            return self._first_copies_words() + (", compiling" if ahead.compiling else "")
        if ahead.next_poll is None:
            return "pages rest or are being polled"
        if ahead.next_poll.host_is_polled:
            return f"waiting for {self._next_host} to answer"
        wait = self._looked_at + ahead.next_poll.wait - time.monotonic()
        return f"next: {self._next_host} " + (
            f"in {duration(math.ceil(wait))}" if wait > 0.5 else "now"
        )


def trouble_of(report: "PollReport") -> str | None:
    """What was wrong with a page, in words; None: nothing that its poll told."""
    result = report.result
    if result.observation.outcome is Outcome.GONE:
        return "gone" if result.status is None else f"gone ({result.status})"
    if result.error is None or result.observation.outcome is Outcome.POSTPONED:
        return None
    return f"failed ({result.error})"


def _left_alone(report: "PollReport", watched: "Mapping[int, Watched]") -> str:
    """What else waits as the host of a failed poll asked to be left alone; empty: nothing."""
    for notice in report.notices:
        at = report.result.observation.polled_at
        if isinstance(notice, HostBlocked) and notice.until - at >= _LONG:
            others = ", with all its pages"
            if len(watched) <= _MOST_COUNTED:
                pages = count_of_scope(watched, notice.scope)
                others = f", with its {pages:,} pages" if pages > 1 else ""
            return f"; {notice.scope} is left alone until {moment(notice.until)}{others}"
    return ""
