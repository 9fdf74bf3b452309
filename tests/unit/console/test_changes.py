"""Changes on stdout: what differs, readers that have gone, and readers that are slow."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from pollwise.console import changes
from pollwise.console.changes import Change, ChangeLines, LineLimit
from pollwise.console.log import LogFormat, page_line
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory, Version

URL = "http://a.example/[bold]"
CHANGE = Change(0, URL, 2.0)
PATIENCE = 30.0


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """A database with two versions of a page, the second with what would control a terminal."""
    bodies = (
        "<title>Old</title><p>one two",
        "<title>N\x1b[31mew</title><p>one thr\u202eee" + "!" * 500,
    )
    with Store.open(tmp_path / "x.db") as store:
        store.add_pages([NewPage(URL)], now=0.0)
        for at, body in enumerate(bodies, start=1):
            version = Version(0, at, "text/html; charset=utf-8", body.encode(), f"{at:032x}")
            seen = Observation(0, at, Outcome.CHANGED)
            store.commit(Batch(polls=(PollResult(seen, PageMemory(), version),)))
    return tmp_path / "x.db"


class Telling:
    """`ChangeLines` that write into a pipe; what they said, and whether nobody read any more."""

    def __init__(self, db: Path) -> None:
        self.said: list[str] = []
        self.closed = threading.Event()
        self.lines = ChangeLines(
            db, aside=nullcontext, say=self.said.append, on_closed=self.closed.set
        )


@contextmanager
def piped(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Standard output is a pipe; where to read from it."""
    ours, theirs = os.pipe()
    with open(theirs, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        yield ours
        monkeypatch.undo()


def test_what_differs_is_shown_and_cleaned(db, capsys):
    telling = Telling(db)
    telling.lines.tell(CHANGE)
    telling.lines.tell(Change(0, URL, 1.0, "changed back"))
    telling.lines.close()
    head, removed, added, other = capsys.readouterr().out.splitlines()
    assert head == f"1970-01-01 00:00:02  {URL}  N[31mew"
    assert removed == "  - one two"
    assert added.startswith("  + one three!!!")
    assert added.endswith("!…")
    assert len(added) <= 301
    assert other == f"1970-01-01 00:00:01  {URL}  (changed back)"
    assert telling.said == []


def test_a_url_that_is_very_long_loses_its_middle(tmp_path, capsys):
    url = URL + "a" * 120_000 + "/end"
    telling = Telling(tmp_path / "none.db")
    telling.lines.tell(Change(0, url, 2.0))
    telling.lines.close()
    [head] = capsys.readouterr().out.splitlines()
    assert head.endswith("/end")
    assert f"{URL}aaa" in head
    assert len(head) < 500
    for form in (LogFormat.text, LogFormat.systemd):
        assert len(page_line(form, 2.0, f"failed ({url})", url)) < 1500
    assert url in page_line(LogFormat.json, 2.0, "failed", url)


def test_on_a_terminal_a_line_of_text_is_no_longer_than_the_terminal(db, terminal):
    with terminal.in_use():
        telling = Telling(db)
        telling.lines.tell(CHANGE)
        telling.lines.close()
    assert max(map(len, terminal.plain.splitlines())) == 80


def test_after_a_clock_was_set_back_the_limit_counts_anew():
    limit = LineLimit(1)
    limit.is_over(864_000.0)
    assert [limit.lets_through(URL) for _ in range(2)] == [True, False]
    assert not limit.is_over(863_700.0)  # a late answer
    assert limit.is_over(777_600.0)
    assert limit.lets_through(URL)


def test_when_nobody_reads_any_more_it_says_so(db, monkeypatch):
    with piped(monkeypatch) as reader:
        telling = Telling(db)
        os.close(reader)
        monkeypatch.setattr(changes, "drop_stdout", lambda: None)  # that of pytest
        assert telling.closed.wait(PATIENCE)
        telling.lines.close()
    assert telling.said == []


def test_a_reader_that_does_not_read_holds_nothing_up(db, monkeypatch):
    with piped(monkeypatch) as reader:
        telling = Telling(db)
        for _ in range(5_000):
            telling.lines.tell(CHANGE)
        begun = time.monotonic()
        telling.lines.close()
        assert time.monotonic() - begun < 10.0
        read = os.read(reader, 1 << 20).decode()
        os.close(reader)
    assert read.startswith("1970-01-01 00:00:02")
    [line] = telling.said
    assert line.endswith("changes not shown: stdout is read too slowly")
