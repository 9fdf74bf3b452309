"""Numbers as text, ours beside the printed ones."""

import math
from collections.abc import Sequence

from pollwise.experiments.experiment import Measurements, Row

__all__ = ["number", "table"]


def number(row: Row | None) -> str:
    """A value, its standard error and what is printed, with the digits that matter.

    >>> number(Row("lakg", "t=1000", 571.8123, 0.4132))
    '571.81 ± 0.41'
    """
    if row is None:
        return ""
    if row.value is None or not math.isfinite(row.value):
        text = "-"
    elif 0 < abs(row.value) < 1e-3:
        text = f"{row.value:.1e}"
    else:
        # Two digits of the standard error, if there is one; else five of a small value.
        size = row.stderr or abs(row.value) / 1e3
        digits = 0 if row.value == round(row.value) and not row.stderr else _digits(size)
        text = f"{row.value:,.{digits}f}"
        if row.stderr:
            text += f" ± {row.stderr:.{digits}f}"
    return text if row.published is None else f"{text} [{row.published.text}]"


def _digits(size: float) -> int:
    """The decimals that show two digits of a number."""
    return min(6, max(0, 1 - math.floor(math.log10(size))))


def table(measured: Measurements, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Some columns of the numbers as text: a heading, then a line for each row."""
    cells = {(row.row, row.column): row for row in measured.rows}
    names = dict.fromkeys(row.row for row in measured.rows if row.column in columns)
    heading = ("", *columns)
    lines = [(name, *(number(cells.get((name, column))) for column in columns)) for name in names]
    return [heading, *lines]
