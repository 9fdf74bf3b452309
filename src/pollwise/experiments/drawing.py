"""Draws what an experiment measured as a PNG file."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pollwise.experiments.experiment import POLLS_TO_SHARE, Measurements, Row
from pollwise.experiments.figure_files import save

__all__ = ["draw"]

_LINES = ("-", "--", "-.", ":")
_LETTERS_PER_INCH = 11
"""Of a title."""
_LEGEND_OUTSIDE = 8
"""More labels than that would hide the curves."""


def draw(path: Path, title: str, measured: Measurements) -> None:
    """Write a figure: curves if there are any, else the table as points."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 5.5), layout="constrained")
    FigureCanvasAgg(figure)
    if measured.curves:
        _draw_curves(figure, measured)
    else:
        _draw_table(figure, measured.rows)
    across = int(figure.get_figwidth() * _LETTERS_PER_INCH)
    figure.suptitle("\n".join(textwrap.wrap(title, across)), fontsize=11)
    save(figure, path)


def _draw_curves(figure: Any, measured: Measurements) -> None:
    axes = figure.add_subplot()
    for number, curve in enumerate(measured.curves):
        if measured.points:
            axes.plot(curve.x, curve.y, ".", ms=3, label=curve.label)
            continue
        style = _LINES[number // 10 % len(_LINES)]
        (line,) = axes.plot(curve.x, curve.y, style, label=curve.label)
        if curve.stderr is not None:
            low, high = (
                [y + sign * error for y, error in zip(curve.y, curve.stderr, strict=True)]
                for sign in (-2, 2)
            )
            axes.fill_between(curve.x, low, high, color=line.get_color(), alpha=0.2, lw=0)
    for number, (label, level) in enumerate(measured.levels.items()):
        axes.axhline(level, color="0.45", linestyle=_LINES[number % len(_LINES)], lw=1, label=label)
    axes.set(xlabel=measured.x_label, ylabel=measured.y_label)
    axes.set_xscale("log" if measured.log_x else "linear")
    axes.grid(alpha=0.3)
    if len(measured.curves) + len(measured.levels) > _LEGEND_OUTSIDE:
        figure.legend(fontsize=8, loc="outside right center")
    else:
        axes.legend(fontsize=8)


def _draw_table(figure: Any, rows: Sequence[Row]) -> None:
    """A panel per column, a line per row; printed numbers as crosses."""
    columns = list(dict.fromkeys(row.column for row in rows))
    names = list(dict.fromkeys(row.row for row in rows))[::-1]
    across = min(len(columns), 3)
    figure.set_size_inches(
        3.0 + 2.8 * across, (1.2 + 0.22 * len(names)) * -(-len(columns) // across)
    )
    panels = figure.subplots(-(-len(columns) // across), across, sharey=True, squeeze=False)
    for panel in panels.flat[len(columns) :]:
        panel.set_visible(False)
    for panel, column in zip(panels.flat, columns, strict=False):
        mine = [row for row in rows if row.column == column]
        found = [
            (row.value, names.index(row.row), row.stderr) for row in mine if row.value is not None
        ]
        errors = [2 * (stderr or 0.0) for _, _, stderr in found]
        values, spots = [value for value, _, _ in found], [spot for _, spot, _ in found]
        panel.errorbar(values, spots, xerr=errors, fmt="o", ms=4, label="here ± 2 se")
        printed = [(row.published.value, names.index(row.row)) for row in mine if row.published]
        if printed:
            panel.plot(*zip(*printed, strict=True), "xC3", label="printed")
        if column.endswith(POLLS_TO_SHARE):
            panel.set_xscale("log")
        panel.set_title(column, fontsize=9)
        panel.set_yticks(range(len(names)), names, fontsize=8)
        panel.tick_params(axis="x", labelsize=8)
        panel.grid(alpha=0.3)
        if printed or column == columns[0]:
            panel.legend(fontsize=7)
