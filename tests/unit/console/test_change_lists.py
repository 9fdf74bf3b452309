"""What `changes`, `history` and `diff` look like, on a terminal and in a pipe."""

from dataclasses import replace

import pytest

from pollwise.console.change_lists import print_changes, print_diff, print_history
from pollwise.insight.changes import (
    Changes,
    History,
    HistoryEntry,
    ListedChange,
    ListedVersion,
    VersionDiff,
)
from pollwise.insight.word_diff import word_diff
from pollwise.store.records import ChangeKind, FoundItem

URL = "http://a.example/"
ITEMS = tuple(FoundItem(f"k{n}", f"Item\n{n}\x1b[31m") for n in range(5))
CHANGES = Changes(
    "urn:uuid:0",
    "x.db",
    0.0,
    2,
    (
        ListedChange("urn:1", 1, URL, "A title", (), 7200.0, 0.0, True, "old", "new " * 50, ()),
        ListedChange("urn:2", 2, URL, "", (), 7300.0, 7240.0, False, None, None, ITEMS),
    ),
)
DIFF = VersionDiff(
    URL,
    ListedVersion(1, 10.0, 100, ""),
    ListedVersion(2, 20.0, 120, ""),
    word_diff(["News", "Opens at nine o'clock", "gone"], ["News", "Opens at ten o'clock"]),
)


def test_changes_whose_times_were_set_back_are_said_without_a_span(capsys):
    change = ListedChange("urn:1", 1, URL, "", (), 0.002, 0.001, False, "old", "new", ())
    print_changes(replace(CHANGES, changes=(change,)), 0.0)
    assert f"{URL}  (changed)\n" in capsys.readouterr().out


def test_changes_in_a_pipe(capsys):
    print_changes(CHANGES, 0.0)
    written = capsys.readouterr()
    lines = written.out.splitlines()
    assert lines[0] == (
        f"1970-01-01 02:00:00  {URL}  A title  (changed back in the 2 hours before)"
    )
    assert lines[1] == "  - old"
    assert lines[2].startswith("  + new new")
    assert lines[3] == f"1970-01-01 02:01:40  {URL}  (changed in the 60 s before)"
    assert lines[4:] == [
        *(f"  + Item {n}[31m" for n in range(3)),
        "  + 2 more new items",
    ]
    assert written.err == "2 earlier changes not shown: --limit shows more\n"


def test_how_much_more_differs_is_said_below_a_change(capsys):
    change = ListedChange("urn:1", 1, URL, "", (), 2.0, 1.0, False, "old", "new", (), further=1)
    print_changes(replace(CHANGES, changes=(change,)), 0.0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3:] == ["  - old", "  + new", "  and 1 more block of text"]


@pytest.mark.parametrize(("weeks", "is_further"), [(1, True), (4, False), (40, False)])
def test_no_changes_are_said_on_stderr(capsys, weeks, is_further):
    print_changes(Changes("urn:uuid:0", "x.db", 0.0, 0, ()), weeks * 7 * 86_400.0)
    written = capsys.readouterr()
    assert written.out == ""
    more = ": --since 4w looks further back" if is_further else ""
    assert written.err == f"no changes since 1970-01-01 00:00:00 (UTC){more}\n"


def test_changes_on_a_terminal_are_cut_to_its_width(terminal):
    with terminal.in_use():
        print_changes(CHANGES, 0.0)
    lines = [line for line in terminal.plain.splitlines() if line.startswith("  +")]
    assert max(map(len, lines)) == 80


def test_a_history_on_a_terminal(terminal):
    entries = (
        HistoryEntry(1, 0.0, None, 100, "text/html", True, False, "First", None, None, ()),
        HistoryEntry(None, 60.0, 0.0, None, None, False, False, "", None, None, ()),
        HistoryEntry(2, 120.0, 60.0, 5_000, "text/html", False, True, "", "a", "b", ()),
    )
    with terminal.in_use():
        print_history(History(URL, False, 2, 3, entries))
    for text in (
        f"{URL}: 2 versions kept, watched no more",
        "3 earlier ones not shown: --limit shows more",
        "first copy: First",
        "not kept",
        "changed in the 60 s before",
        "5 kB",
        "changed back in the 60 s before",
        "- a",
        "+ b",
    ):
        assert text in terminal.plain
    assert max(map(len, terminal.plain.splitlines())) <= 80


def test_of_a_change_that_was_held_back_it_is_said(capsys):
    change = ListedChange(
        *("urn:1", 1, URL, "", (), 7200.0, 0.0, False, "25", "22", ()), held_back=True
    )
    print_changes(Changes("urn:uuid:0", "x.db", 0.0, 0, (change,)), 0.0)
    assert "(changed in the 2 hours before; no notice: no condition is met)" in (
        capsys.readouterr().out
    )


def test_a_page_that_is_gone_and_back(capsys):
    lost, found = (
        ListedChange(
            *("urn:1", 1, URL, "", (), 7200.0, 0.0, False, None, None, ()), kind=kind, status=status
        )
        for kind, status in ((ChangeKind.GONE, 410), (ChangeKind.BACK, None))
    )
    print_changes(Changes("urn:uuid:0", "x.db", 0.0, 0, (lost, found)), 0.0)
    assert capsys.readouterr().out.splitlines() == [
        f"1970-01-01 02:00:00  {URL}  (gone (410) in the 2 hours before)",
        f"1970-01-01 02:00:00  {URL}  (back in the 2 hours before)",
    ]
    entry = HistoryEntry(
        *(None, 60.0, 0.0, None, None, False, False, "", None, None, ()), ChangeKind.GONE, 404
    )
    print_history(History(URL, True, 1, 0, (entry,)))
    written = capsys.readouterr().out
    assert "gone (404) in the 60 s before" in written
    assert "not kept" not in written
    print_diff(replace(DIFF, gone_at=60.0))
    assert capsys.readouterr().err == "the page has been gone since 1970-01-01 00:01:00 (UTC)\n"


def test_a_diff_in_a_pipe_is_unified(capsys):
    print_diff(DIFF)
    assert capsys.readouterr().out.splitlines() == [
        f"--- {URL}  version 1  1970-01-01 00:00:10",
        f"+++ {URL}  version 2  1970-01-01 00:00:20",
        "@@ -1 +1 @@",
        " News",
        "-Opens at nine o'clock",
        "+Opens at ten o'clock",
        "-gone",
    ]


def test_a_history_on_a_narrow_terminal_has_room_for_what_changed(terminal, monkeypatch):
    title = "abcdefghijklmnopqrstuvwxyz"
    entries = (HistoryEntry(2, 120.0, 60.0, 5_000, "text/html", False, False, title, "a", "b", ()),)
    monkeypatch.setenv("COLUMNS", "40")
    with terminal.in_use():
        print_history(History(URL, True, 1, 0, entries))
    assert "changed in" in terminal.plain
    assert "5 kB" not in terminal.plain
    lines = [line.split("│")[-2].strip() for line in terminal.plain.splitlines() if "│" in line]
    assert title in "".join(lines)


def test_a_diff_on_a_terminal_shows_the_words(terminal):
    with terminal.in_use():
        print_diff(DIFF)
    assert "~Opens at nine ten o'clock" in terminal.plain
    assert "\x1b[9;31mnine" in terminal.getvalue()


def test_without_colours_a_diff_is_unified(terminal, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    with terminal.in_use():
        print_diff(DIFF)
    assert "-Opens at nine o'clock\n+Opens at ten o'clock" in terminal.plain.replace("\r", "")


def test_versions_that_say_the_same(capsys):
    print_diff(VersionDiff(URL, DIFF.before, DIFF.after, ()))
    assert capsys.readouterr().err == "what counts of them is the same, or is no text\n"
