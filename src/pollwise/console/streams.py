"""Where things are shown: answers on stdout, progress on stderr.

All text that people see goes through these consoles, which leave out what could control a terminal
or make text look like other text: titles, anchors, URLs and errors are written by strangers.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO
from weakref import WeakKeyDictionary

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

__all__ = ["clean", "drop_stdout", "on_one_line", "progress_line", "stderr", "stdout"]

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, but for tab and line feed
    "\u2028-\u202e\ufff9-\ufffb\ud800-\udfff\u2800"  # lines, bidi, lone surrogates, a blank
    # What Unicode lists as ignorable by default (DerivedCoreProperties.txt).
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)


def clean(text: str) -> str:
    """`text` without the characters that nobody sees.

    Left out are control characters except tab and line feed, line and paragraph separators,
    directional marks, overrides and isolates, what Unicode lists as ignorable by default (of no
    width), tags and lone surrogates. What was laid out with them is no wider without.
    """
    return _UNSEEN.sub("", text)


def on_one_line(text: str) -> str:
    """A message on one line: what it names, such as a file, may have ends of lines.

    >>> print(on_one_line("new\\nline.db does not exist"))
    new\\nline.db does not exist
    """
    return text.replace("\n", "\\n")


class _CleanConsole(Console):
    """A console whose text is cleaned as the last step, whatever it is part of."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """See `Console.render`. Its own movements of the cursor are no text."""
        for segment in super().render(renderable, options):
            if not segment.control and _UNSEEN.search(segment.text):
                segment = segment._replace(text=clean(segment.text))
            yield segment


def stdout() -> Console:
    """Where answers go."""
    return _console(sys.stdout)


def stderr() -> Console:
    """Where progress and notices go."""
    return _console(sys.stderr)


def drop_stdout() -> None:
    """Drop what stdout still holds and all that follows: nobody reads it, or it cannot be kept."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_NARROWEST = 40
"""Columns that COLUMNS may say: where it is 0, tables showed nothing. A terminal may have fewer."""
_consoles: WeakKeyDictionary[TextIO, Console] = WeakKeyDictionary()
"""One for each stream: what is live on a console makes room for all that is printed by it."""


def _console(stream: TextIO) -> Console:
    """A console that shows text as it is: a URL may look like markup or an emoji code."""
    if stream not in _consoles:
        console = _CleanConsole(
            file=stream,
            soft_wrap=not stream.isatty(),
            highlight=False,
            markup=False,
            emoji=False,
        )
        if "COLUMNS" in os.environ and console.width < _NARROWEST:
            console.width = _NARROWEST
        _consoles[stream] = console
    return _consoles[stream]


@contextmanager
def progress_line() -> Iterator[Callable[[str], None]]:
    """A context that gives what shows, on stderr, what is being computed."""
    console = stderr()
    if console.is_terminal:
        with console.status("") as line:
            yield line.update
    else:
        yield console.print
