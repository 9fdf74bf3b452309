import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.web.urls import ListedUrl, canonical, joined, origin_of, read_url_list, scope_of


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://h", "http://h/"),
        (" HTTPS://H.Example:443/A?B#c ", "https://h.example/A?B"),
        ("http://h/a/./b/../c", "http://h/a/c"),
        ("http://h/%7e ü", "http://h/%7e%20%C3%BC"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://[::1]:80/", "http://[::1]/"),
        ("http://h/#", "http://h/"),
    ],
)
def test_canonical(url, expected):
    assert canonical(url) == expected
    assert canonical(expected) == expected


@given(
    st.sampled_from(["http", "https"]),
    st.sampled_from(["h", "h:81", "ü.example", "1.2.3.4", "[::1]"]),
    st.text(max_size=30),
)
def test_canonical_is_canonical(scheme, host, rest):
    try:
        once = canonical(f"{scheme}://{host}/{rest}")
    except InputError:
        return
    assert canonical(once) == once
    assert once.isascii()
    assert "#" not in once
    assert once.startswith(origin_of(once) + "/")
    assert origin_of(once) == f"{scheme}://{scope_of(once)}"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "not a URL: ''; begin it with http:// or https://"),
        ("example.org/a", "begin it with http://"),
        ("http://", "check its host and port"),
        ("http://h:99999/", "check its host and port"),
        ("ftp://h/", "ftp is not fetched"),
        ("mailto:a@h", "mailto is not fetched"),
        ("http://user:secret@h/", "take it out"),
        ("http://h/\n", r"a character that no URL may contain \('\\n'\)"),
        ("http://h/\udcff", "a character that no URL may contain"),
        ("x" * 500, r"x\.\.\.'; begin it"),
    ],
)
def test_what_is_refused(url, message):
    for function in (canonical, origin_of, scope_of):
        with pytest.raises(InputError, match=message):
            function(url)


def test_a_password_is_not_repeated():
    with pytest.raises(InputError) as caught:
        canonical("http://user:secret@h/")
    assert "secret" not in str(caught.value)


@given(st.text(max_size=40))
def test_any_text_is_a_url_or_an_input_error_of_one_line(text):
    message = ""
    try:
        canonical(text)
    except InputError as error:
        message = str(error)
    assert len(message.splitlines()) <= 1


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("c", "http://h/a/c"),
        ("/c?d#e", "http://h/c?d"),
        ("//g/c", "http://g/c"),
        ("https://g", "https://g/"),
        ("", "http://h/a/b"),
    ],
)
def test_joined(reference, expected):
    assert joined("http://h/a/b", reference) == expected


def test_joined_refuses_other_schemes():
    with pytest.raises(InputError, match="javascript is not fetched"):
        joined("http://h/", "javascript:alert(1)")


def test_a_list(tmp_path):
    path = tmp_path / "urls"
    path.write_bytes(
        b"\xef\xbb\xbf# pages\r\n\r\nhttp://h/b#top  weight=2 cost=0.5 # the best\r\n"
        b"  http://h/a\tcost=3\r\nHTTP://H/b weight=9\n  # end"
    )
    assert read_url_list(path) == [
        ListedUrl("http://h/b", weight=2.0, cost=0.5),
        ListedUrl("http://h/a", cost=3.0),
    ]


def test_bounds_in_a_list(tmp_path):
    (tmp_path / "urls").write_text(
        "http://h/a at-most=1/minute at-least=2/day\nhttp://h/b\nhttp://h/c at-least= at-most=\n"
    )
    bounded, free, taken_back = read_url_list(tmp_path / "urls")
    assert (bounded.longest_interval, bounded.shortest_interval) == (43_200.0, 60.0)
    assert (free.longest_interval, free.shortest_interval) == (None, None)
    assert (taken_back.longest_interval, taken_back.shortest_interval) == (0.0, 0.0)


def test_an_empty_list(tmp_path):
    (tmp_path / "urls").write_text("\n# nothing\n")
    assert read_url_list(tmp_path / "urls") == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("h/a", "not a URL: 'h/a'"),
        ("http://h/ wieght=2", "'wieght=2' behind the URL"),
        ("http://h/ http://g/", "only weight=NUMBER and cost=NUMBER"),
        ("http://h/ weight=", "weight must be a number above 0"),
        ("http://h/ weight=0", "weight must be a number above 0"),
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


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_url_list(tmp_path / "none")
    with pytest.raises(InputError, match="directory"):
        read_url_list(tmp_path)
    (tmp_path / "latin").write_bytes(b"http://h/\xe9")
    with pytest.raises(InputError, match=r"not UTF-8 text \(byte 9\)"):
        read_url_list(tmp_path / "latin")
