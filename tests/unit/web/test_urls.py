import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.web.urls import canonical, joined, origin_of, scope_of


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
