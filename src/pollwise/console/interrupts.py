"""Ctrl-C and SIGTERM while a command gets ready for its run, which later ends it cleanly."""

import os
import signal
import sys
from contextlib import suppress

from pollwise.console.slow_readers import end_beside

__all__ = ["end_on_interrupt"]

_SHOW_CURSOR = "\r\x1b[2K\x1b[?25h"


def end_on_interrupt() -> None:
    """From now on Ctrl-C and SIGTERM end the process, with a line; the database comes to no harm.

    As an exception it may get lost in the libraries that are being loaded. While a function is
    being compiled it waits for that, up to some seconds; a second Ctrl-C after the line has begun
    ends it at once, though nobody reads the line.
    """
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, _end)


def _end(number: int, frame: object) -> None:
    for one in (signal.SIGINT, signal.SIGTERM):  # another one ends it at once
        signal.signal(one, signal.SIG_DFL)
    line = "stopped before its run began: nothing is lost, the same command begins anew\n"
    end_beside(sys.stderr)  # what waits there may hide the cursor
    with suppress(OSError, ValueError):  # nobody may look
        is_terminal = os.isatty(sys.stderr.fileno())
        os.write(sys.stderr.fileno(), f"{_SHOW_CURSOR if is_terminal else ''}{line}".encode())
    os.kill(os.getpid(), number)
    os._exit(128 + number)  # the first process of a container does not die of it
