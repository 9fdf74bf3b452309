"""SIGHUP: at a terminal, which is hung up then, it ends a run; else it has settings read anew."""

import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # every command loads this
    import asyncio

__all__ = ["NOTHING_TO_RELOAD", "NotedHangup", "has_terminal", "heed_hangups"]

NOTHING_TO_RELOAD = "nothing can be told anew while this runs: restart it"
"""What is said where there are no settings to be read anew."""


class NotedHangup:
    """A handler of SIGHUP for the time in which nothing runs: what comes waits for the next run."""

    def __init__(self) -> None:
        self._has_come = False

    def __call__(self, number: int, frame: object) -> None:
        """SIGHUP has come."""
        self._has_come = True

    def taken(self) -> bool:
        """Whether it has come since this was asked last."""
        has_come, self._has_come = self._has_come, False
        return has_come


def heed_hangups(
    loop: "asyncio.AbstractEventLoop", *, end: Callable[[], None], reload: Callable[[], None]
) -> None:
    """Have SIGHUP call one of these on a loop; at once, if one was noted before.

    Not so if the process was told to ignore it, as `nohup` does.
    """
    before = signal.getsignal(signal.SIGHUP)
    if before is signal.SIG_IGN:
        return
    heed = end if has_terminal() else reload
    loop.add_signal_handler(signal.SIGHUP, heed)
    if isinstance(before, NotedHangup) and before.taken():
        heed()


def has_terminal() -> bool:
    """Whether there is a terminal that may be hung up."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
