"""Where things are shown: answers on stdout, progress on stderr."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console

__all__ = ["progress_line", "stderr", "stdout"]


def stdout() -> Console:
    """Where answers go."""
    return _console(sys.stdout)


def stderr() -> Console:
    """Where progress goes."""
    return _console(sys.stderr)


def _console(stream: TextIO) -> Console:
    """A console that shows text as it is: a URL may look like markup or an emoji code."""
    return Console(
        file=stream,
        soft_wrap=not stream.isatty(),
        highlight=False,
        markup=False,
        emoji=False,
    )


@contextmanager
def progress_line() -> Iterator[Callable[[str], None]]:
    """A context that gives what shows, on stderr, what is being computed."""
    console = stderr()
    if console.is_terminal:
        with console.status("") as line:
            yield line.update
    else:
        yield console.print
