"""Draws what an experiment measured as a PNG file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pollwise.experiments.experiment import POLLS_TO_SHARE, Measurements, Row

__all__ = ["draw"]

_LINES = ("-", "--", "-.", ":")


def draw(path: Path, title: str, measured: Measurements) -> None:
    """Write a figure: curves if there are any, else the table as points."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 5.5), layout="constrained")
    FigureCanvasAgg(figure)
    if measured.curves:
        _draw_curves(figure.add_subplot(), measured)
    else:
        _draw_points(figure, measured.rows)
    figure.suptitle(title, fontsize=11)
    figure.savefig(path, dpi=120)


def _draw_curves(axes: Any, measured: Measurements) -> None:
    for number, curve in enumerate(measured.curves):
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
    axes.set(xlabel=measured.x_label, ylabel=measured.y_label, xscale="log")
    if measured.log_y:
        axes.set_yscale("log")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)


def _draw_points(figure: Any, rows: Sequence[Row]) -> None:
    """A panel per column, a line per row; published values as crosses."""
    columns = list(dict.fromkeys(row.column for row in rows))
    names = list(dict.fromkeys(row.row for row in rows))[::-1]
    across = min(len(columns), 4)
    figure.set_size_inches(
        3.0 + 2.4 * across, (1.2 + 0.22 * len(names)) * -(-len(columns) // across)
    )
    panels = figure.subplots(-(-len(columns) // across), across, sharey=True, squeeze=False)
    for panel in panels.flat[len(columns) :]:
        panel.set_visible(False)
    for panel, column in zip(panels.flat, columns, strict=False):
        mine = [row for row in rows if row.column == column and row.value is not None]
        spots = [names.index(row.row) for row in mine]
        errors = [2 * (row.stderr or 0.0) for row in mine]
        panel.errorbar(
            [row.value for row in mine], spots, xerr=errors, fmt="o", ms=4, label="here ± 2 se"
        )
        printed = [row for row in mine if row.published is not None]
        if printed:
            spots = [names.index(row.row) for row in printed]
            panel.plot([row.published for row in printed], spots, "xC3", label="published")
        if column.endswith(POLLS_TO_SHARE):
            panel.set_xscale("log")
        panel.set_title(column, fontsize=9)
        panel.set_yticks(range(len(names)), names, fontsize=8)
        panel.tick_params(axis="x", labelsize=8)
        panel.grid(alpha=0.3)
        if printed or column == columns[0]:
            panel.legend(fontsize=7)
