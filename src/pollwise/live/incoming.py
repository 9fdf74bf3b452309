"""What comes to a run from outside, which its loop takes between polls: events, masks, errors."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

from pollwise.events import Event
from pollwise.web.noise.by_hand import MaskChange

__all__ = ["Incoming"]


class Incoming:
    """Events for the loop of a run, put and taken on its event loop."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._remasked: list[MaskChange] = []
        self._error: BaseException | None = None
        self._arrived: asyncio.Future[None] | None = None

    def put(self, events: Iterable[Event]) -> None:
        """Hand over events that happened, in their order."""
        self._events += events
        self._tell()

    def remask(self, change: MaskChange) -> None:
        """Hand over what somebody has changed of the masks of a page."""
        self._remasked.append(change)
        self._tell()

    def begin(self, beside: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begin what runs beside the loop; what it raises ends the loop, too."""
        task = asyncio.ensure_future(beside)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or task.exception() is None:
            return
        self._error = task.exception()
        self._tell()

    def _tell(self) -> None:
        if self._waits and self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)

    @property
    def _waits(self) -> bool:
        return bool(self._events or self._remasked) or self._error is not None

    def take(self) -> tuple[Event, ...]:
        """The events that wait, which are then the caller's; raises what ended the loop."""
        if self._error is not None:
            raise self._error
        events, self._events = tuple(self._events), []
        return events

    def take_remasked(self) -> tuple[MaskChange, ...]:
        """The changes of masks that wait, which are then the caller's."""
        changes, self._remasked = tuple(self._remasked), []
        return changes

    def arrived(self) -> asyncio.Future[None]:
        """What is done when something waits."""
        if self._arrived is None or (self._arrived.done() and not self._waits):
            self._arrived = asyncio.get_running_loop().create_future()
            if self._waits:
                self._arrived.set_result(None)
        return self._arrived
