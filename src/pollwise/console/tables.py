"""The parts of tables and lines that many answers share."""

from collections.abc import Sequence
from datetime import UTC, datetime

from rich.table import Column, Table

__all__ = ["folded", "moment", "pairs", "short"]


_END = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
"""After which no time can be written."""


def moment(seconds: float | None) -> str:
    """A time in UTC, or a dash."""
    if seconds is None or not abs(seconds) < _END:
        return "-"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


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
