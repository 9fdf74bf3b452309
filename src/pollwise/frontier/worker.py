"""A thread that carries out work for the event loop, one piece after the other."""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, TypeVar

__all__ = ["Worker"]

T = TypeVar("T")
_Transaction = Callable[[], AbstractContextManager[None]]
_LONGEST = 0.05
"""Seconds for one transaction, after which what still waits has another one."""


class Worker:
    """Does what it is given within `transaction`: all that waits, together.

    So one commit is for all who wait for it. If it fails, each piece is tried once more in a
    transaction of its own, and fails by itself. Without a `transaction` each piece is done once:
    nothing of it would be taken back.
    """

    def __init__(self, name: str, transaction: _Transaction | None = None) -> None:
        self._transaction = transaction
        self._pieces: queue.SimpleQueue[_Piece | None] = queue.SimpleQueue()
        self._is_closing = False
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
        while not self._is_closing and (first := self._pieces.get()) is not None:
            if self._transaction is None:
                _alone(first, nullcontext)
            else:
                self._together(first, self._transaction)

    def _together(self, first: "_Piece", transaction: _Transaction) -> None:
        """Do a piece and what waits in one transaction."""
        pieces: list[_Piece] = []
        results: list[Any] = []
        try:
            with transaction():
                for piece in self._waiting(first):
                    pieces.append(piece)
                    results.append(piece.work())
        except Exception:  # whose piece it is has to deal with it
            for piece in pieces or [first]:
                _alone(piece, transaction)
        else:
            for piece, result in zip(pieces, results, strict=True):
                piece.end(result, None)

    def _waiting(self, first: "_Piece") -> Iterator["_Piece"]:
        """This piece and all that wait, but not for long: who is done waits for the last one."""
        until = time.monotonic() + _LONGEST
        piece: _Piece | None = first
        while piece is not None:
            yield piece
            if time.monotonic() >= until:
                return
            try:
                piece = self._pieces.get_nowait()
            except queue.Empty:
                return
        self._is_closing = True


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


def _alone(piece: _Piece, transaction: _Transaction) -> None:
    """Do one piece in a transaction of its own."""
    try:
        with transaction():
            result = piece.work()
    except Exception as error:  # for whoever waits for it
        piece.end(None, error)
    else:
        piece.end(result, None)
