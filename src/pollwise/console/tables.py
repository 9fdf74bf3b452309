"""The parts of tables and lines that many answers share."""

from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

from pollwise.console.streams import stdout
from pollwise.insight.words import moment

__all__ = ["Shortened", "folded", "moment", "pairs", "print_lines", "short"]

_LEAST = 16
"""Characters that are left of a shortened text."""
_WIDTH_OF_FILES = 10_000


class Shortened:
    """A text of a table on one line: what there is no room for is cut out of its middle."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """See `Table`."""
        length = len(self._text)
        return Measurement(min(_LEAST, length), length).with_maximum(options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """See `Table`."""
        yield Text(short(self._text, options.max_width), no_wrap=True)


def print_lines(table: Table) -> None:
    """Print a table of `Shortened` texts on stdout; whole where that is no terminal."""
    console = stdout()
    if not console.is_terminal:
        console.width = _WIDTH_OF_FILES
    console.print(table)


def folded(heading: str) -> Column:
    """A column whose long texts, such as URLs, are wrapped and not cut."""
    return Column(heading, overflow="fold")


def short(name: str, width: int) -> str:
    """A name without its middle if it is longer than this.

    >>> short("example.org/news/2026/today.html", 16)
    'example…day.html'
    """
    if len(name) <= width:
        return name
    head = (width - 1) // 2
    return f"{name[:head]}…{name[len(name) - (width - 1 - head) :]}"


def pairs(title: str, rows: Sequence[tuple[str, str]]) -> Table:
    """A table of names and values."""
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table
