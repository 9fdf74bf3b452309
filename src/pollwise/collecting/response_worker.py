"""The process in which responses are worked on; `ResponseProcessor` starts it and talks to it.

Standard input brings frames: 8 bytes of length, then a pickle. The first is a `Setup`, every other
one a request for its `work`. Standard output has two frames for each: an empty one when it was
read, and the answer, `(True, result)` or `(False, reason)`, the reason in one line. The process
ends when standard input does, that is, with the process that started it; if it is stuck, its own
alarm ends it after twice the time limit.
"""

import gc
import itertools
import os
import pickle
import resource
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

__all__ = ["LENGTH_BYTES", "Response", "Setup", "framed", "main"]

LENGTH_BYTES = 8
"""Length of the number (little-endian) in front of each frame."""

_ALLOCATIONS = 50_000
"""Objects that are made, and not freed, before garbage is searched for: more than those of a usual
page, which are freed without a search."""
_SEARCHED_EVERY = 128
"""Responses after which it is searched for as well: work may leave a few objects that are large."""


@dataclass(frozen=True, slots=True)
class Response:
    """What a fetch brought: the decompressed body, the URL that answered, and header values.

    Where there are several X-Robots-Tag fields, `x_robots_tag` has one a line.
    """

    body: bytes
    content_type: str | None
    url: str
    x_robots_tag: str = ""


@dataclass(frozen=True, slots=True)
class Setup:
    """The pickle of what to do with each request, and the seconds and bytes that it may take."""

    work: bytes
    time_limit: float
    memory_limit: int


def framed(content: bytes) -> bytes:
    """The content behind its length."""
    return len(content).to_bytes(LENGTH_BYTES, "little") + content


def main() -> None:
    """Work until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)  # so that the work cannot read frames
    os.dup2(2, 1)  # or print between them
    setup: Setup = pickle.loads(_read(incoming, outgoing))
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = setup.memory_limit if most == resource.RLIM_INFINITY else min(setup.memory_limit, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))
    work: list[Callable[[Any], Any]] = []
    _write(outgoing, _answer(work.append, setup.work))
    gc.freeze()  # what the work is made of stays
    gc.set_threshold(_ALLOCATIONS)
    for number in itertools.count(1):
        request = _read(incoming, outgoing)
        signal.setitimer(signal.ITIMER_REAL, 2 * setup.time_limit)
        _write(outgoing, _answer(work[0], request))
        if number % _SEARCHED_EVERY == 0:
            gc.collect()
        signal.setitimer(signal.ITIMER_REAL, 0)


def _answer(work: Callable[[Any], Any], request: bytes) -> bytes:
    try:
        return pickle.dumps((True, work(pickle.loads(request))), pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # any error is this response's result and does not end the crawl
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return pickle.dumps((False, reason))


def _read(incoming: BinaryIO, outgoing: BinaryIO) -> bytes:
    """The next frame, which is then said to be read."""
    head = incoming.read(LENGTH_BYTES)
    if len(head) < LENGTH_BYTES:
        sys.exit()
    content = incoming.read(int.from_bytes(head, "little"))
    _write(outgoing, b"")
    return content


def _write(outgoing: BinaryIO, content: bytes) -> None:
    rest = memoryview(framed(content))
    try:
        while rest:
            rest = rest[outgoing.write(rest) :]
    except BrokenPipeError:
        sys.exit()
