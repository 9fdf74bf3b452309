"""What people see of the demonstration, on a terminal of 80 columns."""

from dataclasses import replace
from pathlib import Path

import pytest

from pollwise.console.charts.year import draw_year
from pollwise.console.demo import NAMES, DemoDisplay, print_demo
from pollwise.experiments.demonstration import DemoFigures, Demonstration, DemoSchedule
from pollwise.live.demo import Watcher
from pollwise.live.demo_watcher import Polled
from pollwise.testing.timelapse import Revision, TimeLapse

DAY = 86_400.0
FIGURES = DemoFigures(
    found=1_048, changes=1_390, seen=0.754, delay_days=12.345, freshness=0.9092, uniform_needs=15.96
)


@pytest.fixture
def demonstration() -> Demonstration:
    results = tuple(
        DemoSchedule(
            policy,
            objective,
            polls=3_787,
            requests=4_900 if objective == "freshness" and policy != "whittle" else None,
            all_pages=FIGURES,
            without_fast=replace(FIGURES, changes=663, uniform_needs=1.6),
        )
        for policy, objective in NAMES
    )
    return Demonstration(pages=101, fast=1, never=40, budget="0.1/day/page", results=results)


@pytest.fixture
def timelapse() -> TimeLapse:
    """26 parts of 10 days: one page changes in the first three of them, the others never."""
    often = [Revision(t * DAY, f"text {t}") for t in (0, 5, 15, 25)]
    quiet = {f"a.example/a-name-that-is-too-long-{n}.html": [Revision(0.0, "")] for n in range(20)}
    return TimeLapse({"b.example/often": often, **quiet}, start=0.0, end=260 * DAY)


@pytest.fixture
def watchers(timelapse) -> dict[str, Watcher]:
    """One sees the second change late and the third not at all, the other is far behind."""
    often = timelapse.page_names.index("b.example/often")
    polls = [
        Polled(often, 1 * DAY, has_answer=True, found=False),
        Polled(often, 6 * DAY, has_answer=True, found=True),
        Polled(often, 7 * DAY, has_answer=False, found=False),
        Polled(often, 22 * DAY, has_answer=True, found=True),
    ]
    return {
        "bayes-index": Watcher("bayes-index", now=35 * DAY, polls=polls),
        "uniform": Watcher("uniform", now=12 * DAY),
    }


def test_the_year_fits_a_terminal(terminal, timelapse, watchers):
    with terminal.in_use():
        display = DemoDisplay(timelapse, "getting ready: a minute")
        display._console.print(display._picture())
        display.show(watchers)
        display._console.print(display._picture())
    lines = terminal.plain.splitlines()
    assert lines[0] == "getting ready: a minute"
    shown = lines[1:]
    assert len(shown) < 24
    assert max(map(len, shown)) <= 80
    assert "21 real pages of 2 sites, over HTTP" in shown[0]
    counts = " ".join(line for line in shown if "changes in polls" in line)
    assert "1970-02-05: 2 in 4" in counts
    assert "gets ready" in counts


def test_what_is_done_after_the_year_is_shown(terminal, timelapse, watchers):
    with terminal.in_use():
        display = DemoDisplay(timelapse, "")
        display.show(watchers)
        display.say("the year is over: simulating")
        display._console.print(display._picture())
    assert "the year is over: simulating" in terminal.plain.splitlines()[0]


def test_a_part_of_the_year_tells_what_became_of_its_changes(terminal, timelapse, watchers):
    with terminal.in_use():
        cells = DemoDisplay(timelapse, "")._cells(watchers["bayes-index"])
    [often] = [cells[page] for page in cells if timelapse.page_names[page] == "b.example/often"]
    # Two polls, of which one found the change; none after the change; a poll before the change.
    assert often.plain == "▂xx "
    assert [str(span.style) for span in often.spans] == ["green", "red", "red", "dim"]


def test_without_a_terminal_there_are_plain_lines(capsys, timelapse, watchers, monkeypatch):
    monkeypatch.setattr(DemoDisplay, "line_interval", 0.0)
    with DemoDisplay(timelapse, "getting ready") as display:
        display.show(watchers)
        display.say("the year is over")
    assert capsys.readouterr().err.splitlines() == [
        "getting ready",
        "learned until 1970-02-05: 2 changes in 4 polls, every page alike gets ready",
        "the year is over",
    ]


def test_the_figures_fit_a_terminal_and_none_is_cut(terminal, demonstration):
    with terminal.in_use():
        print_demo(demonstration)
    text = terminal.plain
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert "learned 75 % 12.35 days 0.909 × 16.0" in rows
    assert "learned, objective delay* 75 % 12.35 days 0.909 × 16.0" in rows
    words = " ".join(text.split())
    assert "40 never changed" in words
    assert (
        "needs 16.0 times the requests to be as quick as 'learned', by mean delay (1.6 times"
        " without the page that changed more often than daily)." in words
    )


def test_without_fast_pages_there_is_one_table(terminal, demonstration):
    with terminal.in_use():
        print_demo(replace(demonstration, fast=0))
    assert "without" not in terminal.plain


def test_several_fast_pages_are_counted(terminal, demonstration):
    with terminal.in_use():
        print_demo(replace(demonstration, fast=4))
    assert "without the 4 pages that changed more often than daily: 663" in terminal.plain


def test_the_year_is_drawn(tmp_path: Path, timelapse, demonstration, watchers):
    pytest.importorskip("matplotlib")
    path = tmp_path / "year.png"
    draw_year(path, timelapse, demonstration, list(watchers.values()), NAMES)
    assert path.read_bytes().startswith(b"\x89PNG")
