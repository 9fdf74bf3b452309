"""Where things are shown: answers on stdout, progress on stderr.

All text that people see goes through these consoles, which leave out what could control a terminal
or make text look like other text: titles, anchors, URLs and errors are written by strangers.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

__all__ = ["clean", "progress_line", "stderr", "stdout"]

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, but for tab and line feed
    "\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # bidi, zero width
    "\ud800-\udfff\U000e0000-\U000e007f]"  # lone surrogates, tags
)


def clean(text: str) -> str:
    """`text` without the characters that nobody sees.

    Left out are control characters except tab and line feed, line and paragraph separators,
    directional marks, overrides and isolates, zero-width characters, tags and lone surrogates. For
    rich they take no column, so that what was laid out with them fits without.
    """
    return _UNSEEN.sub("", text)


class _CleanConsole(Console):
    """A console whose text is cleaned as the last step, whatever it is part of."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """See `Console.render`. Its own movements of the cursor are no text."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=clean(segment.text))


def stdout() -> Console:
    """Where answers go."""
    return _console(sys.stdout)


def stderr() -> Console:
    """Where progress and notices go."""
    return _console(sys.stderr)


def _console(stream: TextIO) -> Console:
    """A console that shows text as it is: a URL may look like markup or an emoji code."""
    return _CleanConsole(
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
