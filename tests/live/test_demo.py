"""The demonstration, of a few pages: real HTTP, stores and processes, in virtual time."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from pollwise import cli
from pollwise.errors import PollwiseError
from pollwise.experiments.demonstration import Demonstration, demonstrate
from pollwise.insight.documents import document
from pollwise.live.demo import Watcher, run_demo
from pollwise.testing.timelapse import Revision, TimeLapse

DAY = 86_400.0
START = 1_700_000_000.0
DAYS = 30.0
PAGES = 40


def small() -> TimeLapse:
    """40 pages of 12 sites in 30 days: some change several times a day, some never."""
    generator = np.random.default_rng(7)

    def history(number: int) -> list[Revision]:
        rate = 0.0 if number % 3 == 0 else 4.0 / number
        gaps = generator.exponential(1 / rate, 200) if rate else np.empty(0)
        times = [START - 1.0, *(START + DAY * np.cumsum(gaps)).tolist()]
        return [Revision(t, f"Text {n} of {number}") for n, t in enumerate(times)]

    pages = {f"site{n % 12}.example/page{n}.html": history(n) for n in range(PAGES)}
    return TimeLapse(pages, start=START, end=START + DAYS * DAY)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which temporary folders are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """Twice as many busy loops as there is room for: one processor, if that can be chosen."""
    processors = None
    if hasattr(os, "sched_setaffinity"):
        processors = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(processors)})
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(2 * (1 if processors else multiprocessing.cpu_count()))
    ]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()
    if processors:
        os.sched_setaffinity(0, processors)


@pytest.fixture(scope="module")
def watched() -> tuple[Demonstration, list[Watcher]]:
    return demonstrate(small(), lambda watchers: None)


def test_all_polls_are_the_same_on_a_busy_machine(watched, busy_machine, temporary):
    _, watchers = watched
    for one, again in zip(watchers, run_demo(small(), lambda watchers: None), strict=True):
        assert again.policy == one.policy
        assert again.polls == one.polls
        assert again.requests == one.requests
    assert list(temporary.iterdir()) == []


def test_both_use_the_same_budget_and_first_copies_come_first(watched):
    _, watchers = watched
    learned, uniform = watchers
    assert (learned.policy, uniform.policy) == ("bayes-index", "uniform")
    assert abs(len(learned.polls) - len(uniform.polls)) <= 2
    # A poll in ten days for each page, and the first copies.
    assert len(uniform.polls) == pytest.approx(PAGES + 0.1 * PAGES * DAYS, abs=3)
    for watcher in watchers:
        assert sorted(poll.page for poll in watcher.polls[:PAGES]) == list(range(PAGES))
        assert not any(poll.found for poll in watcher.polls[:PAGES])
        assert all(one.at <= other.at for one, other in pairwise(watcher.polls))
        assert watcher.polls[0].at >= START
        assert watcher.polls[-1].at < watcher.now <= START + DAYS * DAY + 1.0
        # A request for each poll but those that robots.txt or a broken host kept from it, and the
        # robots.txt of each host.
        assert watcher.requests is not None
        assert watcher.requests > len(watcher.polls)


def test_what_a_poll_tells_is_what_happened(watched):
    _, watchers = watched
    timelapse = small()
    for watcher in watchers:
        seen: dict[int, str | None] = {}
        for poll in watcher.polls:
            if not poll.has_answer:
                assert not poll.found
                continue
            body = timelapse.body_at(timelapse.page_names[poll.page], poll.at)
            assert poll.found == (poll.page in seen and seen[poll.page] != body)
            seen[poll.page] = body


def test_the_figures_are_those_of_the_watchers_and_of_simulated_schedules(watched):
    demonstration, watchers = watched
    timelapse = small()
    assert (demonstration.pages, demonstration.never) == (PAGES, 14)
    assert demonstration.fast > 0
    names = [(schedule.policy, schedule.objective) for schedule in demonstration.results]
    assert names == [
        ("bayes-index", "freshness"),
        ("uniform", "freshness"),
        ("bayes-index", "delay"),
        ("stormcrawler", "freshness"),
        ("whittle", "freshness"),
    ]
    total = sum(len(timelapse.change_times(name)) for name in timelapse.page_names)
    for schedule in demonstration.results:
        assert schedule.all_pages.changes == total
        assert schedule.without_fast.changes < total
        for figures in (schedule.all_pages, schedule.without_fast):
            assert 0 < figures.found <= figures.changes
            assert figures.seen == figures.found / figures.changes
            assert 0.0 < figures.freshness < 1.0
            assert 0.0 < figures.delay_days < DAYS
    for schedule, watcher in zip(demonstration.results, watchers, strict=False):
        assert schedule.requests == watcher.requests
        assert schedule.all_pages.found == sum(poll.found for poll in watcher.polls)
    # Nobody needs more polls than itself, but for what the web does to polls, and chance.
    assert demonstration.results[1].all_pages.uniform_needs == pytest.approx(1.0, abs=0.3)


def test_at_a_given_speed_the_figures_are_the_same(watched, temporary):
    _, watchers = watched
    paced = run_demo(small(), lambda watchers: None, seconds=2.0)
    assert [each.polls for each in paced] == [each.polls for each in watchers]


@pytest.fixture
def interruptible():
    """SIGINT interrupts, whatever a test before in this process made of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_progress_is_told_and_a_run_that_is_interrupted_leaves_nothing_behind(temporary):
    told = []

    def progress(watchers):
        told.append({name: len(each.polls) for name, each in watchers.items()})
        if all(told[-1].values()):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_demo(small(), progress, seconds=60.0)
    assert told[-1].keys() == {"bayes-index", "uniform"}
    assert list(temporary.iterdir()) == []
    assert multiprocessing.active_children() == []


def test_a_process_that_is_killed_is_told_in_one_line(temporary):
    def kill(watchers):
        for process in multiprocessing.active_children():
            process.kill()

    with pytest.raises(PollwiseError, match=r"^the process that watched by .+: try again$"):
        run_demo(small(), kill, seconds=60.0)
    assert list(temporary.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_told_in_one_line(temporary, monkeypatch):
    # The processes start anew: what they are told, and the machine, is all that can be changed.
    class Gone(tempfile.TemporaryDirectory):
        def __enter__(self) -> str:
            return f"{super().__enter__()}/gone"

    monkeypatch.setattr(tempfile, "TemporaryDirectory", Gone)
    with pytest.raises(PollwiseError, match=r"gone"):
        run_demo(small(), lambda watchers: None)


def test_the_command_prints_a_document_and_draws_the_year(watched, monkeypatch, capsys, tmp_path):
    pytest.importorskip("matplotlib")
    plot = tmp_path / "year.png"
    monkeypatch.setattr(TimeLapse, "bundled", small)
    monkeypatch.setattr("sys.argv", ["pollwise", "demo", "--json", "--plot", str(plot)])
    with pytest.raises(SystemExit) as end:
        cli.main()
    out, err = capsys.readouterr()
    assert end.value.code == 0
    demonstration, _ = watched
    assert json.loads(out) == document(demonstration)
    assert err.startswith("getting ready")
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("plot", ["none/year.png", "year.pdf"])
def test_a_picture_that_cannot_be_drawn_is_told_first(monkeypatch, capsys, tmp_path, plot):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["pollwise", "demo", "--plot", plot])
    with pytest.raises(SystemExit) as end:
        cli.main()
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (2, "")
    assert plot in err
    assert err.count("\n") == 1
