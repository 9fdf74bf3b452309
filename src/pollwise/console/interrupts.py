"""Ctrl-C, SIGTERM and SIGHUP while a command gets ready for its run, which later heeds them."""

import os
import signal
import sys
from contextlib import suppress

from pollwise.console.slow_readers import end_beside
from pollwise.live.hangups import NotedHangup, has_terminal

__all__ = ["end_on_interrupt"]

_SHOW_CURSOR = "\r\x1b[2K\x1b[?25h"


def end_on_interrupt() -> None:
    """From now on Ctrl-C and SIGTERM end the process, with a line; the database comes to no harm.

    As an exception it may get lost in the libraries that are being loaded. While a function is
    being compiled it waits for that, up to some seconds; a second Ctrl-C after the line has begun
    ends it at once, though nobody reads the line.

    So does SIGHUP at a terminal, which is hung up then; without one it waits for the run. A process
    that was told to ignore it, as by `nohup`, does so.
    """
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, _end)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _end if has_terminal() else NotedHangup())


def _end(number: int, frame: object) -> None:
    for one in (signal.SIGINT, signal.SIGTERM, number):  # another one ends it at once
        signal.signal(one, signal.SIG_DFL)
    line = "stopped before its run began: nothing is lost, the same command begins anew\n"
    end_beside(sys.stderr)  # what waits there may hide the cursor
    with suppress(OSError, ValueError):  # nobody may look
        is_terminal = os.isatty(sys.stderr.fileno())
        os.write(sys.stderr.fileno(), f"{_SHOW_CURSOR if is_terminal else ''}{line}".encode())
    os.kill(os.getpid(), number)
    os._exit(128 + number)  # the first process of a container does not die of it
