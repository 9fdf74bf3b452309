"""Work that may take long without a word."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["told_if_slow"]


@contextmanager
def told_if_slow(say: Callable[[str], None], why: str, *, after: float) -> Iterator[None]:
    """A context for such work, in which `say` is told why once it has taken so many seconds."""
    slow = threading.Timer(after, say, [why])
    slow.daemon = True
    slow.start()
    try:
        yield
    finally:
        slow.cancel()
