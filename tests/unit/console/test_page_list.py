"""What people see of `pollwise list`."""

import time
from contextlib import redirect_stdout
from io import StringIO

import pytest

from pollwise.console.page_list import print_page_list
from pollwise.insight.page_list import ListedPage, PageList, PageState

URL = "https://example.org/" + "news/" * 30 + "today.html"


def listed(url: str, *tags: str, name: str = "") -> ListedPage:
    return ListedPage(
        url=url,
        title="A title",
        state=PageState.watched,
        tags=tags,
        weight=1.0,
        polls=9,
        changes=1,
        changes_per_day=0.1,
        polled_at=time.time(),
        changed_at=0.0,
        added_at=0.0,
        error=None,
        listed_in=None,
        name=name,
        render=False,
        notify_when=(),
    )


LIST = PageList("x.db", 2, 2, (listed(URL, "news", "daily"), listed("https://example.com/")))


def test_names_and_tags_are_shown_where_there_is_room():
    named = PageList("x.db", 1, 1, (listed(URL, "news", name="Town hall"),))
    with redirect_stdout(StringIO()) as out:
        print_page_list(named)
        print_page_list(LIST)
    assert "Town hall" in out.getvalue()
    assert "A title" in out.getvalue()
    assert "news daily" in out.getvalue()


def test_a_page_takes_one_line_of_a_terminal(terminal):
    with terminal.in_use():
        print_page_list(LIST)
    lines = terminal.plain.splitlines()
    assert max(map(len, lines)) <= 80
    [line] = [line for line in lines if "example.org" in line or "today.html" in line]
    assert "…" in line
    assert "1970-01-01" in line
    assert any("https://example.com/ " in line for line in lines)


def test_a_narrow_terminal_has_the_pages_and_names_what_it_has_no_room_for(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    with terminal.in_use():
        print_page_list(LIST)
    lines = terminal.plain.splitlines()
    assert any("https://example.com/" in line for line in lines)
    assert any("https:…" in line or "today.html" in line for line in lines)
    assert "left out, as the terminal has 40 columns: last change; last poll" in lines


@pytest.mark.parametrize("width", [1, 8, 14, 20])
def test_the_narrowest_terminal_has_the_ends_of_urls(terminal, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    with terminal.in_use():
        print_page_list(LIST)
    assert any("…" in line and "watched" in line for line in terminal.plain.splitlines())


def test_urls_are_whole_in_a_pipe():
    with redirect_stdout(StringIO()) as out:
        print_page_list(LIST)
    assert URL in out.getvalue()
    assert "…" not in out.getvalue()
