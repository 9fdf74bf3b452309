"""What people see of a calibration: whether the predictions of a replay came true."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Column, Table

from pollwise.console.streams import stdout

__all__ = ["predictor", "print_calibration"]

Entry = Mapping[str, Any]

_FIGURES = {"found_per_day": "changes found a day", "freshness": "freshness", "delay": "delay"}


def print_calibration(entries: Sequence[Entry]) -> None:
    """Print a table for each entry of `calibrate_policies`."""
    console = stdout()
    for entry in entries:
        heads = ("tenth of the polls", "polls", "predicted", "found changed", "difference")
        table = Table(
            *(Column(head, justify="right") for head in heads),
            title=f"predictions of {predictor(entry)}",
            caption=_summary(entry),
        )
        for number, decile in enumerate(entry["deciles"], start=1):
            predicted, observed = decile["predicted"], decile["observed"]
            chances = f"{predicted:.4f}", f"{observed:.4f}", f"{predicted - observed:+.4f}"
            table.add_row(str(number), f"{decile['polls']:,}", *chances)
        console.print(table)


def predictor(entry: Entry) -> str:
    """Whose predictions an entry has, and under which budget."""
    return f"{entry['policy']} for {entry['objective']}, {entry['budget']}"


def _summary(entry: Entry) -> str:
    brier = f"Brier score of the chances {entry['brier']:.4f}"
    if not entry["forecasts"]:
        return f"{brier}; the history is too short for a forecast of {entry['horizon_days']:g} days"
    held = ", ".join(
        f"{name} {entry['coverage'][key]:.0%} (forecast {entry['bias'][key]:+.0%} off on average)"
        for key, name in _FIGURES.items()
    )
    return (
        f"{brier}; of {entry['forecasts']} forecasts of {entry['horizon_days']:g} days, the 80 %"
        f" intervals held: {held}"
    )
