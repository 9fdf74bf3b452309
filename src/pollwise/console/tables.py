"""The parts of tables and lines that many answers share."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, takewhile

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.segment import Segment, Segments
from rich.table import Column, Table
from rich.text import Text

from pollwise.console.streams import stdout
from pollwise.insight.words import moment

__all__ = [
    "brief",
    "folded",
    "moment",
    "pairs",
    "print_figures",
    "print_lines",
    "short",
]

_LEAST = 16
"""Cells that are left of a shortened text."""
_WIDTH_OF_FILES = 10_000
_MOST_PADDED = 80
"""The most characters for which all lines of a file are made longer."""
_LONGEST = 4_000
"""Cells of a text in a file: some URLs have a hundred thousand."""
_LONGEST_FOLDED = 400
_LONGEST_VALUE = 2000
_FEWEST_COLUMNS = 2
_NARROWEST = 20
"""The columns of a terminal for which lines are drawn; what is narrower wraps them."""
_BORDER = 3
"""Characters beside what a column holds."""


class _Shortened:
    """A text of a table on one line: what there is no room for is cut out of its middle."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """See `Table`."""
        length = cell_len(self._text)
        return Measurement(min(_LEAST, length), length).with_maximum(options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """See `Table`."""
        yield Text(short(self._text, options.max_width), no_wrap=True)


def print_lines(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of one row or more on stdout, a line each, without last columns for which there
    is no room. Texts are shortened but in columns that are not to be wrapped.

    Where stdout is no terminal texts are whole up to 4,000 cells, and one that is very long takes
    more room on its own line only.
    """
    console = stdout()
    longest = [max(map(cell_len, texts)) for texts in zip(*rows, strict=True)]
    if console.is_terminal:
        console.width = max(console.width, _NARROWEST)
    else:
        console.width = _WIDTH_OF_FILES
        longest = [min(length, _MOST_PADDED) for length in longest]
    table = Table(*columns)
    table.add_row(*map(_cell, columns, ("x" * length for length in longest)))
    left_out = _leave_out(console, table)
    # rich takes its time for a row: it draws the one that is as wide as all of them together.
    *head, sample, foot = console.render_lines(table, pad=False)
    sample_text = "".join(segment.text for segment in sample)
    border = sample_text[0]
    widths = [len(text) - 2 for text in sample_text.split(border)[1:-1]]
    lines = (line for texts in rows for line in _lines(console, columns, widths, texts))
    drawn = "".join(f"{border} {f' {border} '.join(cells)} {border}\n" for cells in lines)
    ends = [[*line, Segment.line()] for line in (*head, foot)]
    console.print(Segments([*chain(*ends[:-1]), Segment(drawn), *ends[-1]]), soft_wrap=True, end="")
    _tell(console, left_out)


def _cell(column: Column, text: str) -> str | _Shortened:
    return text if column.no_wrap else _Shortened(text)


def _lines(
    console: Console, columns: Sequence[Column], widths: Sequence[int], texts: Sequence[str]
) -> Iterable[Sequence[str]]:
    """The cells of a row of a table, line by line; mostly it is one line."""
    cells = []
    for column, width, text in zip(columns, widths, texts, strict=False):
        told, taken = text, cell_len(text)
        if not console.is_terminal:
            width = max(width, min(taken, _LONGEST))
        if taken > width and not column.no_wrap:
            told = short(text, width)
            taken = cell_len(told)
        if taken <= width and text.isprintable():
            cells.append([told + " " * (width - taken)])
            continue
        options = console.options.update(
            width=width, no_wrap=column.no_wrap, overflow=column.overflow
        )
        drawn = console.render_lines(_cell(column, text), options)
        cells.append(["".join(segment.text for segment in line) for line in drawn])
    height = max(map(len, cells))
    for cell in cells:
        cell += [" " * cell_len(cell[0])] * (height - len(cell))
    return zip(*cells, strict=True)


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


def brief(text: str) -> str:
    """A text, such as a URL, without its middle if that would take lines over lines."""
    return short(text, _LONGEST_FOLDED)


def short(name: str, width: int) -> str:
    """A name without its middle if it takes more cells of a terminal than this.

    >>> short("example.org/news/2026/today.html", 16)
    'example…day.html'
    >>> short("京都の今日の天気", 12)
    '京都…の天気'
    """
    if cell_len(name) <= width:
        return name
    head = (width - 1) // 2
    begin, end = _fitting(name, head), _fitting(reversed(name), width - 1 - head)
    return f"{name[:begin]}…{name[len(name) - end :]}"


def _fitting(characters: Iterable[str], cells: int) -> int:
    """How many of the first characters take so many cells at most."""
    taken = accumulate(map(cell_len, characters))
    return sum(1 for _ in takewhile(lambda so_far: so_far <= cells, taken))


def pairs(title: str, rows: Sequence[tuple[str, str]]) -> Table:
    """A table of names and values."""
    table = Table(title=brief(title), title_justify="left", show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, short(value, _LONGEST_VALUE))
    return table
