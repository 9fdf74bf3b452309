"""What people see of `pollwise reproduce`: the list of experiments, and what one of them found."""

import math
from collections.abc import Sequence

from rich.table import Column, Table

from pollwise.console.streams import stdout
from pollwise.experiments.experiment import Experiment, Row
from pollwise.experiments.reproduction import Reproduction

__all__ = ["print_experiments", "print_reproduction"]

_COLUMNS_ACROSS = 4
"""As many columns side by side as are legible."""


def print_experiments(experiments: Sequence[tuple[str, Experiment]]) -> None:
    """A line for each experiment."""
    width = max(len(name) for name, _ in experiments)
    for name, experiment in experiments:
        trials = f"{experiment.trials:,d} trials"
        print(f"{name:{width}}  {experiment.title} ({experiment.source}; {trials})")


def print_reproduction(result: Reproduction) -> None:
    """What an experiment found: the claim, the numbers by row and column, the finding."""
    console = stdout()
    experiment, rows = result.experiment, result.measurements.rows
    console.print(f"{result.name}: {experiment.title} ({experiment.source})")
    console.print(f"Claim: {experiment.claim}")
    columns = list(dict.fromkeys(row.column for row in rows))
    cells = {(row.row, row.column): row for row in rows}
    for begin in range(0, len(columns), _COLUMNS_ACROSS):
        some = columns[begin : begin + _COLUMNS_ACROSS]
        table = Table(Column(""), *(Column(name, justify="right") for name in some))
        for name in dict.fromkeys(row.row for row in rows if row.column in some):
            table.add_row(name, *(_number(cells.get((name, column))) for column in some))
        console.print(table)
    console.print(f"Finding: {result.finding}")
    notes = "± is one standard error"
    if any(row.published is not None for row in rows):
        notes += ", [published values] in brackets"
    console.print(f"Trials: {result.trials:,d} (seeds from 0), {result.seconds:.1f} s; {notes}")
    if result.figure is not None:
        console.print(f"The figure is {result.figure}")


def _number(row: Row | None) -> str:
    """A value, its standard error and what was published, with the digits that matter."""
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
    return text if row.published is None else f"{text} [{row.published:,.6g}]"


def _digits(size: float) -> int:
    """The decimals that show two digits of a number."""
    return min(6, max(0, 1 - math.floor(math.log10(size))))
