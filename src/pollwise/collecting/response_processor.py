"""The response processor with its response queue: work on fetched documents in other processes.

O'Meara and Patel, "A topic-specific Web robot model based on restless bandits" (IEEE Internet
Computing 5(2), 2001), figure 2. The loop that fetches never waits for a parser: responses wait in
one queue, first come, first served, for worker processes that take one at a time. A worker that
takes too long or dies is replaced, and the result of its response says so. If it died before it
took the response, which then is not to blame, the next worker gets that. So does a response that
comes after a start has failed.

What the fetcher controller needs to know is measured here, without decisions.
"""

import asyncio
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from pollwise.checks import require_positive, require_whole
from pollwise.collecting.response_worker import LENGTH_BYTES, Response, Setup, framed
from pollwise.errors import InputError

__all__ = ["ProcessingFailed", "ProcessorLoad", "Response", "ResponseProcessor"]

T = TypeVar("T")

_START_LIMIT = 60.0  # seconds until a new worker must have imported its work
_END_LIMIT = 1.0  # seconds until a process that closed its pipes must have ended
_PIPE_BYTES = 2**20
_NEWEST_WEIGHT = 0.05  # of the latest page in `processing_time`: about twenty pages count
_PROGRAM = "from pollwise.collecting.response_worker import main; main()"


@dataclass(frozen=True, slots=True)
class ProcessingFailed:
    """The result of a response that could not be worked on: why, in one line."""

    reason: str

    def __str__(self) -> str:
        return self.reason


_STOPPED = ProcessingFailed("the response processor was stopped")


@dataclass(frozen=True, slots=True)
class ProcessorLoad:
    """What a processor did from its start until now; times in seconds.

    `processing_time` is the exponentially weighted mean of the time that a worker takes for one
    response, handing over included (None: none is done; those that ended their worker do not
    count). `idle` is the time, summed over workers, without work; `busy` is the rest of
    `workers * elapsed`. `queued` responses wait now, `mean_queued` did on average. `processed`
    counts the results, `failed` those that are `ProcessingFailed`.
    """

    elapsed: float
    busy: float
    idle: float
    processing_time: float | None
    queued: int
    mean_queued: float
    processed: int
    failed: int


class ResponseProcessor(Generic[T]):
    """Calls `work` with responses in `workers` other processes; use it with `async with`.

    `work` and its results go through pipes, so both must be picklable: `work` a function of an
    importable module, or a `functools.partial` of one. One response may take `time_limit` seconds,
    a worker `memory_limit` bytes of address space. `clock` gives seconds, for measurements only.
    `InputError` for values out of range, and on entering if a worker cannot load `work`.
    """

    def __init__(
        self,
        work: Callable[[Response], T],
        *,
        workers: int = 1,
        time_limit: float = 10.0,
        memory_limit: int = 2**30,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        require_whole("response processor", "workers", workers, least=1)
        require_positive("response processor", "time_limit", time_limit)
        require_whole("response processor", "memory_limit", memory_limit, least=2**26)
        try:
            pickled = pickle.dumps(work)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InputError(
                f"response processor: work={work!r} cannot be sent to a worker process ({error});"
                " give a function that is defined at the top of a module"
            ) from error
        self._setup = Setup(pickled, float(time_limit), memory_limit)
        self._workers = workers
        self._clock = clock
        self._queue: asyncio.Queue[_Waiting[T]] = asyncio.Queue()
        self._tenders: list[asyncio.Task[None]] = []
        self._running: set[_Worker] = set()
        self._started_at = clock()
        self._queued = _Level(clock)
        self._idle = _Level(clock)
        self._processing_time: float | None = None
        self._processed = 0
        self._failed = 0

    async def __aenter__(self) -> Self:
        ready = [asyncio.get_running_loop().create_future() for _ in range(self._workers)]
        self._tenders = [asyncio.create_task(self._tend(each)) for each in ready]
        try:
            await asyncio.gather(*ready)
        except BaseException:
            await self._stop()
            raise
        self._started_at = self._clock()
        self._idle.restart()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stop()

    async def process(self, response: Response) -> T | ProcessingFailed:
        """What `work` makes of a response, once its turn has come; the queue is unbounded.

        `ProcessingFailed` if `work` raises, its worker dies or the processor ends. If the caller
        is cancelled while the response waits, it is not worked on. What is a bug of ours, such as
        a result that cannot be read here, is raised.
        """
        if all(tender.done() for tender in self._tenders):
            raise RuntimeError("this ResponseProcessor is not open; use it within `async with`")
        waiting = _Waiting[T](response)
        self._queue.put_nowait(waiting)
        self._queued.change(+1)
        return await waiting.result

    @property
    def queued(self) -> int:
        """How many responses wait for a worker."""
        return self._queued.level

    @property
    def processing_time(self) -> float | None:
        """See `ProcessorLoad`."""
        return self._processing_time

    @property
    def load(self) -> ProcessorLoad:
        """The measurements until now."""
        elapsed = self._clock() - self._started_at
        idle = self._idle.integral()
        return ProcessorLoad(
            elapsed=elapsed,
            busy=self._workers * elapsed - idle,
            idle=idle,
            processing_time=self._processing_time,
            queued=self.queued,
            mean_queued=self._queued.integral() / elapsed if elapsed > 0 else float(self.queued),
            processed=self._processed,
            failed=self._failed,
        )

    async def _stop(self) -> None:
        tenders, self._tenders = self._tenders, []
        for tender in tenders:
            tender.cancel()
        ended = await asyncio.gather(*tenders, return_exceptions=True)
        for worker in [*self._running]:  # their tenders were cancelled while ending them
            await worker.end()
        self._running.clear()
        while not self._queue.empty():
            self._queue.get_nowait().settle(_STOPPED)
            self._queued.change(-1)
        for error in ended:
            if isinstance(error, Exception):  # tenders only end when they are cancelled
                raise error

    async def _tend(self, ready: asyncio.Future[None]) -> None:
        """Keep one worker at work, and start another when it has ended."""
        # The response that the worker before had not taken when it ended.
        left: _Waiting[T] | None = None
        while True:
            try:
                worker = await _started()
                self._running.add(worker)
                try:
                    await worker.load(self._setup)
                    if not ready.done():
                        ready.set_result(None)
                    left = await self._feed(worker, left)
                finally:
                    await worker.end()
                    self._running.discard(worker)
            except (OSError, InputError) as error:
                if not ready.done():
                    ready.set_exception(error)
                    return
                if left is None:
                    left = await self._next()  # for which another start is tried
                    continue
                waiting, left = left, None
                self._finish(waiting, ProcessingFailed(f"no worker could be started: {error}"))
            except asyncio.CancelledError:
                if left is not None:
                    left.settle(_STOPPED)
                raise
            except Exception as error:  # ours: without a tender whoever waits would wait for ever
                if not ready.done():
                    ready.set_exception(error)
                    return
                waiting, left = await self._next() if left is None else left, None
                waiting.fail(error)

    async def _feed(self, worker: "_Worker", left: "_Waiting[T] | None") -> "_Waiting[T] | None":
        """Give the worker one response after another until it must be replaced; first that `left`.

        Gives the response that it had not taken when it ended, for the next worker. None: it had,
        or it was the second that ended so, which may be no chance.
        """
        while True:
            is_first = left is None or left.result.done()  # by then nobody waits for it
            waiting = await self._next() if left is None or is_first else left
            left = None
            try:
                result = await self._worked_on(worker, waiting.response)
            except _WorkerLostError as error:
                if is_first and not error.had_begun:
                    return waiting
                self._finish(waiting, ProcessingFailed(str(error)))
                return None
            except asyncio.CancelledError:
                waiting.settle(_STOPPED)
                raise
            except Exception as error:  # ours, not that of the response
                waiting.fail(error)
                return None
            self._finish(waiting, result)

    async def _worked_on(self, worker: "_Worker", response: Response) -> T | ProcessingFailed:
        began = self._clock()
        try:
            async with asyncio.timeout(self._setup.time_limit):
                succeeded, value = await worker.ask(pickle.dumps(response))
        except TimeoutError as error:
            why = f"took longer than {self._setup.time_limit:g} s"
            raise _WorkerLostError(why, had_begun=True) from error
        took = self._clock() - began
        before = took if self._processing_time is None else self._processing_time
        self._processing_time = before + _NEWEST_WEIGHT * (took - before)
        return value if succeeded else ProcessingFailed(value)

    def _finish(self, waiting: "_Waiting[T]", result: T | ProcessingFailed) -> None:
        self._processed += 1
        self._failed += isinstance(result, ProcessingFailed)
        waiting.settle(result)

    async def _next(self) -> "_Waiting[T]":
        """The first response in the queue that somebody still waits for."""
        while True:
            idle = self._queue.empty()
            self._idle.change(+idle)
            try:
                waiting = await self._queue.get()
            finally:
                self._idle.change(-idle)
            self._queued.change(-1)
            if not waiting.result.done():
                return waiting


class _Waiting(Generic[T]):
    """A response in the queue or with a worker, and its future result."""

    def __init__(self, response: Response) -> None:
        self.response = response
        self.result: asyncio.Future[T | ProcessingFailed]
        self.result = asyncio.get_running_loop().create_future()

    def settle(self, result: T | ProcessingFailed) -> None:
        """Give the result, unless the caller was cancelled."""
        if not self.result.done():
            self.result.set_result(result)

    def fail(self, error: Exception) -> None:
        """Raise this where the result is waited for, unless the caller was cancelled."""
        if not self.result.done():
            self.result.set_exception(error)


class _Level:
    """A whole number that goes up and down, and its integral over time."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.level = 0
        self._clock = clock
        self.restart()

    def restart(self) -> None:
        self._integral = 0.0
        self._since = self._clock()

    def change(self, by: int) -> None:
        self.integral()
        self.level += by

    def integral(self) -> float:
        now = self._clock()
        self._integral += self.level * (now - self._since)
        self._since = now
        return self._integral


class _WorkerLostError(Exception):
    """A worker is stuck or has ended; why, in one line.

    `had_begun`: it had taken what it was asked for.
    """

    def __init__(self, why: str, *, had_begun: bool) -> None:
        super().__init__(why)
        self.had_begun = had_begun


class _Worker:
    """A process that answers each frame, see `pollwise.collecting.response_worker`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def load(self, setup: Setup) -> None:
        """Make the process ready; `InputError` where it cannot load its work."""
        try:
            async with asyncio.timeout(_START_LIMIT):
                loaded, reason = await self.ask(pickle.dumps(setup))
        except (TimeoutError, _WorkerLostError) as error:
            loaded, reason = False, str(error) or f"not ready within {_START_LIMIT:g} s"
        if not loaded:
            raise InputError(
                f"response processor: a worker process cannot load its work ({reason});"
                " give a function of a module that can be imported there, or more memory"
            )

    async def ask(self, content: bytes) -> tuple[bool, Any]:
        """Whether the work succeeded, and its result or why not."""
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        had_begun = False
        try:
            requests.write(framed(content))
            await requests.drain()
            await answers.readexactly(LENGTH_BYTES)  # an empty frame: it was read
            had_begun = True
            length = int.from_bytes(await answers.readexactly(LENGTH_BYTES), "little")
            answer: tuple[bool, Any] = pickle.loads(await answers.readexactly(length))
        # RuntimeError: so uvloop says that the pipe is closed, once it has seen the process end.
        except (asyncio.IncompleteReadError, ConnectionError, RuntimeError) as error:
            why = f"its worker process ended ({await self._fate()})"
            raise _WorkerLostError(why, had_begun=had_begun) from error
        return answer

    async def end(self) -> int:
        """Kill the process, unless it has ended; its exit code, or minus the signal."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
        return await self._process.wait()

    async def _fate(self) -> str:
        """How a process that closed its pipes ended."""
        try:
            # Not killed at once, which would hide its exit code.
            async with asyncio.timeout(_END_LIMIT):
                code = await self._process.wait()
        except TimeoutError:
            code = await self.end()
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"


async def _started() -> _Worker:
    return _Worker(
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-c",
            _PROGRAM,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_PIPE_BYTES,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,  # so that Ctrl-C in a terminal does not reach it
        )
    )
