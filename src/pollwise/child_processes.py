"""What the processes that we start need: they end with us, and Ctrl-C is for us alone."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from types import FrameType
from typing import Any

__all__ = ["end_with_parent", "usable_cores", "without_interrupts"]


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Processes that are started in this context never see Ctrl-C, which reaches all of a terminal.

    They inherit what is blocked. Who started them ends them. Ctrl-C reaches us when the context is
    left: it comes between no process and what that process has yet to be told.
    """
    with _postponed_interrupts():
        # Its start, with the first process, would let Ctrl-C through again.
        resource_tracker.ensure_running()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def _postponed_interrupts() -> Iterator[None]:
    """What Ctrl-C and SIGTERM do is done when this context is left.

    It is not enough to block them here: another thread, such as one of numpy's, takes them then,
    and the main thread handles what any thread took.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    taken: list[tuple[int, FrameType | None]] = []
    handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        handler = signal.getsignal(number)
        if callable(handler):
            handlers[number] = handler
            signal.signal(number, lambda *signalled: taken.append(signalled))
    try:
        yield
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)
        with ExitStack() as handing_on:  # it calls all, in spite of what they raise
            for each, frame in reversed(taken):
                handing_on.callback(handlers[each], each, frame)


def end_with_parent() -> None:
    """Called in a child: end it when the process that started it is killed; nobody else would."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
