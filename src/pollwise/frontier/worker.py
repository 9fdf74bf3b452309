"""A thread that carries out work for the event loop, one piece after the other."""

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, TypeVar

__all__ = ["Worker"]

T = TypeVar("T")
_MOST_TOGETHER = 64


class Worker:
    """Does what it is given within `transaction`: all that waits, together.

    So one commit is for all who wait for it. If it fails, each piece is tried once more in a
    transaction of its own, and fails by itself.
    """

    def __init__(
        self, name: str, transaction: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        self._transaction = transaction
        self._pieces: queue.SimpleQueue[_Piece | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    async def do(self, work: Callable[[], T]) -> T:
        """Have something done; its result, or its error."""
        loop = asyncio.get_running_loop()
        piece = _Piece(work, loop, loop.create_future())
        self._pieces.put(piece)
        result: T = await piece.future
        return result

    def close(self) -> None:
        """Finish what waits, and end."""
        self._pieces.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (first := self._pieces.get()) is not None:
            together, is_last = [first], False
            with suppress(queue.Empty):
                while len(together) < _MOST_TOGETHER and not is_last:
                    piece = self._pieces.get_nowait()
                    if piece is None:
                        is_last = True
                    else:
                        together.append(piece)
            if not self._try(together) and len(together) > 1:
                for piece in together:
                    self._try([piece])
            if is_last:
                return

    def _try(self, pieces: "list[_Piece]") -> bool:
        """Do pieces in one transaction; a single one is told of its error."""
        try:
            with self._transaction():
                results = [piece.work() for piece in pieces]
        except Exception as error:  # whose piece it is has to deal with it
            if len(pieces) == 1:
                pieces[0].end(None, error)
            return False
        for piece, result in zip(pieces, results, strict=True):
            piece.end(result, None)
        return True


class _Piece:
    """A piece of work, and who waits for it."""

    def __init__(
        self,
        work: Callable[[], Any],
        loop: asyncio.AbstractEventLoop,
        future: "asyncio.Future[Any]",
    ) -> None:
        self.work = work
        self.future = future
        self._loop = loop

    def end(self, result: Any, error: Exception | None) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._set, result, error)

    def _set(self, result: Any, error: Exception | None) -> None:
        if not self.future.done():
            if error is None:
                self.future.set_result(result)
            else:
                self.future.set_exception(error)
