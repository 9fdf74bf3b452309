"""Nobody waits for the reader of stderr; what it does not read is dropped and counted."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pollwise.cli.answers import notify
from pollwise.console.slow_readers import end_beside, stderr_beside, wait_until_written
from pollwise.console.watching import Detail, WatchDisplay
from pollwise.live.progress import Progress
from pollwise.settings import WatchSettings
from pollwise.store.records import PollResult
from pollwise.types import Observation, Outcome, Page, PageMemory
from pollwise.watched_pages import Watched
from pollwise.web.poll_reports import PollReport

MANY = 20_000


@contextmanager
def piped(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Standard error is a pipe; where to read from it."""
    ours, theirs = os.pipe()
    with open(theirs, "w", errors="backslashreplace") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        yield ours
        monkeypatch.undo()


def read_all(reader: int) -> list[str]:
    with open(reader) as lines:
        return lines.read().splitlines()


def test_all_is_written_in_order_and_the_stream_is_the_old_one_again(monkeypatch):
    with piped(monkeypatch) as reader:
        before = sys.stderr
        with stderr_beside(notify):
            for number in range(100):
                print(number, "\ud800é", file=sys.stderr)
        assert sys.stderr is before
    assert read_all(reader) == [f"{number} \\ud800é" for number in range(100)]


def test_who_writes_does_not_wait_for_a_reader_that_does_not_read(monkeypatch):
    with piped(monkeypatch) as reader:
        begun = time.monotonic()
        with stderr_beside(notify):
            for number in range(MANY):
                print(number, "x" * 80, file=sys.stderr)
        assert time.monotonic() - begun < 10.0
    lines = read_all(reader)
    assert lines[0].startswith("0 x")
    assert len(lines) < MANY


def test_what_was_dropped_is_said_when_it_is_read_again(monkeypatch):
    with piped(monkeypatch) as reader:
        with stderr_beside(notify):
            for number in range(MANY):
                sys.stderr.write(f"{number} {'x' * 80}\n")
            lines: list[str] = []
            reading = threading.Thread(target=lambda: lines.extend(read_all(reader)))
            reading.start()
        sys.stderr.close()
        reading.join()
    *told, last = lines
    kept = [int(line.split()[0]) for line in told]
    assert kept == sorted(set(kept))  # a line may find room after some were dropped
    assert kept[0] == 0
    assert last == f"pollwise: {MANY - len(kept):,} lines not shown: stderr is read too slowly"


def test_what_a_full_disk_did_not_take_is_said_when_it_takes_more(monkeypatch, tmp_path):
    log = tmp_path / "log"
    with open("/dev/full", "w") as full, open(log, "w") as with_room:
        monkeypatch.setattr(sys, "stderr", full)
        with stderr_beside(notify):
            print("one\ntwo", file=sys.stderr)
            wait_until_written(sys.stderr)
            os.dup2(with_room.fileno(), full.fileno())
            print("three", file=sys.stderr)
        monkeypatch.undo()
    why = "stderr cannot be written: No space left on device"
    assert log.read_text().splitlines() == ["three", f"pollwise: 2 lines not shown: {why}"]


THE_DISK_FILLS_UP = """
import resource, sys
from pollwise.cli.answers import notify
from pollwise.console.slow_readers import stderr_beside, wait_until_written
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (7, most))
with stderr_beside(notify):
    for text in ("one", "two two", "three"):
        print(text, file=sys.stderr)
        wait_until_written(sys.stderr)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    print("four", file=sys.stderr)
"""


def test_what_is_told_after_half_a_line_begins_a_line(tmp_path):
    log = tmp_path / "log"
    with log.open("wb") as file:
        subprocess.run([sys.executable, "-c", THE_DISK_FILLS_UP], stderr=file, check=True)
    why = "stderr cannot be written: File too large"
    lines = ["one", "two", "four", f"pollwise: 2 lines not shown: {why}"]
    assert log.read_text().splitlines() == lines


def test_that_nobody_reads_any_more_is_raised(monkeypatch):
    with piped(monkeypatch) as reader, stderr_beside(notify):
        os.close(reader)
        sys.stderr.write("a\n")
        time.sleep(0.5)
        with pytest.raises(BrokenPipeError):
            sys.stderr.write("b\n")


def test_a_watch_that_tells_every_poll_to_nobody_goes_on_and_ends(monkeypatch):
    url = "http://a.example/" + "x" * 200
    watched = {0: Watched(Page(0, url), PageMemory())}
    report = PollReport(PollResult(Observation(0, 0.0, Outcome.UNCHANGED), PageMemory()))
    with piped(monkeypatch) as reader:
        begun = time.monotonic()
        with stderr_beside(notify):
            settings, db = WatchSettings(), Path("x.db")
            with WatchDisplay(settings, pages=1, db=db, detail=Detail.polls) as shown:
                for _ in range(1000):
                    shown.show(Progress((), (report,)), watched)
        assert time.monotonic() - begun < 10.0
    os.close(reader)


def test_nothing_is_written_after_its_end(monkeypatch):
    with piped(monkeypatch) as reader:
        with stderr_beside(notify):
            sys.stderr.write("before\n")
            end_beside(sys.stderr)
            sys.stderr.write("after\n")
        sys.stderr.write("outside\n")
    assert read_all(reader) == ["before", "outside"]
