"""The parts of tables and lines that many answers share."""

from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

from pollwise.console.streams import stdout
from pollwise.insight.words import moment

__all__ = [
    "Shortened",
    "folded",
    "moment",
    "pairs",
    "print_figures",
    "print_lines",
    "short",
]

_LEAST = 16
"""Characters that are left of a shortened text."""
_WIDTH_OF_FILES = 10_000
_FEWEST_COLUMNS = 2
_BORDER = 3
"""Characters beside what a column holds."""


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
    """Print a table of `Shortened` texts on stdout, without last columns for which there is no
    room; whole where that is no terminal.
    """
    console = stdout()
    if not console.is_terminal:
        console.width = _WIDTH_OF_FILES
    left_out = _leave_out(console, table)
    console.print(table)
    _tell(console, left_out)


def print_figures(console: Console, table: Table) -> None:
    """Print a table of figures, none of which is cut: last columns without room are only named."""
    left_out = _leave_out(console, table)
    _widen(console, table)
    console.print(table)
    _tell(console, left_out)


def _leave_out(console: Console, table: Table) -> list[str]:
    """Take out the last columns for which there is no room, but not the first two; their names."""
    left_out: list[str] = []
    while len(table.columns) > _FEWEST_COLUMNS and _spare(console, table) < 0:
        heading = str(table.columns.pop().header)
        left_out.insert(0, heading.replace("\n", " "))
    return left_out


def _tell(console: Console, left_out: Sequence[str]) -> None:
    if left_out:
        told = f"left out, as the terminal has {console.width} columns: {'; '.join(left_out)}"
        console.print(told, soft_wrap=True)


def _spare(console: Console, table: Table) -> int:
    """The characters that are left, or lacking, where no word is cut."""
    least = sum(fewest for fewest, _ in _widths(console, table))
    return _room(console, table) - least


def _room(console: Console, table: Table) -> int:
    return console.width - _BORDER * len(table.columns) - 1


def _widths(console: Console, table: Table) -> list[tuple[int, int]]:
    """The characters at which no word of a column is cut, and those at which no line is."""
    wide = console.options.update(width=_WIDTH_OF_FILES)
    widths = []
    for column in table.columns:
        cells = [Measurement.get(console, wide, cell) for cell in (column.header, *column.cells)]
        most = max(cell.maximum for cell in cells)
        widths.append((most if column.no_wrap else max(cell.minimum for cell in cells), most))
    return widths


def _widen(console: Console, table: Table) -> None:
    """Give columns the widths at which no word is cut, and the first of them what is left."""
    widths, spare = _widths(console, table), _spare(console, table)
    if spare < 0 or sum(most for _, most in widths) <= _room(console, table):
        return
    for column, (fewest, wanted) in zip(table.columns, widths, strict=True):
        more = max(min(wanted - fewest, spare), 0)
        column.width = fewest + more
        spare -= more


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
