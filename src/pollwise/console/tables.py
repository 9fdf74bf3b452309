"""The parts of tables and lines that many answers share."""

from collections.abc import Sequence

from rich.table import Column, Table

from pollwise.insight.words import moment

__all__ = ["folded", "moment", "pairs", "short"]


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
