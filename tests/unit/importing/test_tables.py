"""Tables in CSV: pages by the names of the columns, and what is no such table."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.importing.tables import is_table, read_table
from pollwise.types import Observation, Outcome

from .one_line import read_or_refused

TABLE = """URL,Name,Tags,interval,Select
https://a.example/terms,"Terms, of A","legal; tos",daily,main
https://b.example/,,,,
a.example,no scheme
,no URL

https://c.example/#part,"Two
lines",news
"""


def told(data):
    return [(page.url, page.name, page.tags) for page in read_table(data).pages]


def test_pages_of_a_spreadsheet():
    read = read_table(TABLE.encode())
    assert [(page.url, page.name, page.tags, page.select) for page in read.pages] == [
        ("https://a.example/terms", "Terms, of A", ("legal", "tos"), ("main",)),
        ("https://b.example/", None, None, None),
        ("https://c.example/", "Two lines", ("news",), None),
    ]
    assert read.left_out == (
        "the column interval has no counterpart",
        "line 4: not a URL: 'a.example'; begin it with http:// or https://",
        "line 5: there is no URL in it",
    )


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbfurl;title;folder\r\nhttp://a.example/;A;x\r\n",
        "Title\tLink\tTag\r\nA\thttp://a.example/\tx\r\n".encode("utf-16"),
        b'"group","URL","name"\n"x","http://a.example/","A"\n',
        b"\n\nTag, Url , Title\nx, http://a.example/ , A\n",
        b"\xef\xbb\xbfsep=;\r\nurl;title;folder\r\nhttp://a.example/;A;x\r\n",
        '"sep=,"\nurl,name,tag\nhttp://a.example/,A,x\n'.encode("utf-16"),
    ],
)
def test_separators_encodings_and_other_names_of_columns(data):
    assert is_table(data)
    assert told(data) == [("http://a.example/", "A", ("x",))]


def test_other_columns_of_the_same_meaning_are_left_out():
    read = read_table(b"link,title,url,name,\nhttp://b.example/,B,http://a.example/,A,1\n,,,C,2\n")
    assert [(page.url, page.name) for page in read.pages] == [("http://a.example/", "A")]
    assert read.left_out == (
        "the column link has no counterpart",
        "the column title has no counterpart",
        "line 3: there is no URL in it",
    )


def test_columns_are_no_reason_that_there_is_no_page():
    assert read_table(b"url,price\nnone,1\n").left_out[0].startswith("line 2: not a URL")


def test_a_table_of_urls_alone():
    assert told(b"url\nhttp://a.example/\n") == [("http://a.example/", None, None)]


@pytest.mark.parametrize(
    "data", [b"", b"http://a.example/\n", b"url: http://a.example/\n", b"page,changed_at\na,1\n"]
)
def test_what_begins_otherwise_is_no_table(data):
    assert not is_table(data)
    with pytest.raises(InputError, match="its first line names no column url"):
        read_table(data)


def test_a_table_that_cannot_be_read_is_refused():
    with pytest.raises(InputError, match="line 2: no CSV: unexpected end"):
        read_table(b'url\n"http://a.example/\n')
    with pytest.raises(InputError, match=r"not UTF-8 text \(byte 4\); save it as UTF-8"):
        read_table(b"url\n\xe4")


@settings(deadline=None)
@given(st.text(alphabet='url,;\t\n"a:/ ', max_size=60))
def test_any_text_is_read_or_refused_by_a_line(text):
    read_or_refused(read_table, f"url,name\n{text}".encode())


CHECKS = b"""page,checked_at,changed
http://a.example/,2026-05-03T00:00Z,1
http://a.example/,2026-05-01T02:00+02:00,yes
http://b.example/,1777593600.0,0
http://a.example/,2026-05-02,FALSE
http://a.example/,2026-05-02,1
"""


def test_past_checks_are_in_the_order_of_time_each_once():
    read = read_table(CHECKS)
    assert [page.url for page in read.pages] == ["http://a.example/", "http://b.example/"]
    day, begin = 86_400.0, 1_777_593_600.0
    first = Observation(-1, begin, Outcome.CHANGED)
    assert read.checks == {
        "http://a.example/": (
            first,
            Observation(-1, begin + day, Outcome.CHANGED),
            Observation(-1, begin + 2 * day, Outcome.CHANGED),
        ),
        "http://b.example/": (first,),
    }
    assert read.left_out == ()


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (b"http://a.example/,1777593600000,1", "checked_at=1777593600000.0 is too large for UTC"),
        (b"http://a.example/,46083.7,1", "checked_at 46083.7 is before 1990; give UTC seconds"),
        (b"http://a.example/,1.5.2026,1", "checked_at='1.5.2026' must be a time: "),
        (b"http://a.example/,,1", "checked_at='' must be a time: "),
        (b"http://a.example/,2026-05-01,maybe", "changed is 'maybe'; give 0 or 1, for no or yes"),
        (b",2026-05-01,1", "there is no URL in it"),
    ],
)
def test_checks_that_cannot_be_used_are_left_out(row, why):
    read = read_table(CHECKS + row)
    assert len(read.pages) == 2
    [line] = read.left_out
    assert line.startswith(f"line 7: {why}")


def test_a_row_that_is_wrong_brings_no_page():
    assert read_table(b"page,checked_at,changed\nhttp://a.example/,x,1\n").pages == ()
