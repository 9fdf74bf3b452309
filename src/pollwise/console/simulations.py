"""What people see of `pollwise simulate`: a row for each policy."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import JustifyMethod
from rich.table import Table

from pollwise.console.streams import stdout

__all__ = ["SIMULATION_COLUMNS", "Columns", "print_results"]

Columns = Mapping[str, tuple[str, str]]
"""By key of a result: the heading, and the format of the figure."""

SIMULATION_COLUMNS: Columns = {
    "policy": ("policy", "s"),
    "polls": ("polls", ",d"),
    "found_per_poll": ("found per poll", ".4f"),
    "tail_found_per_poll": ("in the last 20 %", ".4f"),
    "of_ideal": ("of the ideal", ".4f"),
}


def print_results(results: Sequence[Mapping[str, Any]], columns: Columns, title: str) -> None:
    """A table with a row for each result; its title names the world.

    Standard errors follow their figures.
    """
    table = Table(title=title)
    for heading, form in columns.values():
        justify: JustifyMethod = "left" if form == "s" else "right"
        table.add_column(heading, justify=justify, overflow="fold")
    for result in results:
        errors = result.get("stderr", {})
        cells = []
        for key, (_, form) in columns.items():
            cell = format(int(result[key]) if form == ",d" else result[key], form)
            cells.append(f"{cell} ± {errors[key]:.4f}" if errors.get(key) else cell)
        table.add_row(*cells)
    stdout().print(table)
