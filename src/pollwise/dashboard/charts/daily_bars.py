"""Changes found on each of the latest days, beside what is expected of a day."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pollwise.console.quantities import count, number
from pollwise.dashboard.charts.drawing import Scale, drawing, element, room_for, round_steps
from pollwise.insight.forecasts import Interval

__all__ = ["Day", "daily_bars"]

_WIDTH, _HEIGHT = 440, 150
_RIGHT, _TOP, _BOTTOM = 12, 26, 24
_GAP = 3


@dataclass(frozen=True, slots=True)
class Day:
    """A day that begins at `begin` (UTC seconds), with the changes `found` in it."""

    begin: float
    found: int

    @property
    def name(self) -> str:
        """The day as people say it, such as 3 Nov."""
        moment = time.gmtime(self.begin)
        return f"{moment.tm_mday} {time.strftime('%b', moment)}"


def daily_bars(days: Sequence[Day], expected: Interval | None) -> Markup:
    """A bar for each day, the present one last; `expected` are the changes of a whole day."""
    most = max(day.found for day in days)
    ticks = round_steps(max(most, 0.0 if expected is None else expected.high), 3)
    up = Scale(0.0, ticks[-1], _HEIGHT - _BOTTOM, _TOP)
    left = room_for(map(number, ticks))
    step = (_WIDTH - left - _RIGHT) / len(days)
    parts = []
    for tick in ticks:
        y, kind = up(tick), "axis" if tick == 0 else "grid"
        parts.append(element("line", x1=left, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_=kind))
        parts.append(element("text", number(tick), x=left - 6, y=y + 4, text_anchor="end"))
    if expected is not None:
        parts += _expected(expected, up, left)
    for place, day in enumerate(days):
        x, y = left + place * step, up(day.found)
        bar = element(
            "rect",
            element("title", f"{day.name}: {day.found:,}"),
            x=round(x + _GAP / 2, 1),
            y=y,
            width=round(step - _GAP, 1),
            height=round(up(0.0) - y, 1),
            class_="bar today" if place == len(days) - 1 else "bar",
        )
        parts.append(bar)
    ends = ((0, "start", left), (len(days) - 1, "end", _WIDTH - _RIGHT))
    for place, anchor, x in ends[-min(len(days), 2) :]:
        name = "today" if place == len(days) - 1 else days[place].name
        parts.append(element("text", name, x=x, y=_HEIGHT - 6, text_anchor=anchor))
    parts.append(element("text", "changes found each day (UTC)", x=left, y=12, class_="name"))
    told = "" if expected is None else f" Expected of a day: {number(expected.mean)}."
    found = sum(day.found for day in days)
    return drawing(
        "Changes found on each of the latest days",
        f"{count(found, 'change')} in {count(len(days), 'day')}, {number(most)} at most.{told}",
        parts,
        width=_WIDTH,
        height=_HEIGHT,
    )


def _expected(expected: Interval, up: Scale, left: float) -> list[Markup]:
    low, mean, high = (up(figure) for figure in (expected.low, expected.mean, expected.high))
    width = _WIDTH - left - _RIGHT
    return [
        element("rect", x=left, y=high, width=width, height=round(low - high, 1), class_="band"),
        element("line", x1=left, x2=_WIDTH - _RIGHT, y1=mean, y2=mean, class_="expected"),
        element("text", "expected", x=_WIDTH - _RIGHT, y=12, text_anchor="end", class_="name"),
    ]
