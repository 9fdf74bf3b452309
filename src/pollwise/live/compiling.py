"""A policy that is compiled and loaded while the first copies are fetched.

Another process compiles, in which nothing else goes on; what it leaves on disk is then loaded here
by a thread, between the turns of the event loop.
"""

import asyncio
import contextlib
import gc
import multiprocessing
import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from multiprocessing.context import SpawnProcess

from pollwise.child_processes import end_with_parent, without_interrupts
from pollwise.kernel_folder import is_compiled, kernel_folder, note_compiled
from pollwise.policies.awaited import AwaitedPolicy
from pollwise.policies.rehearsal import rehearsal
from pollwise.settings import Settings

__all__ = ["has_compiled", "preparing", "rehearse"]

_NICENESS = 5
_ALLOCATIONS = 500_000
"""So many more objects than before, and the process that compiles searches for garbage, of which it
makes little: Python's own 700 take a tenth of its time, and with these it takes 60 MB more."""
_LONGEST_JOIN = 2.0
"""Seconds that the end of a run waits for the thread, which stops after its present step."""


def has_compiled(settings: Settings) -> bool:
    """Whether the policy of such settings was compiled before."""
    return is_compiled(_purpose(settings))


def rehearse(settings: Settings, pages: int) -> None:
    """Compile, or load, all that the policy of these settings needs; waits for it."""
    for _ in rehearsal(settings.policy(pages)):
        pass
    note_compiled(_purpose(settings))


@asynccontextmanager
async def preparing(
    policy: AwaitedPolicy, settings: Settings, pages: int, say: Callable[[str], None]
) -> AsyncIterator[asyncio.Future[None]]:
    """Have the policy of these settings compiled, and given to `policy`, within this context.

    Gives what is done when it is prepared, which `say` is told, or raises what went wrong. Leaving
    the context early ends all of it.
    """
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def end(error: BaseException | None) -> None:
        if ready.done():  # cancelled meanwhile
            return
        if error is not None:
            ready.set_exception(error)
            return
        say("compiled: learning starts")
        ready.set_result(None)

    def tell(error: BaseException | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(end, error)

    work = _Preparation(policy, settings, pages, tell)
    work.start()
    try:
        yield ready
    finally:
        work.stop()


class _Preparation:
    """The process that compiles, and the thread that waits for it, loads, and tells its end."""

    def __init__(
        self,
        policy: AwaitedPolicy,
        settings: Settings,
        pages: int,
        tell: Callable[[BaseException | None], None],
    ) -> None:
        self._policy = policy
        self._settings = settings
        self._pages = pages
        self._tell = tell
        self._stopped = False
        # No daemon: the interpreter would crash that goes down in the middle of a compilation.
        self._thread = threading.Thread(target=self._prepare, name="preparing")
        self._process: SpawnProcess | None = None

    def start(self) -> None:
        # Where nothing can be kept on disk, what another process compiles is lost.
        if kernel_folder():
            context = multiprocessing.get_context("spawn")
            self._process = context.Process(
                target=_compile, args=(self._settings, self._pages), daemon=True
            )
            with without_interrupts():
                self._process.start()
        self._thread.start()

    def stop(self) -> None:
        self._stopped = True
        if self._process is not None:
            self._process.kill()
        self._thread.join(_LONGEST_JOIN)

    def _prepare(self) -> None:
        try:
            if self._process is not None:
                self._process.join()
            # A search for garbage among so much that stays would stop the loop, too.
            gc.disable()
            try:
                is_done = self._load()
            finally:
                gc.freeze()
                gc.enable()
            if is_done:
                self._tell(None)
        except BaseException as error:  # it is raised where the run waits for the policy
            self._tell(error)

    def _load(self) -> bool:
        """Load what was compiled; whether that was not stopped."""
        if self._stopped:
            return False
        for _ in rehearsal(self._settings.policy(self._pages)):
            if self._stopped:
                return False
        note_compiled(_purpose(self._settings))
        self._policy.prepare(self._settings.policy(self._pages))
        return True


def _compile(settings: Settings, pages: int) -> None:
    """The other process: leave the code of a policy on disk."""
    end_with_parent()
    os.nice(_NICENESS)
    gc.set_threshold(_ALLOCATIONS)
    rehearse(settings, pages)


def _purpose(settings: Settings) -> str:
    return type(settings).__name__
