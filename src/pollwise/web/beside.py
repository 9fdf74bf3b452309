"""Work that takes long, done by another process: the loop that fetches goes on meanwhile.

A thread would not do. Regular expressions hold Python's lock for as long as they run, and what they
are run on is up to strangers.
"""

import asyncio
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, Self, TypeVar

from pollwise.child_processes import without_interrupts
from pollwise.errors import PostponedError

__all__ = ["Beside"]

T = TypeVar("T")


class Beside:
    """Another process, as an asynchronous context manager; it begins with the first call.

    It calls one function at a time, in the order in which they come.
    """

    def __init__(self) -> None:
        # What the functions are given may be large: it is handed over by a thread.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="beside")
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None
        self._ended = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._ended = True
        self._thread.shutdown(wait=False, cancel_futures=True)
        # The thread finds the other end closed, whatever it is doing.
        if self._process is not None:
            self._process.kill()

    async def call(
        self, function: Callable[..., T], *arguments: Any, within: float | None = None
    ) -> T:
        """What the function gives there; it and all values must be fit for pickling.

        What the function raises is raised here, as `RuntimeError` if it is unfit for pickling.
        `PostponedError` if the process has died, as one does that gets no memory; the next call
        begins another. `TimeoutError` if the function takes more than `within` seconds once its
        turn has come: it is ended.
        """
        loop = asyncio.get_running_loop()
        ask = partial(self._ask, function, arguments, within)
        raised, value = await loop.run_in_executor(self._thread, ask)
        if raised is not None:
            raise raised
        answer: T = value
        return answer

    def _ask(
        self, function: Callable[..., Any], arguments: Any, within: float | None
    ) -> tuple[Exception | None, Any]:
        try:
            connection = self._connected()
            connection.send((function, arguments))
            if not connection.poll(within):
                self._disconnect()
                return TimeoutError(), None
            answer: tuple[Exception | None, Any] = connection.recv()
        except (EOFError, OSError) as error:
            self._disconnect()
            raise PostponedError("the process that reads large pages has died") from error
        return answer

    def _connected(self) -> Connection:
        if self._connection is None:
            if self._ended:
                raise EOFError
            # Spawned, since a process forked while another thread holds a lock may hang.
            context = multiprocessing.get_context("spawn")
            ours, theirs = context.Pipe()
            process = context.Process(target=_answer, args=(theirs,), daemon=True)
            with theirs:  # closed here, the pipe breaks when the process dies
                try:
                    with without_interrupts():
                        process.start()
                except BaseException:
                    ours.close()
                    raise
            self._connection, self._process = ours, process
            if self._ended:  # meanwhile, when there was no process to kill yet
                process.kill()
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None and self._process is not None:
            self._connection.close()
            self._process.kill()
            self._process.join()
        self._connection = self._process = None


def _answer(connection: Connection) -> None:
    """The other process: call what is asked for, until the one that asks has gone."""
    while True:
        try:
            function, arguments = connection.recv()
        except EOFError:
            return
        answer: tuple[Exception | None, Any]
        try:
            answer = None, function(*arguments)
        except Exception as error:  # it is raised where the call was made
            answer = _fit(error), None
        connection.send(answer)


def _fit(error: Exception) -> Exception:
    """An error that can be sent and received."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # pickling raises whatever comes
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
