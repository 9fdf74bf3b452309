"""The parts of tables and lines that many answers share."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime

from rich.table import Column, Table

from pollwise.insight.forecasts import Interval

__all__ = ["count", "folded", "interval", "moment", "pairs"]


def moment(seconds: float | None) -> str:
    """A time in UTC, or a dash."""
    if seconds is None or not math.isfinite(seconds):
        return "-"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def count(number: int, noun: str) -> str:
    """A number and what it counts, such as `1 poll` or `2,000 polls`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def interval(figure: Interval, form: str) -> str:
    """A forecast figure and its interval, in short."""
    if not math.isfinite(figure.mean):
        return "never"
    return f"{figure.mean:{form}} ({figure.low:{form}}–{figure.high:{form}})"


def folded(heading: str) -> Column:
    """A column whose long texts, such as URLs, are wrapped and not cut."""
    return Column(heading, overflow="fold")


def pairs(title: str, rows: Sequence[tuple[str, str]]) -> Table:
    """A table of names and values."""
    table = Table(title=title, show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table
