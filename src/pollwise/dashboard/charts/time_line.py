"""The time line of a page: its polls, when it changed, and the versions that are kept."""

from markupsafe import Markup

from pollwise.console.quantities import count
from pollwise.dashboard.charts.drawing import Scale, drawing, element, length_of, time_steps
from pollwise.dashboard.wording import ago
from pollwise.insight.timeline import TimedChange, TimedPoll, TimeLine
from pollwise.types import Outcome

__all__ = ["time_line"]

_WIDTH, _HEIGHT = 900, 132
_LEFT, _RIGHT = 76, 14
_POLLS, _CHANGES, _VERSIONS, _AXIS = 24, 58, 88, 112
_STEPS = 8
_LEAST = 60.0
"""Seconds that a time line reaches over."""
_MOST_STILL = 1 / 3
"""The most time since the latest event, as a share of that before it."""


def time_line(line: TimeLine, now: float) -> Markup:
    """All that is kept of a page, up to `now` (UTC seconds); empty if there is nothing yet.

    Of a long time in which nothing happened since, as of a paused page, only the beginning is
    drawn: small screens show the end alone.
    """
    if line.begin is None or line.end is None:
        return Markup()
    still = max(line.end - line.begin, _LEAST) * _MOST_STILL
    end = max(min(now, line.end + still), line.end)
    across = Scale(min(line.begin, end - _LEAST), end, _LEFT, _WIDTH - _RIGHT)
    return drawing(
        "Polls, changes and versions over time",
        _described(line, now),
        [
            *_axis(across),
            *(_poll(poll, across(poll.polled_at)) for poll in line.polls),
            *_changes(line, across),
            *(
                element(
                    "rect",
                    element("title", f"version {one.version}"),
                    x=across(one.seen_at) - 4,
                    y=_VERSIONS - 4,
                    width=8,
                    height=8,
                    class_="version",
                )
                for one in line.versions
            ),
        ],
        width=_WIDTH,
        height=_HEIGHT,
    )


def _axis(across: Scale) -> list[Markup]:
    lanes = ((_POLLS, "polls"), (_CHANGES, "changed"), (_VERSIONS, "versions"))
    parts = [element("text", name, x=0, y=y + 4, class_="name") for y, name in lanes]
    parts += [
        element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_="grid") for y, _ in lanes
    ]
    for at, said in time_steps(across.low, across.high, _STEPS):
        x = across(at)
        parts.append(element("line", x1=x, x2=x, y1=10, y2=_AXIS - 6, class_="grid"))
        middle = min(x, _WIDTH - length_of(said) / 2)  # within the picture, at its end too
        parts.append(element("text", said, x=middle, y=_AXIS + 8, text_anchor="middle"))
    return parts


def _poll(poll: TimedPoll, x: float) -> Markup:
    """A tick for a poll that found nothing new, a dot for one that did, a cross for a failure."""
    if poll.outcome is Outcome.CHANGED:
        return element("circle", cx=x, cy=_POLLS, r=4, class_="changed")
    if poll.outcome is Outcome.UNCHANGED:
        return element("line", x1=x, x2=x, y1=_POLLS - 5, y2=_POLLS + 5, class_="unchanged")
    cross = f"M{x - 4:g} {_POLLS - 4}l8 8m0 -8l-8 8"
    return element("path", d=cross, class_="failed")


def _changes(line: TimeLine, across: Scale) -> list[Markup]:
    """Each change of content as the stretch of time in which it happened."""
    parts = []
    for one in _of_content(line):
        begin, end = across(one.before_at), across(one.seen_at)
        width = max(round(end - begin, 1), 2.0)
        parts.append(
            element("rect", x=begin, y=_CHANGES - 7, width=width, height=14, class_="span")
        )
        parts.append(
            element("line", x1=end, x2=end, y1=_CHANGES - 7, y2=_CHANGES + 7, class_="line")
        )
    return parts


def _of_content(line: TimeLine) -> list[TimedChange]:
    """The changes but for those that tell that the page was gone, or back as it was."""
    return [one for one in line.changes if one.kind.is_of_content]


def _described(line: TimeLine, now: float) -> str:
    failed = sum(poll.outcome not in (Outcome.CHANGED, Outcome.UNCHANGED) for poll in line.polls)
    changes = len(_of_content(line)) + line.left_out
    begin = "" if line.begin is None else f", since {ago(line.begin, now)}"
    return (
        f"{count(len(line.polls), 'poll')}, {failed} of them without a copy,"
        f" {count(changes, 'change')} and {count(len(line.versions), 'version')}{begin}."
    )
