"""What every process that we start needs: it ends with us, and Ctrl-C is for us alone."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker

__all__ = ["end_with_parent", "without_interrupts"]


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Processes that are started in this context never see Ctrl-C, which reaches all of a terminal.

    They inherit what is blocked. Who started them ends them.
    """
    # Its start, with the first process, would let Ctrl-C through again.
    resource_tracker.ensure_running()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def end_with_parent() -> None:
    """Called in a child: end it when the process that started it is killed; nobody else would."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
