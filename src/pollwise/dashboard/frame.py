"""What stands around every page: where one is, whether it polls, and of when it all is."""

import time
from dataclasses import dataclass
from enum import StrEnum

from starlette.requests import Request

from pollwise.boot_clock import seconds_since_boot
from pollwise.dashboard.answers import Answers
from pollwise.dashboard.stopped import Stopped
from pollwise.insight.snapshot import Snapshot
from pollwise.insight.words import moment
from pollwise.live.run_figures import RunFigures
from pollwise.settings import CollectSettings, Settings, WatchSettings
from pollwise.version import __version__

__all__ = ["Frame", "PollingState", "frame_of", "polling_state"]

_SILENT = 10.0
"""Seconds without a word, after which the process that polls seems to hang."""


class PollingState(StrEnum):
    """Whether pages are polled; the values are names of classes in the style sheet."""

    polling = "polling"
    compiling = "compiling"
    quiet = "quiet"
    silent = "silent"
    """The process that polls says nothing."""
    stopped = "stopped"
    """It cannot go on, and is tried again."""
    off = "off"
    """Nothing here polls."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What the layout shows; `path` is that of the present page.

    `state_words` say what the `state` is, `since` (UTC seconds) since when, if that matters;
    `stopped` why nothing is polled, if something was to be, and `first_copies` when those of new
    pages are fetched, in a sentence. It all is as of `as_of`, the `snapshot`-th that was read.
    """

    database: str
    path: str
    is_collection: bool
    state: PollingState
    state_words: str
    since: float | None
    as_of: float
    snapshot: int
    latest_change: int
    stopped: Stopped | None
    first_copies: str
    version: str = __version__


async def frame_of(answers: Answers, request: Request) -> Frame:
    """The frame of a page that answers this request.

    To be asked for before all else that the page shows: what is newer than the frame is loaded anew
    by the page, what is older would be taken to be of its time.
    """
    snapshot = await answers.snapshot()
    return _frame(answers, snapshot, request.url.path)


def _frame(answers: Answers, snapshot: Snapshot, path: str) -> Frame:
    state, words, since = polling_state(answers.figures, snapshot.settings, time.time())
    if answers.stopped is not None:
        state, words, since = PollingState.stopped, answers.stopped.state, answers.stopped.since
    return Frame(
        database=snapshot.database.name,
        path=path,
        is_collection=isinstance(snapshot.settings, CollectSettings),
        state=state,
        state_words=words,
        since=since,
        as_of=snapshot.read_at,
        snapshot=answers.snapshots,
        latest_change=snapshot.latest_change,
        stopped=answers.stopped,
        first_copies=_first_copies(state, snapshot.settings, time.time()),
    )


def _first_copies(state: PollingState, settings: Settings | None, now: float) -> str:
    """When first copies of pages that are added now are fetched."""
    until = settings.quiet_hours().end(now) if isinstance(settings, WatchSettings) else None
    if state in (PollingState.off, PollingState.stopped):
        return "First copies are fetched as soon as a process polls."
    if until is not None:
        return f"First copies are fetched after the quiet hours, from {moment(until)} (UTC) on."
    return "First copies are fetched in a moment."


def polling_state(
    figures: RunFigures | None, settings: Settings | None, now: float
) -> tuple[PollingState, str, float | None]:
    """Whether pages are polled, in words, and since when if that matters."""
    if figures is None:
        return PollingState.off, "Not polling: this process only answers", None
    if seconds_since_boot() - figures.uptime > _SILENT:  # the machine's clock may have been set
        return PollingState.silent, "The process that polls says nothing since", figures.at
    if figures.compiling:
        words = "Getting ready: first copies are fetched, learning starts in about half a minute"
        return PollingState.compiling, words, None
    if figures.quiet and isinstance(settings, WatchSettings):
        until = settings.quiet_hours().end(now)
        words = "no poll begins" if until is None else f"no poll begins until {moment(until)} (UTC)"
        return PollingState.quiet, f"Quiet hours: {words}", None
    return PollingState.polling, "Polling", None
