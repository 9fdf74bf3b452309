"""Tables in CSV: pages by the names of the columns, and what is no such table."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.importing.tables import is_table, read_table

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
    ],
)
def test_separators_encodings_and_other_names_of_columns(data):
    assert is_table(data)
    assert told(data) == [("http://a.example/", "A", ("x",))]


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
