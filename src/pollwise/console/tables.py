"""What people see: tables on stdout, progress on stderr."""

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TextIO

from rich.console import Console, JustifyMethod, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Column, Table
from rich.text import Text

from pollwise.types import Outcome

if TYPE_CHECKING:
    from pollwise.experiments.experiment import Experiment, Row
    from pollwise.experiments.reproduction import Reproduction
    from pollwise.live.demo import DemoResult, Watcher
    from pollwise.live.loop import Progress, Watched
    from pollwise.web.poller import PollReport

__all__ = [
    "SIMULATION_COLUMNS",
    "Columns",
    "DemoDisplay",
    "Display",
    "WatchDisplay",
    "count",
    "folded",
    "moment",
    "pairs",
    "print_demo",
    "print_experiments",
    "print_reproduction",
    "print_results",
    "progress_line",
    "stdout",
    "trouble_of",
]

Columns = Mapping[str, tuple[str, str]]
"""By key of a result: the heading, and the format of the figure."""

SIMULATION_COLUMNS: Columns = {
    "policy": ("policy", "s"),
    "polls": ("polls", ",d"),
    "found_per_poll": ("found per poll", ".4f"),
    "tail_found_per_poll": ("in the last 20 %", ".4f"),
    "of_ideal": ("of the ideal", ".4f"),
}


def stdout() -> Console:
    """Where answers go."""
    return _console(sys.stdout)


def _stderr() -> Console:
    return _console(sys.stderr)


def _console(stream: TextIO) -> Console:
    """Text as it is: a URL may look like markup or an emoji code."""
    return Console(
        file=stream,
        soft_wrap=not stream.isatty(),
        highlight=False,
        markup=False,
        emoji=False,
    )


def moment(seconds: float | None) -> str:
    """A time in UTC, or a dash."""
    if seconds is None or not math.isfinite(seconds):
        return "-"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


@contextmanager
def progress_line() -> Iterator[Callable[[str], None]]:
    """A line on stderr that says what is being computed."""
    console = _stderr()
    if console.is_terminal:
        with console.status("") as line:
            yield line.update
    else:
        yield lambda text: console.print(text)


def print_results(results: Sequence[Mapping[str, Any]], columns: Columns) -> None:
    """A table with a row for each result; standard errors follow their figures."""
    table = Table()
    for heading, form in columns.values():
        justify: JustifyMethod = "left" if form == "s" else "right"
        table.add_column(heading, justify=justify, overflow="fold")
    for result in results:
        errors = result.get("stderr", {})
        cells = []
        for key, (_, form) in columns.items():
            cell = format(int(result[key]) if form == ",d" else result[key], form)
            cells.append(f"{cell} ± {errors[key]:.4f}" if errors.get(key) else cell)
        table.add_row(*cells)
    stdout().print(table)


def print_experiments(experiments: Sequence[tuple[str, "Experiment"]]) -> None:
    """A line for each experiment."""
    width = max(len(name) for name, _ in experiments)
    for name, experiment in experiments:
        trials = f"{experiment.trials:,d} trials"
        print(f"{name:{width}}  {experiment.title} ({experiment.source}; {trials})")


def print_reproduction(result: "Reproduction") -> None:
    """What an experiment found: the claim, the numbers by row and column, the finding."""
    console = stdout()
    experiment, rows = result.experiment, result.measurements.rows
    console.print(f"{result.name}: {experiment.title} ({experiment.source})")
    console.print(f"Claim: {experiment.claim}")
    columns = list(dict.fromkeys(row.column for row in rows))
    cells = {(row.row, row.column): row for row in rows}
    # As many columns side by side as can be read.
    for begin in range(0, len(columns), _COLUMNS_ACROSS):
        some = columns[begin : begin + _COLUMNS_ACROSS]
        table = Table(Column(""), *(Column(name, justify="right") for name in some))
        for name in dict.fromkeys(row.row for row in rows if row.column in some):
            table.add_row(name, *(_number(cells.get((name, column))) for column in some))
        console.print(table)
    console.print(f"Finding: {result.finding}")
    notes = "± is one standard error"
    if any(row.published is not None for row in rows):
        notes += ", [published values] in brackets"
    console.print(f"Trials: {result.trials:,d} (seeds from 0), {result.seconds:.1f} s; {notes}")
    if result.figure is not None:
        console.print(f"The figure is {result.figure}")


_COLUMNS_ACROSS = 4


def _number(row: "Row | None") -> str:
    """A value, its standard error, and what was published, with as many digits as make sense."""
    if row is None:
        return ""
    if row.value is None or not math.isfinite(row.value):
        text = "-"
    elif 0 < abs(row.value) < 1e-3:
        text = f"{row.value:.1e}"
    else:
        # Two digits of the standard error, if there is one; else five of a small value.
        size = row.stderr or abs(row.value) / 1e3
        digits = 0 if row.value == round(row.value) and not row.stderr else _digits(size)
        text = f"{row.value:,.{digits}f}"
        if row.stderr:
            text += f" ± {row.stderr:.{digits}f}"
    return text if row.published is None else f"{text} [{row.published:,.6g}]"


def _digits(size: float) -> int:
    """After the point, to show two digits of a number."""
    return min(6, max(0, 1 - math.floor(math.log10(size))))


class Display:
    """Something on stderr that follows what happens: live on a terminal, else a line at times.

    Subclasses give the `_picture` and the `_line`, which may be asked for from `__init__` on.
    """

    line_interval: float
    """Seconds between lines where stderr is no terminal."""

    def __init__(self) -> None:
        self._console = _stderr()
        self._live = Live(
            get_renderable=self._picture,
            console=self._console,
            refresh_per_second=4,
            transient=True,
        )
        self._told_at = time.monotonic()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def say(self, text: str) -> None:
        """Show a line of text."""
        self._console.print(f"pollwise: {text}", soft_wrap=True)

    def _picture(self) -> RenderableType:
        """How things stand, for the live region."""
        raise NotImplementedError

    def _line(self) -> str:
        """The same as a line."""
        raise NotImplementedError

    def _tell_at_times(self) -> None:
        now = time.monotonic()
        if not self._console.is_terminal and now - self._told_at >= self.line_interval:
            self._told_at = now
            self._console.print(self._line(), soft_wrap=True)


class DemoDisplay(Display):
    """The two watchers of the demonstration, side by side."""

    line_interval = 5.0

    def __init__(self) -> None:
        self._title = "getting ready"
        self._watchers: Mapping[str, Watcher] = {}
        super().__init__()

    def show(self, now: float, watchers: "Mapping[str, Watcher]") -> None:
        """Show how far the watchers are at `now`, the time in the time-lapse."""
        self._title = _day(now)
        self._watchers = watchers
        self._tell_at_times()

    def say(self, text: str) -> None:
        """Show what is done before the time-lapse begins."""
        self._title = text
        if not self._console.is_terminal:
            self._console.print(text)

    def _picture(self) -> Table:
        table = Table(title=f"{self._title}: 250 real pages, watched over HTTP")
        for heading in ("policy", "polls", "changes found"):
            table.add_column(heading, justify="left" if heading == "policy" else "right")
        for watcher in self._watchers.values():
            table.add_row(watcher.name, str(watcher.polls), str(watcher.found))
        return table

    def _line(self) -> str:
        found = ", ".join(
            f"{watcher.name} {watcher.found} changes in {watcher.polls} polls"
            for watcher in self._watchers.values()
        )
        return f"{self._title}: {found}"


def print_demo(results: "Sequence[DemoResult]") -> None:
    """What both watchers got out of the same budget."""
    from pollwise.live.demo import SETTINGS

    table = Table(title="A year of 250 real pages, the same budget for both", caption=SETTINGS)
    table.add_column("")
    for result in results:
        table.add_column(result.policy, justify="right")
    rows: list[tuple[str, Callable[[DemoResult], str]]] = [
        ("changes found", lambda r: f"{r.found} of {r.changes}"),
        ("freshness", lambda r: f"{r.freshness:.3f}"),
        ("mean delay", lambda r: f"{r.delay_days:.1f} days"),
        ("polls", lambda r: f"{r.polls}"),
        ("requests used", lambda r: f"{r.requests}"),
    ]
    for name, cell in rows:
        table.add_row(name, *(cell(result) for result in results))
    stdout().print(table)


class WatchDisplay(Display):
    """What a running `pollwise watch` finds, a line each, and a summary of it."""

    line_interval = 60.0

    def __init__(self, *, pages: int, budget: str, db: Path) -> None:
        self._polls = self._changes = 0
        self._troubles: dict[int, str] = {}
        """By page: what was wrong at its latest poll."""
        self._spinner = Spinner("dots")
        super().__init__()
        self._console.print(
            f"watching {count(pages, 'page')} at {budget}, database {db};"
            " times are UTC; Ctrl-C ends it",
            soft_wrap=True,
        )

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._console.print(f"stopped: {self._line()}")

    def show(self, progress: "Progress", watched: "Mapping[int, Watched]") -> None:
        """Show what came of a turn; the same trouble with a page is told once."""
        for report in progress.reports:
            self._polls += 1
            observation = report.result.observation
            news = None
            if observation.page_id in progress.first_copies:
                news = "first copy"
            elif observation.outcome is Outcome.CHANGED:
                self._changes += 1
                news = "changed"
            trouble = trouble_of(report)
            if trouble is None:
                self._troubles.pop(observation.page_id, None)
            elif self._troubles.get(observation.page_id) != trouble:
                news = self._troubles[observation.page_id] = trouble
            if news is not None:
                url = watched[observation.page_id].page.url
                polled = moment(observation.polled_at)
                self._console.print(f"{polled}  {news}  {url}", soft_wrap=True)
        self._tell_at_times()

    def _picture(self) -> Spinner:
        self._spinner.update(text=Text(self._line()))
        return self._spinner

    def _line(self) -> str:
        return (
            f"{count(self._polls, 'poll')}, {count(self._changes, 'change')},"
            f" {count(len(self._troubles), 'page')} in trouble"
        )


def trouble_of(report: "PollReport") -> str | None:
    """What was wrong with a poll, in words; None: nothing."""
    if report.result.observation.outcome is Outcome.GONE:
        return "gone"
    return None if report.result.error is None else f"failed ({report.result.error})"


def count(number: int, noun: str) -> str:
    """A number and what it counts, such as `1 poll` or `2,000 polls`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def folded(heading: str) -> Column:
    """A column whose text may be long, but is wanted whole, such as a URL."""
    return Column(heading, overflow="fold")


def pairs(title: str, rows: Sequence[tuple[str, str]]) -> Table:
    """A table of names and values."""
    table = Table(title=title, show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table
