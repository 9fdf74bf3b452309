"""What takes long to work out: made from a snapshot, and kept until there is a newer one."""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from pollwise.dashboard.answers import Answers
from pollwise.insight.snapshot import Snapshot

__all__ = ["Kept"]

_PATIENCE = 0.2
"""Seconds that a view waits for it."""
_SHARE = 0.2
"""The greatest share of the time to spend on making it anew."""

_log = logging.getLogger(__name__)

T = TypeVar("T")


class Kept(Generic[T]):
    """The latest value that `make` gave for a snapshot, perhaps for an earlier one.

    It is made anew when it is asked for, in at most a fifth of the time; whoever asks for the first
    one waits for up to `first_patience` seconds. Views are told when a
    value is there for which one of them did not wait.
    """

    def __init__(
        self, answers: Answers, make: Callable[[Snapshot], T], *, first_patience: float = _PATIENCE
    ) -> None:
        self._answers = answers
        self._first_patience = first_patience
        self._make = make
        self._value: T | None = None
        self._made_of: Snapshot | None = None
        self._making: asyncio.Task[None] | None = None
        self._rests_until = 0.0

    async def latest(self) -> T | None:
        """The value as it is known now; None: none is there yet, it is being made."""
        snapshot = await self._answers.snapshot()
        is_due = self._value is None or time.monotonic() >= self._rests_until
        if is_due and snapshot is not self._made_of and self._making is None:
            self._making = asyncio.create_task(self._renew(snapshot))
        if self._making is not None:
            with suppress(TimeoutError):
                patience = self._first_patience if self._value is None else _PATIENCE
                async with asyncio.timeout(patience):
                    await asyncio.shield(self._making)
        return self._value

    def outdate(self) -> None:
        """Have it made anew when it is asked for next, however much time that takes."""
        self._rests_until = 0.0

    async def _renew(self, snapshot: Snapshot) -> None:
        begun = time.monotonic()
        try:
            self._value = await asyncio.to_thread(self._make, snapshot)
        except Exception:
            # Nobody may wait for it any more: it would be lost.
            _log.exception("a part of the dashboard could not be worked out")
        taken = time.monotonic() - begun
        self._made_of, self._making = snapshot, None
        self._rests_until = time.monotonic() + taken / _SHARE - taken
        if taken > _PATIENCE:
            self._answers.tell()
