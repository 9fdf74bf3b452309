"""What people see of `pollwise reproduce`: the list of experiments, and what one of them found."""

from collections.abc import Mapping
from typing import Any

from rich.table import Column, Table

from pollwise.console.quantities import count
from pollwise.console.streams import stdout
from pollwise.experiments.experiment import Experiment
from pollwise.experiments.report import few_trials, told_agreement
from pollwise.experiments.reproduction import Reproduction
from pollwise.experiments.wording import number, table

__all__ = ["print_experiments", "print_reproduction"]

_COLUMNS_ACROSS = 3
"""As many columns side by side as are legible."""


def print_experiments(
    experiments: Mapping[str, Experiment], recorded: Mapping[str, dict[str, Any]]
) -> None:
    """Two lines for each experiment: what it is, and how it came out when last recorded."""
    console = stdout()
    for name, experiment in experiments.items():
        console.print(f"{name}  {experiment.title} ({experiment.source})", soft_wrap=True)
        console.print(f"    {_outcome(recorded.get(name))}", soft_wrap=True)


def _outcome(summary: dict[str, Any] | None) -> str:
    if summary is None:
        return "not recorded"
    is_shared = summary["trials"] > 1 and summary["seconds"] == 0
    spent = "shared with an item above" if is_shared else f"{summary['seconds']:,.0f} s"
    effort = f"{count(summary['trials'], 'trial')}, {spent}"
    return f"{effort}: {told_agreement(summary)}"


def print_reproduction(result: Reproduction) -> None:
    """What an experiment found: the numbers by row and column, and whether the claims hold."""
    console = stdout()
    experiment, measured = result.experiment, result.measurements
    console.print(f"{result.name}: {experiment.title} ({experiment.source})")
    columns = list(dict.fromkeys(row.column for row in measured.rows))
    for begin in range(0, len(columns), _COLUMNS_ACROSS):
        heading, *lines = table(measured, columns[begin : begin + _COLUMNS_ACROSS])
        shown = Table(Column(""), *(Column(name, justify="right") for name in heading[1:]))
        for line in lines:
            shown.add_row(*line)
        console.print(shown)
    for claim, verdict in result.findings:
        console.print(f"“{claim.quote}” (line {claim.line} of the paper's text)")
        console.print(f"  Test: {claim.test}")
        console.print(f"  {'Holds' if verdict.holds else 'Does not hold'}: {verdict.seen}")
    for each in result.compared:
        if each.reason:
            console.print(
                f"Beyond 2.5 %: {each.row.row}, {each.row.column}: {number(each.row)}:"
                f" {each.reason}"
            )
    console.print(f"Agreement: {told_agreement(result.summary())}.")
    if result.trials < experiment.trials:
        console.print(few_trials(result.trials, experiment.trials), soft_wrap=True)
    if experiment.remark:
        console.print(experiment.remark)
    notes = "± is one standard error"
    if result.compared:
        notes += ", [printed numbers] in brackets"
    console.print(f"Trials: {result.trials:,d} (seeds from 0), {result.seconds:.1f} s; {notes}")
    if result.figure is not None:
        console.print(f"The figure is {result.figure}")
