"""What budgets bring: a figure over budgets, with its interval, and where one stands now."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pollwise.console.quantities import number
from pollwise.dashboard.charts.drawing import Scale, drawing, element, path, room_for, round_steps
from pollwise.dashboard.wording import budget_text, share
from pollwise.insight.forecasts import Interval
from pollwise.insight.plan import Plan, PlannedBudget

__all__ = ["found_curve", "freshness_curve"]

_WIDTH, _HEIGHT = 440, 210
_RIGHT, _TOP, _BOTTOM = 12, 26, 26
_TICKS = 5
_NEAR = 0.12
"""Of the width: labels that stand closer together would overlap."""


@dataclass(frozen=True, slots=True)
class _Figure:
    """Which figure of budgets is drawn: its name, how it is said, and its greatest value."""

    name: str
    of: Callable[[PlannedBudget], Interval]
    said: Callable[[float], str]
    kind: str
    most: float | None = None


_PERIODS = (("day", 1.0), ("week", 7.0), ("year", 365.25))
"""The units of time in which changes are told, in days."""
_FRESHNESS = _Figure("copies that are fresh", lambda one: one.freshness, share, "other", most=1.0)


def found_curve(plan: Plan, chosen: PlannedBudget | None = None) -> Markup:
    """Changes found over budgets, of a plan with a `curve`; `chosen` is marked, too.

    They are those of a day, or of a longer time if they are few.
    """
    most = max((one.found_per_day.high for one in plan.curve or ()), default=0.0)
    name, days = next((one for one in _PERIODS if most * one[1] >= 1.0), _PERIODS[-1])
    found = _Figure(
        f"changes found a {name}", lambda one: one.found_per_day * days, number, "found"
    )
    return _curve(plan, chosen, found)


def freshness_curve(plan: Plan, chosen: PlannedBudget | None = None) -> Markup:
    """The share of copies that are fresh over budgets; as `found_curve`."""
    return _curve(plan, chosen, _FRESHNESS)


def _curve(plan: Plan, chosen: PlannedBudget | None, figure: _Figure) -> Markup:
    assert plan.curve is not None  # it was asked for
    assert plan.results is not None
    points = sorted(plan.curve, key=lambda one: one.budget_per_day)
    [present] = [one for one in plan.results if one.factor == 1.0]
    high = figure.most or max(figure.of(one).high for one in points)
    ticks = round_steps(high, 4)
    shown = [one for one in ticks if figure.most is None or one <= figure.most]
    across = Scale(
        points[0].budget_per_day,
        points[-1].budget_per_day,
        room_for(map(figure.said, shown)),
        _WIDTH - _RIGHT,
        logarithmic=True,
    )
    up = Scale(0.0, figure.most or ticks[-1], _HEIGHT - _BOTTOM, _TOP)
    marked = [present] if chosen is None else [present, chosen]
    return drawing(
        f"{figure.name.capitalize()}, over budgets",
        _described(plan, points, marked, figure),
        [
            *_axes(plan, present, shown, across, up, figure),
            element("path", d=_band(points, across, up, figure), class_="band"),
            element(
                "path",
                d=path([(across(o.budget_per_day), up(figure.of(o).mean)) for o in points]),
                class_=f"line {figure.kind}",
            ),
            *_marks(present, chosen, across, up, figure),
            element("text", figure.name, x=across.begin, y=12, class_="name"),
        ],
        width=_WIDTH,
        height=_HEIGHT,
    )


def _axes(
    plan: Plan,
    present: PlannedBudget,
    ticks: Sequence[float],
    across: Scale,
    up: Scale,
    figure: _Figure,
) -> list[Markup]:
    parts = []
    results = plan.results or ()
    for tick in ticks:
        y = up(tick)
        kind = "axis" if tick == 0 else "grid"
        parts.append(element("line", x1=across.begin, x2=across.end, y1=y, y2=y, class_=kind))
        said = figure.said(tick)
        parts.append(element("text", said, x=across.begin - 6, y=y + 4, text_anchor="end"))
    for place, result in enumerate(results):
        anchor = "start" if place == 0 else "end" if place == len(results) - 1 else "middle"
        x = across(result.budget_per_day)
        said = plan.budget.strip()
        if result is not present:  # the unit once
            said = budget_text(result.budget_per_day, plan.budget, plan.pages).partition("/")[0]
        parts.append(element("text", said, x=x, y=_HEIGHT - 8, text_anchor=anchor))
    return parts


def _band(points: Sequence[PlannedBudget], across: Scale, up: Scale, figure: _Figure) -> str:
    above = [(across(one.budget_per_day), up(figure.of(one).high)) for one in points]
    below = [(across(one.budget_per_day), up(figure.of(one).low)) for one in points]
    return path([*above, *below[::-1]], closed=True)


def _marks(
    present: PlannedBudget,
    chosen: PlannedBudget | None,
    across: Scale,
    up: Scale,
    figure: _Figure,
) -> list[Markup]:
    """Where one stands now and where one would stand, each with its figure beside it."""
    parts = []
    x = across(present.budget_per_day)
    parts.append(element("line", x1=x, x2=x, y1=_TOP, y2=_HEIGHT - _BOTTOM, class_="here"))
    is_near = chosen is not None and (abs(across(chosen.budget_per_day) - x) < _NEAR * _WIDTH)
    if not is_near:
        parts += _mark(present, "now", across, up, figure)
    if chosen is not None:
        parts += _mark(chosen, "then", across, up, figure)
    return parts


def _mark(one: PlannedBudget, name: str, across: Scale, up: Scale, figure: _Figure) -> list[Markup]:
    x, y = across(one.budget_per_day), up(figure.of(one).mean)
    is_right = x > _WIDTH / 2
    return [
        element("circle", cx=x, cy=y, r=5, class_=f"dot {figure.kind}"),
        element(
            "text",
            f"{name} {figure.said(figure.of(one).mean)}",
            x=x - 8 if is_right else x + 8,
            y=max(y - 9, _TOP),
            text_anchor="end" if is_right else "start",
            class_="name",
        ),
    ]


def _described(
    plan: Plan, points: Sequence[PlannedBudget], marked: Sequence[PlannedBudget], figure: _Figure
) -> str:
    """The chart in words, for who cannot see it."""

    def told(one: PlannedBudget) -> str:
        budget = budget_text(one.budget_per_day, plan.budget, plan.pages)
        return f"{figure.said(figure.of(one).mean)} with {budget}"

    ends = map(told, (points[0], points[-1]))
    here = (f"{name} {told(one)}" for name, one in zip(("now", "then"), marked, strict=False))
    return f"From {' to '.join(ends)}; {', '.join(here)}."
