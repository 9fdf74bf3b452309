"""What people see of a running watch, on a terminal and elsewhere."""

import re
from pathlib import Path

from pollwise.console import display
from pollwise.console.watching import WatchDisplay
from pollwise.live.loop import Progress, Watched
from pollwise.store.records import PollResult
from pollwise.types import Noise, Observation, Outcome, Page, PageMemory
from pollwise.web.poller import PollReport

URL = "http://a.example/:smile:/[bold]page?" + "x" * 80
WATCHED = {7: Watched(Page(7, URL), PageMemory())}


def turn(outcome: Outcome, error: str | None = None, *, first: bool = False) -> Progress:
    report = PollReport(PollResult(Observation(7, 86_400.0, outcome), PageMemory(), error=error))
    return Progress((), (report,), frozenset({7} if first else ()))


def watch(*turns: Progress) -> None:
    with WatchDisplay(pages=1, budget="5/hour", db=Path("x.db")) as shown:
        for progress in turns:
            shown.show(progress, WATCHED)


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
    monkeypatch.setattr(display.time, "monotonic", lambda: next(times))
    with WatchDisplay(pages=1, budget="5/hour", db=Path("x.db")) as shown:
        capsys.readouterr()
        for _ in range(6):
            shown.show(turn(Outcome.UNCHANGED), WATCHED)
        lines = capsys.readouterr().err.splitlines()
    assert lines == [f"{n} polls, 0 changes, 0 pages in trouble" for n in (3, 6)]


def test_a_watch_tells_what_it_masks_and_a_page_that_always_differs_once(capsys):
    def poll(outcome: Outcome, in_a_row: int, *masked: str) -> Progress:
        memory = PageMemory(noise=Noise(changes_in_a_row=in_a_row))
        result = PollResult(Observation(7, 86_400.0, outcome), memory, masked=masked)
        return Progress((), (PollReport(result),))

    watch(
        poll(Outcome.UNCHANGED, 0, "Now: 12:03", "Visitor 17"),
        *(poll(Outcome.CHANGED, n) for n in (11, 12, 13)),
    )
    _, err = capsys.readouterr()
    moment = "1970-01-02 00:00:00"
    news = [
        "masked as noise (Now: 12:03; Visitor 17)",
        "changed",
        "differs at every poll (`pollwise check URL` shows what; watch its feed instead, or give it"
        " less weight)",
        "changed",
    ]
    assert err.splitlines()[1:-1] == [f"{moment}  {what}  {URL}" for what in news]
