"""Draws the year of the demonstration: when pages changed, and when they were polled."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from pollwise.console.tables import short
from pollwise.experiments.demonstration import DemoFigures, Demonstration, DemoSchedule
from pollwise.experiments.figure_files import save
from pollwise.live.demo import Watcher
from pollwise.testing.timelapse import TimeLapse

__all__ = ["draw_year"]

_ROWS = 50
"""Pages that are drawn, at the most."""
_LONGEST = 60
"""Characters of a page's name."""


def draw_year(
    path: Path,
    timelapse: TimeLapse,
    demonstration: Demonstration,
    watchers: Sequence[Watcher],
    names: Mapping[tuple[str, str], str],
) -> None:
    """Draw the watchers side by side, and the figures of all schedules, into a PNG file.

    `names` are those of schedules, by policy and objective.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    changes = [np.array(timelapse.change_times(name)) for name in timelapse.page_names]
    order = sorted(range(len(changes)), key=lambda page: -len(changes[page]))
    shown = order[:: -(-len(order) // _ROWS)]
    figure = Figure(figsize=(13.0, 11.0), layout="constrained")
    FigureCanvasAgg(figure)
    years, bars = figure.subfigures(2, 1, squeeze=False, height_ratios=[3.2, 1.0])[:, 0]
    panels = years.subplots(1, len(watchers), sharey=True, squeeze=False)[0]
    for panel, watcher in zip(panels, watchers, strict=True):
        _draw_polls(panel, timelapse, [changes[page] for page in shown], shown, watcher)
        panel.set_title(f"{names[watcher.policy, 'freshness']} ({watcher.policy})", fontsize=10)
    labels = [short(timelapse.page_names[page], _LONGEST) for page in shown]
    panels[0].set_yticks(range(len(shown)), labels, fontsize=5)
    panels[0].invert_yaxis()
    years.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    years.suptitle(
        f"{len(shown)} of {demonstration.pages} real pages, polled at {demonstration.budget}",
        fontsize=12,
    )
    _draw_figures(bars, demonstration.results, names)
    save(figure, path)


def _draw_polls(
    panel: Any,
    timelapse: TimeLapse,
    changes: Sequence[Any],
    shown: Sequence[int],
    watcher: Watcher,
) -> None:
    """A row for each page: a tick where it changed, a point where it was polled."""
    rows = {page: row for row, page in enumerate(shown)}
    polled = [(rows[poll.page], poll.at) for poll in watcher.polls if poll.page in rows]
    for row, times in enumerate(changes):
        marks = [datetime.fromtimestamp(at, UTC) for at in times]
        label = {"label": "the page changed"} if row == 0 else {}
        panel.vlines(marks, row - 0.45, row + 0.1, colors="C3", lw=0.6, **label)
    panel.plot(
        [datetime.fromtimestamp(at, UTC) for _, at in polled],
        [row + 0.3 for row, _ in polled],
        "C0.",
        ms=1.8,
        label="it was polled",
    )
    begin, end = (datetime.fromtimestamp(t, UTC) for t in (timelapse.start, timelapse.end))
    panel.set_xlim(begin, end)
    panel.tick_params(axis="x", labelsize=7)
    panel.margins(y=0.01)


def _draw_figures(
    bars: Any, schedules: Sequence[DemoSchedule], names: Mapping[tuple[str, str], str]
) -> None:
    labels = [names[each.policy, each.objective] for each in schedules]
    kinds = ["" if each.requests is not None else " (simulated)" for each in schedules]
    figures: Sequence[tuple[str, str, str]] = (
        ("seen", "share of the changes seen", ".0%"),
        ("delay_days", "mean delay, days", ".1f"),
        ("freshness", "freshness", ".3f"),
    )
    panels = bars.subplots(1, len(figures), sharey=True)
    places = np.arange(len(schedules))
    for panel, (key, title, form) in zip(panels, figures, strict=True):
        for shift, colour, label, of in (
            (-0.2, "C0", "all pages", [each.all_pages for each in schedules]),
            (0.2, "C9", "without the fast", [each.without_fast for each in schedules]),
        ):
            values = [_value(one, key) for one in of]
            drawn = panel.barh(places + shift, values, 0.38, color=colour, label=label)
            panel.bar_label(drawn, [format(value, form) for value in values], fontsize=7, padding=2)
        panel.set_title(title, fontsize=9)
        panel.margins(x=0.15)
        panel.tick_params(labelsize=7)
    panels[0].set_yticks(places, [a + b for a, b in zip(labels, kinds, strict=True)], fontsize=8)
    panels[0].invert_yaxis()
    bars.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)


def _value(figures: DemoFigures, key: str) -> float:
    value: float = getattr(figures, key)
    return value
