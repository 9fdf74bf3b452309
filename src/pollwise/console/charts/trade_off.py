"""Draws what policies make of their polls: the figures of a replay against each other."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pollwise.experiments.figure_files import save

__all__ = ["draw_trade_off"]

Figures = Mapping[str, Any]

_LABELS = {
    "polls": "polls",
    "captured": "share of the changes seen",
    "freshness": "freshness",
    "delay_days": "mean delay, days",
    "age_days": "mean age of the copies, days",
    "value_captured": "share of the value captured",
    "items_captured": "share of the items captured",
}
_PANELS = [
    ("captured", "freshness"),
    ("captured", "delay_days"),
    ("items_captured", "value_captured"),
]
_OF_AGE = ("captured", "age_days")
_TIMES = ("delay_days", "age_days")
_MARKS = "osD^vP*Xpdh<>8"


def draw_trade_off(path: Path, title: str, results: Sequence[Figures]) -> None:
    """Draw the entries of `replay_policies` into a PNG file.

    With several budgets: each figure against the number of polls, a curve for each policy. With
    one: the figures against each other, a mark for each policy. Ages are drawn if one of the
    entries is for the objective age.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    several = len({result["budget"] for result in results}) > 1
    pairs = [pair for pair in _PANELS if pair[1] in results[0]]
    if any(result["objective"] == "age" for result in results):
        pairs.append(_OF_AGE)
    if several:
        pairs = [("polls", name) for name in dict.fromkeys(name for pair in pairs for name in pair)]
    figure = Figure(figsize=(4.6 * len(pairs) + 2.2, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(pairs), squeeze=False)[0]
    for panel, (x, y) in zip(panels, pairs, strict=True):
        _draw(panel, x, y, _curves(results))
        if several:
            _by_budgets(panel, results)
            if y in _TIMES:
                _in_plain_logarithms(panel)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    figure.suptitle(title, fontsize=11)
    save(figure, path)


def _by_budgets(panel: Any, results: Sequence[Figures]) -> None:
    """The polls of each budget along the axis."""
    polls = {result["budget"]: result["polls"] for result in results}.values()
    panel.set_xscale("log")
    panel.set_xticks(list(polls), [f"{number:,}" for number in polls])
    panel.minorticks_off()


def _in_plain_logarithms(panel: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator

    panel.set_yscale("log")
    panel.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
    for set_formatter in (panel.yaxis.set_major_formatter, panel.yaxis.set_minor_formatter):
        set_formatter(FuncFormatter(lambda days, _: f"{days:g}"))


def _curves(results: Sequence[Figures]) -> dict[str, list[Figures]]:
    """The entries of each policy and objective, by what the legend calls them."""
    objectives = {result["objective"] for result in results} - {None}
    curves: dict[str, list[Figures]] = {}
    for result in results:
        aim = result["objective"]
        label = f"{result['policy']}, {aim}" if aim and len(objectives) > 1 else result["policy"]
        curves.setdefault(label, []).append(result)
    return curves


def _draw(panel: Any, x: str, y: str, curves: Mapping[str, Sequence[Figures]]) -> None:
    for number, (label, curve) in enumerate(curves.items()):
        points = sorted((result[x], result[y]) for result in curve)
        panel.plot(
            *zip(*points, strict=True),
            marker=_MARKS[number % len(_MARKS)],
            color=f"C{number % 10}",
            linestyle="-" if number < 10 else "--",
            label=label,
        )
    panel.set(xlabel=_LABELS[x], ylabel=_LABELS[y])
    panel.grid(alpha=0.3, which="both")
