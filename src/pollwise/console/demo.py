"""What people see of `pollwise demo`: the year while it passes, and what came of it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from pollwise.console.display import Display
from pollwise.console.streams import stdout
from pollwise.console.tables import short
from pollwise.experiments.demonstration import DemoFigures, Demonstration, DemoSchedule
from pollwise.live.demo import Watcher
from pollwise.testing.timelapse import TimeLapse, site_of

__all__ = ["NAMES", "DemoDisplay", "print_demo"]

Counts = NDArray[np.int64]

_ROWS, _COLUMNS = 14, 26
_BARS = " ▁▂▃▄▅▆▇█"
_MISSED = "x"
NAMES = {
    ("bayes-index", "freshness"): "learned",
    ("bayes-index", "delay"): "learned, objective delay",
    ("uniform", "freshness"): "every page alike",
    ("stormcrawler", "freshness"): "×0.5 if changed, else ×1.5",
    ("whittle", "freshness"): "told the change rates",
}
"""What people call a schedule, by policy and objective."""


class DemoDisplay(Display):
    """The year of some pages as the watchers see it, side by side."""

    line_interval = 5.0

    def __init__(self, timelapse: TimeLapse, getting_ready: str) -> None:
        self._timelapse = timelapse
        self._names = timelapse.page_names
        self._bins = np.linspace(timelapse.start, timelapse.end, _COLUMNS + 1)
        changes = [np.array(timelapse.change_times(name)) for name in self._names]
        self._shown = _spread(list(map(len, changes)))
        self._changes = {page: changes[page] for page in self._shown}
        self._getting_ready = getting_ready
        self._after = ""
        self._watchers: Mapping[str, Watcher] = {}
        super().__init__()
        if not self._console.is_terminal:
            self._console.print(getting_ready)

    def say(self, text: str) -> None:
        """Show what is done after the year."""
        self._after = text
        if not self._console.is_terminal:
            self._console.print(text)

    def show(self, watchers: Mapping[str, Watcher]) -> None:
        """Show how far the watchers are."""
        self._watchers = watchers
        self._tell_at_times()

    def _picture(self) -> Table | Text | Group:
        if not self._watchers:
            return Text(self._getting_ready)
        sites = len({site_of(name) for name in self._names})
        table = Table(
            title=self._after or f"{len(self._names)} real pages of {sites} sites, over HTTP",
            box=None,
            padding=(0, 2, 0, 0),
        )
        table.add_column("one page in " + str(round(len(self._names) / _ROWS)), width=20)
        rows: dict[int, list[str | Text]] = {
            page: [short(self._names[page], 20)] for page in self._shown
        }
        footer = [Text("changes in polls")]
        for watcher in self._watchers.values():
            table.add_column(NAMES[watcher.policy, "freshness"], width=_COLUMNS, no_wrap=True)
            for page, cells in self._cells(watcher).items():
                rows[page].append(cells)
            footer.append(Text(_found(watcher, "{day}: {found:,d} in {polls:,d}")))
        for row in rows.values():
            table.add_row(*row)
        table.add_section()
        table.add_row(*footer, style="bold")
        legend = Text.assemble(
            ("▂▅█", "dim"), " polled, more and more often  ", ("▅", "green"),
            " found a change  ", (_MISSED, "red"), " changed, unseen",
        )  # fmt: skip
        return Group(table, legend)

    def _cells(self, watcher: Watcher) -> dict[int, Text]:
        """By page, a cell for each part of the year that is over or has begun."""
        polls: dict[int, list[float]] = {page: [] for page in self._shown}
        for poll in watcher.polls:
            if poll.has_answer and poll.page in polls:
                polls[poll.page].append(poll.at)
        return {
            page: _line(np.array(times), self._changes[page], self._bins, watcher.now)
            for page, times in polls.items()
        }

    def _line(self) -> str:
        return ", ".join(
            f"{NAMES[watcher.policy, 'freshness']}"
            f" {_found(watcher, 'until {day}: {found:,d} changes in {polls:,d} polls')}"
            for watcher in self._watchers.values()
        )


def _found(watcher: Watcher, form: str) -> str:
    """What a watcher has found so far, in this form."""
    if not watcher.polls:
        return "gets ready"
    day = datetime.fromtimestamp(watcher.now, UTC).strftime("%Y-%m-%d")
    return form.format(day=day, found=watcher.found, polls=len(watcher.polls))


def _spread(changes: Sequence[int]) -> list[int]:
    """Some pages from those that change most to those that never do, one in so many."""
    order = sorted(range(len(changes)), key=lambda page: -changes[page])
    step = max(len(order) / _ROWS, 1.0)
    return [order[int(number * step)] for number in range(min(_ROWS, len(order)))]


def _line(
    polls: NDArray[np.float64],
    changes: NDArray[np.float64],
    bins: NDArray[np.float64],
    now: float,
) -> Text:
    """The year of a page: how often it was polled, and whether that found its changes."""
    text = Text()
    for begin, end in pairwise(bins):
        if begin > now:
            break
        polled = polls[(begin <= polls) & (polls < end)]
        changed = changes[(begin <= changes) & (changes < min(end, now))]
        bar = _BARS[min(len(polled), len(_BARS) - 1)]
        if not len(changed):
            text.append(bar, "dim")
        elif len(polled) and polled[-1] >= changed[0]:
            text.append(bar, "green")
        else:
            text.append(_MISSED, "red")
    return text


def print_demo(demonstration: Demonstration) -> None:
    """What all schedules made of the same polls, and how many uniform would need."""
    console = stdout()
    console.print(
        f"A year of {demonstration.pages} real pages, of which {demonstration.never} never changed,"
        f" polled by each schedule at {demonstration.budget}:\n"
    )
    console.print(_table("all pages", [(each, each.all_pages) for each in demonstration.results]))
    if demonstration.fast:
        rows = [(each, each.without_fast) for each in demonstration.results]
        console.print(_table(f"without {_fast(demonstration)}", rows))
    console.print("* simulated on the same changes; the others watched the pages over HTTP.\n")
    for name in ("learned", "learned, objective delay"):
        [schedule] = [each for each in demonstration.results if _name(each) == name]
        console.print(_as_quick(name, schedule, demonstration))


def _table(title: str, rows: Sequence[tuple[DemoSchedule, DemoFigures]]) -> Table:
    changes = rows[0][1].changes
    table = Table(title=f"{title}: {changes:,d} changes", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("schedule", no_wrap=True)
    for heading in ("seen", "mean delay", "freshness", "uniform needs"):
        table.add_column(heading, justify="right", no_wrap=True)
    for schedule, figures in rows:
        table.add_row(
            _name(schedule) + ("*" if schedule.requests is None else ""),
            f"{100 * figures.seen:.0f} %",
            f"{figures.delay_days:.2f} days",
            f"{figures.freshness:.3f}",
            f"× {figures.uniform_needs:.1f}",
        )
    return table


def _as_quick(name: str, schedule: DemoSchedule, demonstration: Demonstration) -> str:
    """The line that matters."""
    less = ""
    if demonstration.fast:
        less = f" ({schedule.without_fast.uniform_needs:.1f} times without {_fast(demonstration)})"
    return (
        f"To poll every page alike needs {schedule.all_pages.uniform_needs:.1f} times the requests"
        f" to be as quick as {name!r}, by mean delay{less}."
    )


def _fast(demonstration: Demonstration) -> str:
    if demonstration.fast == 1:
        return "the page that changed more often than daily"
    return f"the {demonstration.fast} pages that changed more often than daily"


def _name(schedule: DemoSchedule) -> str:
    return NAMES[schedule.policy, schedule.objective]
