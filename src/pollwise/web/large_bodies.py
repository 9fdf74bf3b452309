"""A bound on the memory of large bodies: only a few may be held at a time."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack

from pollwise.errors import PostponedError

__all__ = ["LargeBodies", "Release", "release_nothing"]

Release = Callable[[], None]
"""Gives the place of a large body back; call it when the body is held no more. Further calls do
nothing."""


def release_nothing() -> None:
    """The `Release` of what has no place."""


class LargeBodies:
    """So many places for large bodies; `longest_wait` for one is in seconds."""

    def __init__(self, places: int, *, longest_wait: float) -> None:
        self._free = asyncio.Semaphore(places)
        self._longest_wait = longest_wait

    async def take_place(self) -> Release:
        """Wait for a place; `PostponedError` if that takes too long."""
        try:
            async with asyncio.timeout(self._longest_wait):
                await self._free.acquire()
        except TimeoutError:
            raise PostponedError(
                f"too many large bodies at once: no room within {self._longest_wait:g} s"
            ) from None
        place = ExitStack()
        place.callback(self._free.release)
        return place.close
