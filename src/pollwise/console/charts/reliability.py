"""Draws how predicted chances compare with what happened over a replay."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pollwise.console.calibrations import predictor
from pollwise.experiments.figure_files import save

__all__ = ["draw_calibration"]

Entry = Mapping[str, Any]


def draw_calibration(path: Path, title: str, entries: Sequence[Entry]) -> None:
    """Draw the reliability diagram as a PNG file, with a curve for each entry.

    The bars are two standard errors of the share of polls that found a change.
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
        axes.errorbar(predicted, observed, yerr=error, fmt="o-", ms=4, label=predictor(entry))
        top = max(top, *predicted, *(observed + error))
    top = min(1.1 * top, 1.0) or 1.0
    axes.set(xlabel="predicted chance of a change", ylabel="share of polls that found one")
    axes.set(xlim=(0, top), ylim=(0, top), title=title)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    save(figure, path)
