"""Lists of pages as users write them."""

import pytest

from pollwise.errors import InputError
from pollwise.store.records import NewPage
from pollwise.web.url_list import read_url_list


def test_a_list(tmp_path):
    path = tmp_path / "urls"
    path.write_bytes(
        b"\xef\xbb\xbf# pages\r\n\r\nhttp://h/b#top  weight=2 cost=0.5 # the best\r\n"
        b"  http://h/a\tcost=3\r\nHTTP://H/b weight=9\n  # end"
    )
    assert read_url_list(path) == [
        NewPage("http://h/b", "h", weight=2.0, cost=0.5),
        NewPage("http://h/a", "h", cost=3.0),
    ]


def test_bounds_in_a_list(tmp_path):
    (tmp_path / "urls").write_text(
        "http://h/a at-most=1/minute at-least=2/day\nhttp://h/b\nhttp://h/c at-least= at-most=\n"
    )
    bounded, free, taken_back = read_url_list(tmp_path / "urls")
    assert (bounded.longest_interval, bounded.shortest_interval) == (43_200.0, 60.0)
    assert (free.longest_interval, free.shortest_interval) == (None, None)
    assert (taken_back.longest_interval, taken_back.shortest_interval) == (0.0, 0.0)


def test_tags_and_parts_in_a_list(tmp_path):
    (tmp_path / "urls").write_text(
        'http://h/#top tags=news,daily select="main > p" select=#x ignore="a #b" # all\n'
        'http://h/b tags= select="" ignore=\n'
    )
    told, taken_back = read_url_list(tmp_path / "urls")
    assert (told.tags, told.select, told.ignore) == (
        ("news", "daily"),
        ("main > p", "#x"),
        ("a #b",),
    )
    assert (taken_back.tags, taken_back.select, taken_back.ignore) == ((), (), ())


def test_an_empty_list(tmp_path):
    (tmp_path / "urls").write_text("\n# nothing\n")
    assert read_url_list(tmp_path / "urls") == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("h/a", "not a URL: 'h/a'"),
        ("http://h/ wieght=2", "'wieght=2' behind the URL"),
        ("http://h/ http://g/", "only weight=NUMBER and cost=NUMBER"),
        ("http://h/ weight=x", "weight must be a number above 0"),
        ("http://h/ weight=0", "weight must be a number above 0"),
        ("http://h/ render=maybe", "render must be yes or no, such as render=yes"),
        ("http://h/ cost=-1", "cost must be a number above 0"),
        ("http://h/ cost=inf", "cost must be a number above 0"),
        ("http://h/ cost=nan", "cost must be a number above 0"),
        ("http://h/ cost=1 cost=2", "cost is given twice"),
        ("http://h/ at-least=daily", "at-least 'daily': expected a number above 0"),
        ("http://h/ at-most=2/day/page", "at-most '2/day/page'"),
        ("http://h/ at-least=2/day at-most=1/day", "at-least 2/day asks for more polls than"),
    ],
)
def test_errors_name_file_and_line(tmp_path, line, message):
    path = tmp_path / "urls"
    path.write_text(f"# pages\nhttp://h/\n{line}\n")
    with pytest.raises(InputError, match=message) as caught:
        read_url_list(path)
    assert str(caught.value).startswith(f"{path}, line 3: ")


def test_all_lines_that_are_wrong_are_named(tmp_path):
    path = tmp_path / "urls"
    path.write_text("x\nhttp://h/\ny\nhttp://h/ weight=0\n")
    with pytest.raises(InputError, match=r"line 1: not a URL: 'x'; .*; wrong are also lines 3, 4$"):
        read_url_list(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_url_list(tmp_path / "none")
    with pytest.raises(InputError, match="directory"):
        read_url_list(tmp_path)
    (tmp_path / "latin").write_bytes(b"http://h/\xe9")
    with pytest.raises(InputError, match=r"not UTF-8 text \(byte 9\)"):
        read_url_list(tmp_path / "latin")


def test_nothing_behind_the_sign_takes_back_what_a_page_had(tmp_path):
    path = tmp_path / "urls"
    path.write_text("http://h/ weight= cost= at-least= at-most= tags= select= ignore= render=\n")
    taken_back = NewPage("http://h/", "h", 1.0, 1.0, 0.0, 0.0, None, (), (), (), False)
    assert read_url_list(path) == [taken_back]


def test_pages_that_are_to_be_rendered(tmp_path):
    path = tmp_path / "urls"
    path.write_text("http://h/a render=yes\nhttp://h/b render=yes cost=3\nhttp://h/c render=no\n")
    pages = read_url_list(path)
    assert [(page.render, page.cost) for page in pages] == [
        (True, None),
        (True, 3.0),
        (False, None),
    ]
