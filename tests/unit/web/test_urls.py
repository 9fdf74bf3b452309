import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.web.urls import (
    base_of,
    canonical,
    divided,
    joined,
    located,
    origin_of,
    plainly_joined,
    scope_of,
    spelled,
)


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
        ("localhost:8001/price1", "not a URL: 'localhost:8001/price1'; begin it with http://"),
        ("shop.example.org:80", "begin it with http://"),
        (
            "http://user:secret@h/",
            "of h; take it out, and write it into your netrc file, .* --netrc",
        ),
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


LABELS = st.text("ax0-n", min_size=1, max_size=6)
PIECES = st.text("aZ09._~!$&'()*+,;=:@%2e-/? |", max_size=12)


@given(
    st.sampled_from(["http", "https", "HTTP"]),
    st.one_of(
        st.lists(LABELS, min_size=1, max_size=3).map(".".join),
        st.lists(st.integers(0, 300).map(str), min_size=1, max_size=5).map(".".join),
        st.sampled_from(
            ["xn--bcher-kva.example", "a.xn--nxa.b", "010.1.1.1", "[::1]", "a..b", "a_b"]
        ),
    ),
    st.one_of(st.just(""), st.integers(0, 70_000).map(lambda port: f":{port}")),
    st.lists(PIECES, max_size=3).map(lambda pieces: "".join(f"/{piece}" for piece in pieces)),
    st.one_of(st.just(""), PIECES.map(lambda query: f"?{query}")),
)
def test_what_is_said_without_parsing_is_what_parsing_says(scheme, host, port, path, query):
    url = f"{scheme}://{host}{port}{path}{query}"
    try:
        href, scope = located(url)
    except InputError:
        with pytest.raises(InputError):
            spelled(url)
        with pytest.raises(InputError):
            canonical(url)
    else:
        assert canonical(url) == href
        assert spelled(url) == (href, scope, f"{href.partition(':')[0]}://{scope}")


@given(
    st.sampled_from(
        ["", "/", "//", "http://h", "https://h.example:8443", "mailto:", "?", "HTTP://h", "http:"]
    ),
    st.lists(PIECES, max_size=3).map("/".join),
    st.sampled_from(["http://h.example", "https://127.0.0.1:8443", "http://[::1]:81"]),
    st.sampled_from(["/", "/a/b.html", "/a//b/?c=/d/e", "/a:b/", "/?/a"]),
)
def test_what_is_joined_without_parsing_is_what_parsing_says(begin, rest, origin, path):
    plain = plainly_joined(base_of(origin + path), begin + rest)
    assert plain is None or plain == joined(origin + path, begin + rest)


@pytest.mark.parametrize(
    "reference",
    ["/c", "/c//d?e/f", "c", "c/d.html?e=f:g", "c/d:e", "http://g/c", "https://g.example:81/c"],
)
def test_what_most_links_are_is_joined_without_parsing(reference):
    base = base_of("http://h.example/a/b?c/d")
    assert plainly_joined(base, reference) == joined(base.url, reference)


@pytest.mark.parametrize("port", ["", ":8080"])
def test_a_dot_at_the_end_of_a_name_makes_no_other_host(port):
    url = f"http://example.org.{port}/a"
    assert scope_of(url) == divided(url).scope == located(url)[1] == f"example.org{port}"
    assert canonical(url) == url
    assert scope_of(f"http://[2001:db8::1]{port}/") == f"[2001:db8::1]{port}"
