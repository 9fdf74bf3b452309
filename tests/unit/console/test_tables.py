"""What people see, on a terminal of 80 columns and elsewhere."""

import io
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from pollwise.console import reports, tables
from pollwise.experiments.experiment import Row
from pollwise.live.loop import Progress, Watched
from pollwise.store.records import PollResult
from pollwise.types import Observation, Outcome, Page, PageMemory
from pollwise.web.poller import PollReport

URL = "http://a.example/:smile:/[bold]page?" + "x" * 80
WATCHED = {7: Watched(Page(7, URL), PageMemory())}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Standard output and standard error are this terminal."""
        with redirect_stdout(self), redirect_stderr(self):
            yield

    @property
    def plain(self) -> str:
        """What was written, without colours and movements of the cursor."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.getvalue())


@pytest.fixture
def terminal(monkeypatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    return Terminal()


def turn(outcome: Outcome, error: str | None = None, *, first: bool = False) -> Progress:
    report = PollReport(PollResult(Observation(7, 86_400.0, outcome), PageMemory(), error=error))
    return Progress((), (report,), frozenset({7} if first else ()))


def watch(*turns: Progress) -> None:
    with tables.WatchDisplay(pages=1, budget="5/hour", db=Path("x.db")) as display:
        for progress in turns:
            display.show(progress, WATCHED)


def test_a_watch_tells_news_and_the_same_trouble_once(capsys):
    watch(
        turn(Outcome.CHANGED, first=True),
        turn(Outcome.UNCHANGED),
        turn(Outcome.CHANGED),
        turn(Outcome.FAILED, "status 500"),
        turn(Outcome.FAILED, "status 500"),
        turn(Outcome.FAILED, "status 503"),
        turn(Outcome.GONE),
        turn(Outcome.UNCHANGED),
        turn(Outcome.GONE),
    )
    out, err = capsys.readouterr()
    assert out == ""
    head, *lines, end = err.splitlines()
    assert head == "watching 1 page at 5/hour, database x.db; times are UTC; Ctrl-C ends it"
    moment = "1970-01-02 00:00:00"
    news = ["first copy", "changed", "failed (status 500)", "failed (status 503)", "gone", "gone"]
    assert lines == [f"{moment}  {what}  {URL}" for what in news]
    assert end == "stopped: 9 polls, 1 change, 1 page in trouble"


def test_a_watch_on_a_terminal_has_a_line_of_counts(terminal):
    with terminal.in_use():
        watch(turn(Outcome.CHANGED, first=True), turn(Outcome.CHANGED))
    assert f"changed  {URL}" in terminal.plain
    assert re.search(r"\S 0 polls, 0 changes, 0 pages in trouble", terminal.plain)
    assert terminal.plain.endswith("stopped: 2 polls, 1 change, 0 pages in trouble\n")


def test_a_long_watch_without_a_terminal_says_at_times_how_it_stands(capsys, monkeypatch):
    times = iter((0.0, 0.0, 59.0, 60.0, 61.0, 119.0, 120.0))
    monkeypatch.setattr(tables.time, "monotonic", lambda: next(times))
    with tables.WatchDisplay(pages=1, budget="5/hour", db=Path("x.db")) as display:
        capsys.readouterr()
        for _ in range(6):
            display.show(turn(Outcome.UNCHANGED), WATCHED)
        lines = capsys.readouterr().err.splitlines()
    assert lines == [f"{n} polls, 0 changes, 0 pages in trouble" for n in (3, 6)]


EXPECTED = {
    name: {"mean": 1.0, "low": 0.5, "high": 1.0}
    for name in ("found_per_day", "freshness", "delay_days")
}
STATUS = {
    "database": "x.db",
    "budget": None,
    "objective": None,
    "started_at": None,
    "pages": 12_345,
    "polls": 0,
    "changes": 0,
    "versions": 0,
    "bytes": 1_000_000,
    "failing": 1,
    "last_changes": [{"url": URL, "changed_at": 0.0, "changes": 1}],
    "failures": [{"url": URL, "error": "no [/] answer", "failures": 2}],
    "collection": None,
    "forecast": {
        "week": EXPECTED | {"delay_days": dict.fromkeys(("mean", "low", "high"), math.inf)}
    },
}


def test_status_fits_a_terminal_and_shows_text_as_it_is(terminal):
    with terminal.in_use():
        reports.print_status(STATUS)
    assert "x" * 30 + "…" not in terminal.plain
    assert max(map(len, terminal.plain.splitlines())) <= 80
    assert "12,345 (1 failing)" in terminal.plain
    assert ":smile:/[bold]" in terminal.plain
    assert "no [/] answer" in terminal.plain
    assert "1 (0.5–1) changes found a day" in terminal.plain
    assert "delay never" in " ".join(terminal.plain.replace("│", " ").split())


def test_results_have_standard_errors_where_there_are_several_seeds(capsys):
    row = {"policy": "uniform", "polls": 1e4, "found_per_poll": 0.5}
    row |= {"tail_found_per_poll": 0.25, "of_ideal": float("nan")}
    several = row | {"policy": "fixed", "stderr": {"found_per_poll": 0.0125, "polls": 0.0}}
    tables.print_results([row, several], tables.SIMULATION_COLUMNS)
    out = capsys.readouterr().out
    assert "10,000" in out
    assert "0.5000 ± 0.0125" in out


def test_progress_on_a_terminal_is_one_line_that_goes_away(terminal):
    with terminal.in_use(), tables.progress_line() as report:
        report("uniform [1]")
    assert "uniform [1]" in terminal.plain


def test_progress_without_a_terminal_is_lines(capsys):
    with tables.progress_line() as report:
        report("uniform [1]")
    assert capsys.readouterr() == ("", "uniform [1]\n")


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((571.8123, 0.4132), "571.81 ± 0.41"),
        ((571.8123, 0.4132, 571.8), "571.81 ± 0.41 [571.8]"),
        ((500.0, 12.3), "500 ± 12"),
        ((0.97699,), "0.97699"),
        ((0.9730, 0.00021), "0.97300 ± 0.00021"),
        ((1000,), "1,000"),
        ((1000.0, 0.0), "1,000"),
        ((2.2e-12,), "2.2e-12"),
        ((None,), "-"),
        ((float("nan"), 0.1, 240.0), "- [240]"),
        ((float("inf"),), "-"),
    ],
)
def test_numbers_have_the_digits_that_make_sense(numbers, text):
    assert tables._number(Row("lakg", "t=1000", *numbers)) == text


def test_no_number_is_no_text():
    assert tables._number(None) == ""
