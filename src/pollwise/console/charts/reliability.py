"""What people see of a calibration: whether what was predicted over a replay came true."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Column, Table

__all__ = ["draw_calibration", "print_calibration"]

Entry = Mapping[str, Any]

_FIGURES = {"found_per_day": "changes found a day", "freshness": "freshness", "delay": "delay"}


def print_calibration(entries: Sequence[Entry]) -> None:
    """Print a table for each entry of `simulation.compare.calibrations.calibrate_policies`."""
    console = Console(markup=False, highlight=False, emoji=False)
    for entry in entries:
        heads = ("tenth of the polls", "polls", "predicted", "found changed", "difference")
        table = Table(
            *(Column(head, justify="right") for head in heads),
            title=f"predictions of {_name(entry)}",
            caption=_summary(entry),
        )
        for number, decile in enumerate(entry["deciles"], start=1):
            predicted, observed = decile["predicted"], decile["observed"]
            chances = f"{predicted:.4f}", f"{observed:.4f}", f"{predicted - observed:+.4f}"
            table.add_row(str(number), f"{decile['polls']:,}", *chances)
        console.print(table)


def _name(entry: Entry) -> str:
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


def draw_calibration(path: Path, title: str, entries: Sequence[Entry]) -> None:
    """Draw the reliability diagram as a PNG file, a curve for each entry.

    The bars are two standard errors of the share of the polls that found a change.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 6.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="0.6", lw=1, label="perfect")
    top = 0.0
    for entry in entries:
        predicted, observed, count = (
            np.array([decile[key] for decile in entry["deciles"]])
            for key in ("predicted", "observed", "polls")
        )
        error = 2 * np.sqrt(observed * (1 - observed) / count)
        axes.errorbar(predicted, observed, yerr=error, fmt="o-", ms=4, label=_name(entry))
        top = max(top, *predicted, *(observed + error))
    top = min(1.1 * top, 1.0) or 1.0
    axes.set(xlabel="predicted chance of a change", ylabel="share of polls that found one")
    axes.set(xlim=(0, top), ylim=(0, top), title=title)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=120)
