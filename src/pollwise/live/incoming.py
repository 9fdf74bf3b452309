"""Events that come to a run from outside: its loop takes them in between the polls."""

import asyncio
from collections.abc import Iterable

from pollwise.events import Event

__all__ = ["Incoming"]


class Incoming:
    """Events for the loop of a run, put and taken on its event loop."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._error: BaseException | None = None
        self._arrived: asyncio.Future[None] | None = None

    def put(self, events: Iterable[Event]) -> None:
        """Hand over events that happened, in their order."""
        self._events += events
        if self._events and self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)

    def fail(self, error: BaseException) -> None:
        """Have the loop end with this error."""
        self._error = error
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)

    def take(self) -> tuple[Event, ...]:
        """The events that wait, which are then the caller's; raises what `fail` was told."""
        if self._error is not None:
            raise self._error
        events, self._events = tuple(self._events), []
        return events

    def arrived(self) -> asyncio.Future[None]:
        """What is done when events wait."""
        waits = bool(self._events) or self._error is not None
        if self._arrived is None or (self._arrived.done() and not waits):
            self._arrived = asyncio.get_running_loop().create_future()
            if waits:
                self._arrived.set_result(None)
        return self._arrived
