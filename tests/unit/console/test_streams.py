"""What reaches a terminal, and what people see of something that is being computed."""

import ast
import json
import os
import pty
import re
import subprocess
import sys
import termios
import unicodedata
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

import pollwise
from pollwise.cli.answers import print_json
from pollwise.console.collecting import CollectDisplay
from pollwise.console.log import LogFormat, plain_line
from pollwise.console.streams import clean, progress_line, stderr, stdout
from pollwise.relevance.topic import topic
from pollwise.store import Store
from pollwise.store.records import Batch, Collected, Discoveries, NewPage

SOURCES = Path(pollwise.__file__).parent
HOSTILE = (
    "\x1b]0;owned\x07\x1b[2J\x1b[31m\x9b2J\x9d52;c;AAAA\x9c\x08\x7f\r\x00"
    "\u00ad\u034f\u115f\u3164\uffa0\ufe0f\U000e0100\u17b4\u180b\u2800"
    "\u202etxt.exe\u202d\u2066\u2067\u2068\u2069\u200b\u200d\u200f\u2028\u2029\ufeff\u061c"
)
ENDS = "tail"


@pytest.mark.parametrize("columns", ["0", "1"])
def test_tables_have_room_whatever_the_width_is_said_to_be(monkeypatch, capsys, columns):
    monkeypatch.setenv("COLUMNS", columns)
    table = Table("word")
    table.add_row("whale")
    stdout().print(table)
    assert "whale" in capsys.readouterr().out


def test_a_narrow_terminal_has_its_own_width():
    ours, theirs = os.openpty()
    with open(ours, "wb"), open(theirs, "rb") as terminal:
        termios.tcsetwinsize(terminal, (24, 20))
        told = subprocess.run(
            [
                sys.executable,
                "-c",
                "from pollwise.console.streams import stdout as s; print(s().width)",
            ],
            stdin=terminal,
            env={name: value for name, value in os.environ.items() if name != "COLUMNS"}
            | {"TERM": "xterm"},
            capture_output=True,
            check=True,
        )
    assert told.stdout == b"20\n"


def test_progress_on_a_terminal_is_one_line_that_goes_away(terminal):
    with terminal.in_use(), progress_line() as report:
        report("uniform [1]")
    assert "uniform [1]" in terminal.plain


def test_progress_without_a_terminal_is_lines(capsys):
    with progress_line() as report:
        report("uniform [1]")
    assert capsys.readouterr() == ("", "uniform [1]\n")


def unseen(shown: str) -> set[str]:
    """What is in the text that nobody sees."""
    blank = set("\u034f\u115f\u3164\uffa0\ufe0f\U000e0100\u17b4\u180b\u2800")
    controls = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return {c for c in shown if unicodedata.category(c) in controls or c in blank} - {"\n", "\t"}


def test_hostile_text_shows_in_every_form_without_its_controls(terminal):
    table = Table(HOSTILE, title=HOSTILE, caption=HOSTILE)
    table.add_row(HOSTILE + ENDS)
    table.add_row(Text(HOSTILE + ENDS, style="bold"))
    with terminal.in_use():
        for console in (stdout(), stderr()):
            console.print(HOSTILE + ENDS)
            console.print(Text(HOSTILE + ENDS), style="red")
            console.print(table)
        with progress_line() as report:
            report(HOSTILE + ENDS)
    assert terminal.plain.count(ENDS) >= 9
    assert unseen(terminal.plain.replace("\r", "")) == set()
    assert "\x1b[2J" not in terminal.getvalue()
    assert "\x1b[31m\x9b" not in terminal.getvalue()


def test_tables_keep_their_shape_around_hostile_text(terminal):
    table = Table("page")
    for cell in ("a" * 10, HOSTILE.replace("txt.exe", ""), "b\u200bc"):
        table.add_row(cell)
    with terminal.in_use():
        stdout().print(table)
    assert len({len(line) for line in terminal.plain.splitlines()}) == 1


@given(st.text(st.characters()))
def test_cleaning_only_leaves_out(text: str):
    cleaned = clean(text)
    rest = iter(text)
    assert all(letter in rest for letter in cleaned)
    assert clean(cleaned) == cleaned
    assert not {unicodedata.category(letter) for letter in {*cleaned} - {*"\n\t"}} & {
        "Cc",
        "Cs",
        "Zl",
        "Zp",
    }


@pytest.mark.parametrize("text", ["Grüße, 世界 👋🏽", "a\tb\nc", "http://a.example/[bold]:smile:"])
def test_what_can_be_seen_stays(text):
    assert clean(text) == text


def test_news_of_a_page_are_one_line(capsys, tmp_path):
    display = CollectDisplay(subject="whales", budget="1/hour", db=tmp_path / "x.db")
    display._tell(0.0, "0.5  A title\n1970-01-01 00:00:01  changed", "http://a.example/")
    assert len(capsys.readouterr().err.splitlines()) == 2


@pytest.mark.parametrize("form", [LogFormat.text, LogFormat.systemd])
def test_a_notice_is_one_line(form):
    line = plain_line(form, "database two\nlines.db")
    assert line.endswith("database two\\nlines.db")


def test_nothing_else_prints():
    """What people see goes through the consoles; the rest is our own, or JSON, which escapes."""
    direct = [
        f"{file.relative_to(SOURCES)}: {ast.unparse(node)}"
        for file in SOURCES.rglob("*.py")
        if file.parts[-2] != "testing"
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and re.fullmatch(r"print|.*echo|Console|sys\.std.*\.write.*", ast.unparse(node.func))
    ]
    assert sorted(direct) == [
        "cli/answers.py: print(json.dumps(document(answer), indent=2, allow_nan=False))",
        "cli/program.py: print(context.get_help())",
        "cli/program.py: print(f'pollwise {__version__}')",
    ]


@pytest.fixture
def hostile_db(tmp_path) -> Path:
    path = tmp_path / "hostile.db"
    with Store.open(path) as store:
        store.start_run(0.0, {"topic": asdict(topic("whales"))}, None)
        store.add_pages([NewPage("http://a.example/")], now=0.0)
        title = HOSTILE.replace("\x00", "") + ENDS
        page = Collected(0, 0.9, title, f"A whale {title}")
        store.commit(Batch(discovered=(Discoveries(collected=page),)))
    return path


def on_a_terminal(*words: str) -> str:
    """What the program writes to a real terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(SOURCES.parent), "TERM": "xterm-256color"}
    process = subprocess.Popen(
        [sys.executable, "-m", "pollwise", *words],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=environment,
    )
    os.close(theirs)
    written = b""
    try:
        while more := os.read(ours, 1 << 16):
            written += more
    except OSError:  # Linux says so that the other end is closed
        pass
    os.close(ours)
    process.wait(timeout=30)
    return written.decode()


@pytest.mark.parametrize("command", ["status", "search", "explain", "error"])
def test_commands_on_a_real_terminal(hostile_db, command):
    words = {
        "status": ["status"],
        "search": ["search", "whale"],
        "explain": ["explain", "http://a.example/"],
        "error": ["explain", "http://b.example/" + HOSTILE.replace("\x00", "") + ENDS],
    }[command]
    shown = on_a_terminal(*words, "--db", str(hostile_db))
    assert ENDS in shown
    seen = re.sub(r"\x1b\[[0-9;]*m", "", shown).replace("\r\n", "\n")
    assert unseen(seen) == set()
    assert "\x1b[31m\x1b" not in shown


def test_json_keeps_all_of_it_escaped(hostile_db, capsys):
    shown = HOSTILE + "\ud800"
    print_json({"title": shown})
    out = capsys.readouterr().out
    assert unseen(out) <= {"\x7f"}
    assert json.loads(out) == {"title": shown}


def test_a_stream_has_one_console():
    """Else what is live on one would not make room for what is printed by the other."""
    assert stderr() is stderr()
    assert stdout() is stdout()
    assert stdout() is not stderr()
