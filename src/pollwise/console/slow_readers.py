"""Writing to readers that are slow, or do not read at all, without a wait."""

import io
import os
import queue
import select
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from pollwise.console.quantities import count
from pollwise.full_disk import FULL_DISK

__all__ = ["AT_ONCE", "LOOK", "end_beside", "readiness", "stderr_beside", "wait_until_written"]

LOOK = 1.0
"""Seconds after which to look again whether anybody reads."""
AT_ONCE = 4096
"""Bytes that a pipe takes without a wait (PIPE_BUF) once it is ready."""
_MOST_WAITING = 10_000
"""Texts; a turn may bring a thousand."""


def readiness(stream: object) -> Callable[[float], bool]:
    """What waits so many seconds and tells whether the stream takes something without a wait.

    It raises `BrokenPipeError` when nobody reads any more.
    """
    try:
        descriptor = stream.fileno()  # type: ignore[attr-defined]
    except OSError:  # it is in memory
        return lambda seconds: True
    polling = select.poll()
    polling.register(descriptor, select.POLLOUT)

    def is_ready(seconds: float) -> bool:
        events = sum(found for _, found in polling.poll(seconds * 1000.0))
        if events & (select.POLLERR | select.POLLHUP):
            raise BrokenPipeError
        return bool(events & select.POLLOUT)

    return is_ready


@contextmanager
def stderr_beside(say: Callable[[str], None]) -> Iterator[None]:
    """A context in which nobody who writes on stderr waits for its reader: a thread writes.

    What finds no room any more is dropped, and `say`, which writes on stderr, is told how much as
    soon as it is read again; likewise on a full disk. At the end what waits is written as far as
    somebody reads. A write raises what an earlier one met, such as `BrokenPipeError`.
    """
    stream = sys.stderr
    try:
        beside = _WrittenBeside(stream, say)
    except OSError:  # it is in memory
        yield
        return
    sys.stderr = beside
    try:
        yield
    finally:
        beside.end()
        sys.stderr = stream


def wait_until_written(stream: object) -> None:
    """Wait, not for long, until all is written that a stream was given so far."""
    if isinstance(stream, _WrittenBeside):
        stream.wait()


def end_beside(stream: object) -> None:
    """Write what a stream was given so far, as far as somebody reads, and nothing after that.

    A signal handler may call it, wherever the program is.
    """
    if isinstance(stream, _WrittenBeside):
        stream.end()


class _WrittenBeside(io.TextIOBase):
    """A text stream whose writes never wait: see `stderr_beside`."""

    def __init__(self, stream: TextIO, say: Callable[[str], None]) -> None:
        self._stream = stream
        self._descriptor = stream.fileno()
        self._is_terminal = stream.isatty()  # asked for in every turn, which lets others run
        self._say = say
        self._ready = readiness(stream)
        # A text, or what to set when all texts before it are written. A signal handler may come
        # while it is given one, which a `Queue` would not outlive.
        self._waiting: queue.SimpleQueue[str | threading.Event] = queue.SimpleQueue()
        self._dropped = 0
        self._why = ""
        self._line_is_open = False
        self._error: OSError | None = None
        self._is_ending = False
        self._thread = threading.Thread(target=self._go_on, daemon=True, name="stderr")
        self._thread.start()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of the stream."""
        return self._stream.encoding

    def fileno(self) -> int:
        """That of the stream."""
        return self._descriptor

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return self._is_terminal

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, text: str) -> int:
        """Have a text written, soon."""
        if self._error is not None:
            raise self._error
        if self._waiting.qsize() < _MOST_WAITING:
            self._waiting.put(text)
        else:
            self._drop(text, "stderr is read too slowly")
        return len(text)

    def wait(self) -> None:
        """Wait, not for long, until all is written so far."""
        if self._waiting.qsize() < _MOST_WAITING:
            reached = threading.Event()
            self._waiting.put(reached)
            reached.wait(LOOK)

    def end(self) -> None:
        """Write what waits as far as somebody reads, and end."""
        self._is_ending = True
        self._waiting.put(threading.Event())  # it may wait for something
        self._thread.join(2 * LOOK)

    def _go_on(self) -> None:
        has_room, is_cut = True, False
        try:
            while not (self._is_ending and self._waiting.empty()):
                waiting = self._waiting.get()
                if isinstance(waiting, threading.Event):
                    waiting.set()
                else:
                    told = f"\n{waiting}" if is_cut else waiting
                    try:
                        if not self._write(told.encode(self.encoding, "backslashreplace")):
                            return
                        has_room, is_cut = True, False
                    except OSError as error:
                        if error.errno not in FULL_DISK:
                            raise
                        has_room, is_cut = False, self._line_is_open
                        self._drop(waiting, f"stderr cannot be written: {error.strerror}")
                if self._dropped and has_room and self._waiting.empty():
                    dropped, self._dropped = self._dropped, 0
                    self._say(f"{count(dropped, 'line')} not shown: {self._why}")
        except OSError as error:
            self._error = error

    def _drop(self, text: str, why: str) -> None:
        self._dropped += text.count("\n")
        self._why = why

    def _write(self, data: bytes) -> bool:
        """Write it piece by piece; whether anybody reads, at the end."""
        while data:
            while not self._ready(LOOK):
                if self._is_ending:
                    return False
            written = os.write(self._descriptor, data[:AT_ONCE])
            self._line_is_open = data[written - 1 : written] != b"\n"
            data = data[written:]
        return True
