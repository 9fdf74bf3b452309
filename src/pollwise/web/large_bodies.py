"""A bound on the memory of large bodies: only a few polls may have one at a time."""

import asyncio
import weakref

from pollwise.errors import PostponedError

__all__ = ["LargeBodies"]


class LargeBodies:
    """Places for polls whose answers are large.

    A poll (an `asyncio.Task`) that has taken a place keeps it until nobody holds the task any more:
    only then has its result, which has the body, been taken over. `longest_wait` is in seconds.
    """

    def __init__(self, places: int, *, longest_wait: float) -> None:
        self._free = asyncio.Semaphore(places)
        self._longest_wait = longest_wait
        self._places: weakref.WeakSet[asyncio.Task[object]] = weakref.WeakSet()

    async def take_place(self) -> None:
        """Wait for a place for the poll under way; `PostponedError` if that takes too long."""
        poll = asyncio.current_task()
        if poll is None or poll in self._places:
            return
        try:
            async with asyncio.timeout(self._longest_wait):
                await self._free.acquire()
        except TimeoutError:
            raise PostponedError(
                f"too many large bodies at once: no room within {self._longest_wait:g} s"
            ) from None
        self._places.add(poll)
        leave = weakref.finalize(poll, _leave, asyncio.get_running_loop(), self._free)
        leave.atexit = False


def _leave(loop: asyncio.AbstractEventLoop, free: asyncio.Semaphore) -> None:
    """Give a place back; garbage may be collected in any thread, and after the loop's end."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(free.release)
