import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.web.crawl_urls import crawl_url, host_of
from pollwise.web.urls import canonical, scope_of


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTP://H.example:80/A/./b/../c#top", "http://h.example/A/c"),
        # Percent-encoding (RFC 3986 section 6.2.2).
        ("http://h/%7e%41%2d%c3%a9%2f?q=%7E%2f", "http://h/~A-%C3%A9%2F?q=~%2F"),
        ("http://h/100%", "http://h/100%25"),
        ("http://h/%%32e/", "http://h/%252e/"),
        ("http://h/%252e", "http://h/%252e"),
        # Queries.
        ("http://h/?", "http://h/"),
        ("http://h/?&&", "http://h/"),
        ("http://h/?b=2&a=1&b=1", "http://h/?b=2&a=1&b=1"),
        ("http://h/?a=1&&b", "http://h/?a=1&&b"),
        ("http://h/?utm_source=a&UTM_medium=b&q=1", "http://h/?q=1"),
        ("http://h/?q=1&gclid=a&p=2&fbclid=b&mc_cid=c&_ga=2.1", "http://h/?q=1&p=2"),
        ("http://h/?q=utm_source", "http://h/?q=utm_source"),
        ("http://h/?xutm_source=1&gclidx=2", "http://h/?xutm_source=1&gclidx=2"),
        # Session numbers.
        ("http://h/?PHPSESSID=5d41402abc4b2a76b9719d911017c592&q=1", "http://h/?q=1"),
        ("http://h/?q=1&%50HPSESSID=1", "http://h/?q=1"),
        ("http://h/?sessionid=1&session_id=2&ASPSESSIONIDQQRS=3&cfid=4&CFTOKEN=5", "http://h/"),
        ("http://h/?t=7&sid=5d41402abc4b2a76b9719d911017c592", "http://h/?t=7"),
        ("http://h/?sid=42&session=morning", "http://h/?sid=42&session=morning"),
        ("http://h/a;jsessionid=1F.node1/b;v=1?q", "http://h/a/b;v=1?q"),
        ("http://h/a/.;jsessionid=1/..;JSessionId=2/b", "http://h/b"),
        ("http://h/(S(lit3py55t21z5v55vlm25s55))/a.aspx", "http://h/a.aspx"),
        ("http://h/f(x)/(s(x))/", "http://h/f(x)/(s(x))/"),
    ],
)
def test_crawl_url(url, expected):
    assert crawl_url(url) == expected
    assert crawl_url(expected) == expected


MARKS = "/ . .. % 2 e E %2e %3B ;jsessionid= ; ? & = # utm_a sid=5d41402abc4b2a76 phpsessid ü \\"
PIECES = st.lists(
    st.sampled_from([*MARKS.split(), "/(S(lit3py55t21z5v55vlm25s55))"]), max_size=14
).map("".join)


@given(PIECES | st.text(max_size=30))
@example("/..;jsessionid=/(S(lit3py55t21z5v55vlm25s55))/..")
def test_it_is_idempotent_and_canonical(rest):
    try:
        once = crawl_url(f"http://H.example/{rest}")
    except InputError:
        return
    assert crawl_url(once) == once
    assert canonical(once) == once
    assert host_of(once) == scope_of(once) == "h.example"
    assert not once.endswith("/?") or "?" in once[:-1]


@pytest.mark.parametrize("url", ["", "h/a", "mailto:a@h", "http://u:p@h/", "http://h/\n"])
def test_what_is_refused(url):
    with pytest.raises(InputError):
        crawl_url(url)


def test_long_urls_take_linear_time():
    for part in (";jsessionid=1", "%", "/(S(", "/.;jsessionid=", "&utm_a", "(a(1)"):
        crawl_url("http://h/" + 30_000 * part + "?" + 30_000 * part)
