"""Lists of pages as users write them."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.scheduler.budgets import parse_interval
from pollwise.store.records import NewPage, usual_cost
from pollwise.types import Page
from pollwise.web.url_list import line_of, named_pages, read_url_list


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


def test_a_line_that_wants_something_else_of_a_page_named_before_is_told(tmp_path):
    path, told = tmp_path / "urls", list[str]()
    path.write_text("# two\nhttp://h/a weight=2\nhttp://h/b\nhttp://h/b\nHTTP://H/a#top weight=2\n")
    read_url_list(path, told.append)
    assert told == []  # the same once more takes nothing from anybody
    path.write_text("# two\nhttp://h/a\nhttp://h/b weight=2\nHTTP://H/b\n")
    read_url_list(path, told.append)
    first = (
        f"{path}: line 4 does not count, as line 3 names http://h/b already, with other words: keep"
        " one of them"
    )
    assert told == [first]
    path.write_text(
        path.read_text() + "http://h/a tags=x\nhttp://h/b weight=2\nhttp://h/b cost=2\n"
    )
    pages = read_url_list(path, told.append)
    assert told == [first, f"{first}; more such lines: 5, 7"]
    assert pages == [NewPage("http://h/a", "h"), NewPage("http://h/b", "h", weight=2.0)]


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
        'http://h/b tags= select="" ignore= notify-when=\n'
        'http://h/c notify-when="below 20" notify-when="has ""sold out"""\n'
    )
    told, taken_back, conditioned = read_url_list(tmp_path / "urls")
    assert (told.notify_when, taken_back.notify_when) == (None, ())
    assert conditioned.notify_when == ("below 20", 'has "sold out"')
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
        ("http://h/a b", "a space in a URL is written %20"),
        ("http://h/ http://g/", "only weight=NUMBER and cost=NUMBER"),
        ("http://h/ weight=x", "weight must be a number above 0"),
        ("http://h/ weight=0", "weight must be a number above 0"),
        ("http://h/ render=maybe", "render must be yes or no, such as render=yes"),
        ("http://h/ weight=1e99", "expected a number from 0.000000001 to 1,000,000,000"),
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


@pytest.mark.parametrize(
    "text",
    [
        '<?xml version="1.0"?>\n<opml/>',
        "URL;Title\nhttp://h/;A\n",
        'name,"url"\nA,http://h/\n',
        "page,checked_at,changed\nhttp://h/,2026-05-01,0\n",
        "Name\tURL\tTags\nA\thttp://h/\tx\n",
        "url: http://h/\n",
    ],
)
def test_a_file_of_another_program_is_for_import(tmp_path, text):
    path = tmp_path / "my urls"
    path.write_text(text)
    with pytest.raises(InputError, match=r"`pollwise import '.*my urls'` reads others$"):
        read_url_list(path)


def test_a_first_line_of_tabs_is_read_in_linear_time(tmp_path):
    """A million took hours."""
    path = tmp_path / "urls"
    path.write_text("x" + "\t" * 1_000_000 + "y")
    with pytest.raises(InputError, match="line 1: "):
        read_url_list(path)


def test_a_list_whose_first_host_has_no_scheme_is_a_list(tmp_path):
    path = tmp_path / "urls"
    path.write_text("link.example/\nhttp://h/\n")
    with pytest.raises(InputError, match="line 1: not a URL"):
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
    marks = "weight= cost= at-least= at-most= tags= select= ignore= render= notify-when="
    path.write_text(f"http://h/ {marks}\n")
    taken_back = NewPage(
        *("http://h/", "h", 1.0, 1.0, 0.0, 0.0, None, (), (), (), False), notify_when=()
    )
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


WORDS = st.text(
    st.characters(min_codepoint=33, max_codepoint=126, exclude_characters=","), min_size=1
)
PARTS = st.lists(
    st.text(st.sampled_from("ab \"'#=\\,[]"), min_size=1, max_size=9).map(
        lambda text: f"re:{re.escape(text.strip())}x"
    )
    | st.sampled_from(["main p", 'a[href="x y"]', 'xpath://p[@a="1"]', "#top", 'json:$["a b"]']),
    max_size=3,
).map(lambda texts: tuple(dict.fromkeys(texts)))
BOUNDS = st.none() | st.builds(
    lambda number, unit: parse_interval("at-least", f"{number}/{unit}"),
    st.integers(1, 5000).map(lambda n: n / 10),
    st.sampled_from(["minute", "hour", "day", "week"]),
)


@settings(max_examples=200, deadline=None)
@given(
    weight=st.floats(1e-9, 1e9),
    cost=st.none() | st.floats(1e-9, 1e9),
    bounds=st.tuples(BOUNDS, BOUNDS),
    tags=st.lists(WORDS, max_size=3, unique=True).map(tuple),
    select=PARTS,
    ignore=PARTS,
    render=st.booleans(),
    notify_when=st.sampled_from(
        [
            (),
            ("below 20",),
            ('falls by 5 % and lacks "a"',),
            ('has "a b"', "lacks x=#1", "above -1,5"),
        ]
    ),
)
def test_a_page_comes_back_from_its_line(
    tmp_path_factory, weight, cost, bounds, tags, select, ignore, render, notify_when
):
    both = sorted(filter(None, bounds))
    page = Page(
        id=0,
        url="http://a.example/x?a=1",
        scope="a.example",
        weight=weight,
        cost=usual_cost(render) if cost is None else cost,
        longest_interval=both[-1] if both else None,
        shortest_interval=both[0] if both[1:] else None,
        tags=tags,
        select=select,
        ignore=ignore,
        render=render,
        notify_when=notify_when,
    )
    folder = tmp_path_factory.mktemp("list")
    (folder / "pages.txt").write_text(line_of(page) + "\n", encoding="utf-8")
    [read] = read_url_list(folder / "pages.txt")
    assert (read.url, read.weight or 1.0) == (page.url, weight)
    assert (read.cost or usual_cost(bool(read.render))) == page.cost
    assert (read.longest_interval, read.shortest_interval) == (
        page.longest_interval,
        page.shortest_interval,
    )
    assert (read.tags or (), read.select or (), read.ignore or ()) == (tags, select, ignore)
    assert (bool(read.render), read.notify_when or ()) == (render, notify_when)


def test_quotes_that_do_not_end_are_refused(tmp_path):
    (tmp_path / "pages.txt").write_text('http://a.example/ select="main\n')
    with pytest.raises(InputError, match=r'the quotes of "main do not end'):
        read_url_list(tmp_path / "pages.txt")


def test_a_selector_may_end_with_a_quote(tmp_path):
    (tmp_path / "pages.txt").write_text('http://a.example/ select=re:"a"\n')
    [page] = read_url_list(tmp_path / "pages.txt")
    assert page.select == ('re:"a"',)


def test_a_list_that_is_named_as_a_page_is_told_to_be_one(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("http://a.example/\n")
    with pytest.raises(InputError, match=r"list.txt is a file: .* --file .*list.txt$"):
        named_pages(["http://b.example/", str(path)])


@pytest.mark.parametrize("url", ["a" * 300, "a/" * 3000, "a\0", "\udc80", "/"])
def test_what_no_file_can_be_called_is_no_url_either(url):
    with pytest.raises(InputError):
        named_pages([url])


def test_pages_of_a_command_line_are_of_no_list():
    (page,) = named_pages(["HTTP://b.example"], tags=["shop"], weight=None)
    assert (page.url, page.tags, page.weight, page.listed_in) == (
        "http://b.example/",
        ("shop",),
        None,
        "",
    )
