"""What happens to a run besides its polls: what users do, other staff, a policy that is ready."""

import asyncio
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import replace

from pollwise.events import Event, HostFreed, PolicyReady, Staffed
from pollwise.live.clock import Clock
from pollwise.live.incoming import Incoming
from pollwise.live.progress import Progress, heeded, remask
from pollwise.live.under_way import UnderWay
from pollwise.watched_pages import Watched

__all__ = ["News"]

_STAFF_PERIOD = 1.0
"""Seconds after which the staff is asked for again, though nothing has happened."""


class News:
    """The news for the loop of a run. `staff`, `policy_ready` and `incoming`: see `loop.run`."""

    def __init__(
        self,
        under_way: UnderWay,
        watched: MutableMapping[int, Watched],
        clock: Clock,
        incoming: Incoming,
        *,
        staff: Callable[[], int] | None,
        policy_ready: asyncio.Future[None] | None,
    ) -> None:
        self._under_way = under_way
        self._watched = watched
        self._clock = clock
        self._incoming = incoming
        self._staff = staff
        self._staffed: int | None = None
        self._policy_ready = policy_ready
        """None: the policy is ready, and the scheduler knows it."""
        self._remasked: set[int] = set()

    def take(self) -> Iterator[Event]:
        """The events for the scheduler, each heeded when it is asked for."""
        if self._staff is not None and (wanted := self._staff()) != self._staffed:
            self._staffed = wanted
            yield Staffed(self._clock(), wanted)
        if self._policy_ready is not None and self._policy_ready.done():
            self._policy_ready.result()
            self._policy_ready = None
            yield PolicyReady(self._clock())
        for event in heeded(self._incoming.take(), self._watched, self._clock()):
            if isinstance(event, HostFreed):
                self._under_way.looks(event.page_id)
            yield event
        for change in self._incoming.take_remasked():
            if change.page_id in self._watched:
                remask(self._watched, change)
                self._under_way.remask(change)
                self._remasked.add(change.page_id)

    def told(self, turn: Progress, events: Sequence[Event]) -> Progress:
        """A turn with its events, and what is remembered of pages with other masks."""
        memories = {
            one: self._watched[one].memory for one in self._remasked if one in self._watched
        }
        self._remasked.clear()
        return replace(turn, events=tuple(events), remembered=memories)

    def has_come(self) -> bool:
        """Whether there is something to take."""
        if self._staff is not None and self._staff() != self._staffed:
            return True
        return any(one.done() for one in self.awaited())

    def awaited(self) -> list[asyncio.Future[None]]:
        """One of these is done when there is something to take, unless it is other staff."""
        ready = [] if self._policy_ready is None else [self._policy_ready]
        return [*ready, self._incoming.arrived()]

    def look_at(self, wake_at: float) -> float:
        """When to look again whether news have come, for a loop that would wake at this time."""
        return wake_at if self._staff is None else min(wake_at, self._clock() + _STAFF_PERIOD)
