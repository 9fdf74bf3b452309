"""Tables of many lines are those that rich would draw, in a fraction of the time."""

from contextlib import redirect_stdout
from io import StringIO

import pytest
from rich.table import Column, Table

from pollwise.console.streams import stdout
from pollwise.console.tables import _LONGEST, _Shortened, print_lines

WIDE = "京都の天気"
MIXED = "日e\u0301" * 30
"""As many cells as characters, but not so in each part of it."""
URL = "https://example.org/" + "news/" * 30 + "today.html"
ROWS = [
    ("Town hall", "https://example.org/", "watched"),
    ("", URL, "new"),
    (WIDE * 8, f"https://example.org/{WIDE}", "failing"),
    (MIXED, f"https://example.org/{MIXED}", "gone"),
    ("two\nlines", "https://example.org/\tb\x1b[31m\u202ec", "paused"),
]


def columns() -> list[Column]:
    return [Column("name"), Column("page"), Column("state", no_wrap=True)]


def printed(rows) -> list[str]:
    with redirect_stdout(StringIO()) as out:
        print_lines(columns(), rows)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [60, 100, 500])
@pytest.mark.parametrize("rows", [ROWS, ROWS[:1] * 3])
def test_lines_are_those_that_rich_draws(terminal, monkeypatch, rows, width):
    monkeypatch.setenv("COLUMNS", str(width))
    with terminal.in_use():
        print_lines(columns(), rows)
        own = terminal.getvalue()
        terminal.truncate(0)
        terminal.seek(0)
        table = Table(*columns())
        for *texts, state in rows:
            table.add_row(*map(_Shortened, texts), state)
        stdout().print(table)
    assert own == terminal.getvalue()


@pytest.mark.parametrize("width", [1, 5, 8, 20])
def test_narrow_terminals_have_what_there_is_room_for(terminal, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    with terminal.in_use():
        print_lines(columns(), ROWS)
    assert "left out" in terminal.getvalue()


def test_a_very_long_text_in_a_file_takes_room_on_its_own_line_only():
    long = "https://example.org/" + "x" * 2000
    *head, first, second, foot = printed([("", long, "new"), ("", "https://example.org/", "new")])
    assert long in first
    assert max(map(len, (*head, second, foot))) < 120
    assert first.endswith("│ new   │")
    assert second.endswith("│ new   │")


def test_what_is_wide_is_whole_in_a_terminal_that_has_room(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    with terminal.in_use():
        print_lines(columns(), [(WIDE, f"https://example.org/{WIDE * 9}", "new")])
    [line] = [line for line in terminal.getvalue().splitlines() if "new" in line]
    assert line.startswith(f"│ {WIDE} │ https://")
    assert line.count("…") == 1  # of the URL, in its middle
    assert line.split("│")[2].rstrip().endswith(WIDE)


def test_what_is_wide_is_whole_in_a_file():
    [line] = [line for line in printed(ROWS) if "failing" in line]
    assert WIDE * 8 in line
    assert "…" not in line


def test_nothing_unseen_is_written():
    told = "\n".join(printed(ROWS))
    assert not {"\x1b", "\u202e", "\t"} & set(told)


def test_a_text_without_end_is_cut_in_a_file_too():
    *_, endless, _ = printed([("", "https://example.org/" + "x" * 120_000 + "/today", "new")])
    assert len(endless) < _LONGEST + 200
    assert "https://example.org/xxx" in endless
    assert "…" in endless
    assert "xxx/today" in endless
