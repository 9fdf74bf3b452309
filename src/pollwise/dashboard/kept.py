"""What takes long to work out: made from a snapshot, and kept until there is a newer one."""

import asyncio
import logging
import math
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Generic, TypeVar

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.pacing import Pacing
from pollwise.insight.snapshot import Snapshot

__all__ = ["Kept"]

_PATIENCE = 0.2
"""Seconds that a view waits for it."""

_log = logging.getLogger(__name__)

T = TypeVar("T")


def _is_never_urgent(value: T, snapshot: Snapshot) -> bool:
    return False


class Kept(Generic[T]):
    """The latest value that `make` gave for a snapshot, perhaps for an earlier one.

    It is made anew when it is asked for, as often as its `Pacing` allows; more often where it
    `is_urgent` to have a value of this snapshot instead of that one. Whoever asks for the first one
    waits for up to `first_patience` seconds. Views are told when a value is there for which one of
    them did not wait.
    """

    def __init__(
        self,
        answers: Answers,
        make: Callable[[Snapshot], T],
        *,
        first_patience: float = _PATIENCE,
        is_urgent: Callable[[T, Snapshot], bool] = _is_never_urgent,
    ) -> None:
        self._answers = answers
        self._first_patience = first_patience
        self._make = make
        self._is_urgent = is_urgent
        self._value: T | None = None
        self._made_of: Snapshot | None = None
        self._making: asyncio.Task[None] | None = None
        self._is_outdated = False
        self._pacing = Pacing()

    async def latest(self, *, oldest: float = math.inf, patience: float = 0.0) -> T | None:
        """The value as it is known now; None: none is there yet, it is being made.

        For one that is not `oldest` seconds old it waits up to `patience` seconds.
        """
        give_up_at = time.monotonic() + patience
        snapshot = await self._answers.snapshot(oldest=oldest, patience=patience)
        if self._making is None and snapshot is not self._made_of and self._is_due(snapshot):
            self._making = asyncio.create_task(self._renew(snapshot))
        if self._making is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience(oldest, give_up_at)):
                    await asyncio.shield(self._making)
        return self._value

    def outdate(self) -> None:
        """Have it made anew when it is asked for next, however much time that takes."""
        self._is_outdated = True

    def _is_due(self, snapshot: Snapshot) -> bool:
        if self._value is None or self._is_outdated:
            return True
        return self._pacing.rest(hurried=self._is_urgent(self._value, snapshot)) <= 0

    def _patience(self, oldest: float, give_up_at: float) -> float:
        if self._value is None or self._made_of is None:
            return self._first_patience
        is_old = time.time() - self._made_of.read_at > oldest
        return max(give_up_at - time.monotonic(), _PATIENCE) if is_old else _PATIENCE

    async def _renew(self, snapshot: Snapshot) -> None:
        begun = time.monotonic()
        self._is_outdated = False
        try:
            self._value = await self._pacing.work(partial(self._make, snapshot))
        except Exception:
            # Nobody may wait for it any more: it would be lost.
            _log.exception("a part of the dashboard could not be worked out")
        self._made_of, self._making = snapshot, None
        if time.monotonic() - begun > _PATIENCE:
            self._answers.tell()
