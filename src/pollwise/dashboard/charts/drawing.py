"""What all charts are made of: escaped elements, scales, and round numbers for their axes."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

from markupsafe import Markup

from pollwise.units import DAY, HOUR

__all__ = [
    "Scale",
    "drawing",
    "element",
    "length_of",
    "path",
    "room_for",
    "round_steps",
    "time_steps",
]

_ids = count()
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_TIME_STEPS = (
    *(60.0, 300.0, 900.0, 1800.0),
    *(HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR),
    *(DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 91 * DAY),
    *(365 * DAY, 730 * DAY, 1825 * DAY, 3650 * DAY, 18_250 * DAY),
)
_MOST_SHOWN = 9_999_999_999.0
"""UTC seconds."""
_CHARACTER = 8.5
"""The width of a digit or letter in the widest of usual fonts."""
_LEAST_ROOM = 46.0


@dataclass(frozen=True, slots=True)
class Scale:
    """Where figures from `low` to `high` stand between the places `begin` and `end`.

    `logarithmic`: equal steps are equal multiples; `low` is above 0 then.
    """

    low: float
    high: float
    begin: float
    end: float
    logarithmic: bool = False

    def __call__(self, figure: float) -> float:
        """The place of a figure, to a tenth; outside of the scale that of its nearer end."""
        low, high = self.low, self.high
        figure = min(max(figure, low), high)
        if self.logarithmic:
            low, high, figure = math.log(low), math.log(high), math.log(figure)
        part = (figure - low) / (high - low) if high > low else 0.5
        return round(self.begin + part * (self.end - self.begin), 1)


def element(name: str, *children: object, **attributes: object) -> Markup:
    """An element of SVG; a last `_` of attributes is left out, others become `-`.

    >>> element("text", "a < b", class_="name", x=1)
    Markup('<text class="name" x="1">a &lt; b</text>')
    """
    told = Markup().join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), value)
        for key, value in attributes.items()
    )
    return Markup("<{}{}>{}</{}>").format(name, told, Markup().join(map(_escaped, children)), name)


def drawing(
    title: str, description: str, children: Iterable[Markup], *, width: int, height: int
) -> Markup:
    """A whole chart, which says its title and description to who cannot see it."""
    number = next(_ids) % 1_000_000
    return element(
        "svg",
        element("title", title, id=f"chart-{number}-title"),
        element("desc", description, id=f"chart-{number}-text"),
        *children,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_labelledby=f"chart-{number}-title chart-{number}-text",
    )


def path(points: Sequence[tuple[float, float]], *, closed: bool = False) -> str:
    """The `d` of a line through some places.

    >>> path([(0.0, 1.0), (2.0, 3.5)])
    'M0 1L2 3.5'
    """
    line = "L".join(f"{x:g} {y:g}" for x, y in points)
    return f"M{line}{'Z' if closed else ''}"


def round_steps(high: float, steps: int) -> list[float]:
    """Round figures from 0 to `high` or a little more, about so many steps of them.

    >>> round_steps(87.0, 4), round_steps(0.0, 4)
    ([0.0, 25.0, 50.0, 75.0, 100.0], [0.0, 1.0])
    """
    if not 0 < high < math.inf:
        return [0.0, 1.0]
    wanted = high / steps
    size = 10.0 ** math.floor(math.log10(wanted))
    step = size * next(one for one in _STEPS if one * size >= wanted * (1 - 1e-9))
    return [step * number for number in range(math.ceil(high / step * (1 - 1e-9)) + 1)]


def length_of(label: str) -> float:
    """The width of a text, and rather more."""
    return len(label) * _CHARACTER


def room_for(labels: Iterable[str]) -> float:
    """The width that labels beside an upright axis need, with the gap to it.

    >>> room_for(["0", "10"]), room_for(["0", "1,000,000"])
    (46.0, 88.5)
    """
    longest = max(map(length_of, labels), default=0.0)
    return max(longest + 12.0, _LEAST_ROOM)


def time_steps(begin: float, end: float, steps: int) -> list[tuple[float, str]]:
    """Round times (UTC seconds) from `begin` to `end`, at most so many, and how they are said."""
    length = next((one for one in _TIME_STEPS if (end - begin) / one <= steps), 1e12)
    first = math.ceil(begin / length)
    times = [length * number for number in range(first, math.floor(end / length) + 1)]
    return [(at, _said(at, length)) for at in times if 0 <= at <= _MOST_SHOWN]


def _said(at: float, step: float) -> str:
    moment = datetime.fromtimestamp(at, UTC)
    if step < DAY and at % DAY:
        return f"{moment:%H:%M}"
    day = f"{moment.day} {moment:%b}"
    return f"{day} {moment.year}" if step > 30 * DAY else day


def _escaped(child: object) -> Markup:
    return Markup("{}").format(child)
