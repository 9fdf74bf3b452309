"""Polls that were begun and not yet reported."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pollwise.events import Command, Poll, WakeAt
from pollwise.store.records import PollResult
from pollwise.types import Outcome, Page, has_same_parts
from pollwise.watched_pages import Watched
from pollwise.web.noise.by_hand import MaskChange
from pollwise.web.poll_reports import PollReport
from pollwise.web.poller import BegunPoll, Poller

__all__ = ["MANY", "UnderWay"]

MANY = 8
"""A turn is not put off once one in so many of the polls under way has ended, or looks for noise.
Those that look do not count: they take long, and their hosts are free meanwhile."""
_OTHER_PARTS = "other parts of the page count than when it was asked for"


class UnderWay:
    """The polls that were begun and not yet reported, in the order of their start."""

    def __init__(self, poller: Poller, watched: Mapping[int, Watched]) -> None:
        self._poller = poller
        self._watched = watched
        self.polls: dict[asyncio.Future[PollReport], Page] = {}
        """The pages as they were when their polls began, by these; to be read."""
        self.error: BaseException | None = None
        """What the first poll raised that did not report."""
        self._looking: set[asyncio.Future[PollReport]] = set()
        self._remasked: dict[int, list[MaskChange]] = {}
        """What was changed of the masks of pages while they were polled, by id."""
        self._ended = 0
        self._news: asyncio.Future[None]
        self._many: asyncio.Future[None]
        self._look_anew()

    def obey(self, commands: Sequence[Command]) -> float:
        """Begin the polls that are commanded; the time at which the scheduler wants a `Tick`.

        None begins any more once there is an `error`.
        """
        wake_at = 0.0
        for command in commands:
            match command:
                case Poll(page_id) if self.error is None:
                    own = self._watched[page_id]
                    poll = self._poller.poll(own.page, own.memory)
                    if isinstance(poll, BegunPoll):
                        poll.tell_end(self._note_end)
                    else:
                        poll = asyncio.ensure_future(poll)
                        poll.add_done_callback(self._note_end)
                    self.polls[poll] = own.page
                case WakeAt(time):
                    wake_at = time
        return wake_at

    def remask(self, change: MaskChange) -> None:
        """Note what somebody has changed of the masks of a page, which a poll does not know of."""
        if any(page.id == change.page_id for page in self.polls.values()):
            self._remasked.setdefault(change.page_id, []).append(change)

    def looks(self, page_id: int) -> None:
        """Note that the poll of a page has its answer, and goes on to look for noise."""
        self._looking |= {poll for poll, page in self.polls.items() if page.id == page_id}

    @property
    def awaited(self) -> int:
        """The polls that were not taken out yet, but for those that look for noise."""
        return len(self.polls) - len(self._looking)

    def _look_anew(self) -> None:
        loop = asyncio.get_running_loop()
        self._ended, self._news, self._many = 0, loop.create_future(), loop.create_future()

    def _note_end(self, poll: asyncio.Future[PollReport]) -> None:
        if poll not in self.polls:  # it was taken out already
            return
        self._ended += 1
        if self._ended == 1:
            self._news.set_result(None)
        if not self._many.done() and self._ended * MANY >= self.awaited:
            self._many.set_result(None)

    def news(self) -> asyncio.Future[None]:
        """What is done when a poll has ended since those that ended were taken out."""
        return self._news

    def many(self) -> asyncio.Future[None]:
        """What is done when many have."""
        return self._many

    def ended(self) -> tuple[PollReport, ...]:
        """Take out the polls that have ended; the reports of those that raised no error."""
        self._look_anew()
        done = [poll for poll in self.polls if poll.done()]
        reports = [self._report(poll) for poll in done]
        return tuple([report for report in reports if report is not None])

    async def cut_short(self) -> tuple[PollReport, ...]:
        """End all polls now; the reports of those that had their answer already."""
        for poll in self.polls:
            poll.cancel()
        await asyncio.gather(*self.polls, return_exceptions=True)
        self.polls = {poll: page for poll, page in self.polls.items() if not poll.cancelled()}
        return self.ended()

    def _report(self, poll: asyncio.Future[PollReport]) -> PollReport | None:
        """The report of a poll; as of a postponed one if other parts of the page count by now.

        None if it raised an error, which is kept if it is the first.
        """
        asked = self.polls.pop(poll)
        self._looking.discard(poll)
        try:
            report = poll.result()
        except BaseException as error:
            self.error = self.error or error
            return None
        own = self._watched.get(asked.id)
        changes = self._remasked.pop(asked.id, ())
        if own is None or asked is own.page or has_same_parts(asked, own.page):
            memory = report.result.memory
            for change in changes:
                memory = change.applied(memory)
            # By identity: to compare the items of a long list takes as long as to write them.
            is_same = own is not None and bool(memory.items) and memory.items is own.memory.items
            if not (changes or is_same):
                return report
            result = replace(report.result, memory=memory, same_items=is_same)
            return replace(report, result=result)
        observation = replace(report.result.observation, outcome=Outcome.POSTPONED)
        return replace(report, result=PollResult(observation, own.memory, error=_OTHER_PARTS))
