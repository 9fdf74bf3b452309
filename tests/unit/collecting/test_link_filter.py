import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.collecting.link_filter import LinkFilter, Rejected
from pollwise.collecting.traps import Traps
from pollwise.errors import InputError
from pollwise.web.crawl_urls import crawl_url


def test_links_become_canonical():
    links = LinkFilter()
    assert links.admit("HTTP://H.example/%7ea?utm_source=b#c") == "http://h.example/~a"
    assert links.rejections == {}


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("mailto:ann@example.org", Rejected.NOT_FETCHED),
        ("javascript:void(0)", Rejected.NOT_FETCHED),
        ("page.html", Rejected.NOT_FETCHED),
        ("http://ann:secret@h/", Rejected.NOT_FETCHED),
        ("http://h/\x00", Rejected.NOT_FETCHED),
        ("http://h/\udc80", Rejected.NOT_FETCHED),
        ("http://h/" + 2000 * "a", Rejected.TOO_LONG),
        ("http://h/" + 300 * "ü" + 300 * "/%", Rejected.TOO_LONG),
        ("data:text/html," + 9_000_000 * "a", Rejected.TOO_LONG),
        ("http://h/logo.PNG?v=3", Rejected.NO_TEXT),
        ("http://h/linux-6.1.tar.xz", Rejected.NO_TEXT),
        ("http://h/style.css", Rejected.NO_TEXT),
        ("http://h/a/b/a/b/a/b/", Rejected.ENDLESS),
    ],
)
def test_what_no_crawl_wants(url, reason):
    links = LinkFilter()
    assert links.admit(url) is reason
    assert links.rejections == {reason: 1}


@pytest.mark.parametrize(
    "url",
    [
        "http://h/a.html",
        "http://h/a.pdf",
        "http://h/png",
        "http://h/node.js/",
        "http://h/wiki/Node.js",
        "http://h/wiki/File:Map.svg",
        "http://h/view?file=a.png",
        "http://h.js/",
    ],
)
def test_what_may_hold_text(url):
    assert LinkFilter().admit(url) == url


def test_allow_and_deny():
    links = LinkFilter(
        allow=[r"^https?://([^/]*\.)?example\.org(:\d+)?/", r"^http://g/(a|b)/\Z"],
        deny=[r"\?print=", "(?i)login"],
    )
    verdicts = {
        "https://example.org:8443/": None,
        "http://www.example.org/?print=1": Rejected.DENIED,
        "http://www.example.org/LOGIN": Rejected.DENIED,
        "http://badexample.org/": Rejected.NOT_ALLOWED,
        "http://example.org.bad/": Rejected.NOT_ALLOWED,
        "http://h/example.org/": Rejected.NOT_ALLOWED,
        "http://g/b/": None,
        "http://g/c/": Rejected.NOT_ALLOWED,
    }
    for url, reason in verdicts.items():
        assert links.admit(url) == (reason or url)
    assert list(links.rejections.items()) == [(Rejected.NOT_ALLOWED, 4), (Rejected.DENIED, 2)]


@pytest.mark.parametrize("option", ["allow", "deny"])
def test_a_bad_pattern_is_named(option):
    with pytest.raises(InputError, match=rf"--{option} 'a\(b': not a regular expression") as caught:
        LinkFilter(**{option: ["fine", "a(b"]})
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("limit", [{"max_depth": -1}, {"pages_per_host": 0}, {"max_depth": 1.5}])
def test_a_bad_limit_is_named(limit):
    with pytest.raises(InputError, match=next(iter(limit))):
        LinkFilter(**limit)


def test_nofollow_and_depth():
    links = LinkFilter({"http://h/known"}, max_depth=2)
    assert links.admit("http://h/a", nofollow=True) is Rejected.NOFOLLOW
    assert links.admit("http://h/a", depth=3) is Rejected.TOO_DEEP
    assert links.admit("http://h/a", depth=2) == "http://h/a"
    assert links.admit("http://h/known#b", depth=9) == "http://h/known"


def test_pages_of_a_host():
    known = {"http://h/1"}
    links = LinkFilter(known, pages_per_host=2)
    for url, expected in {
        "http://h/a": "http://h/a",
        "http://h/b": Rejected.HOST_FULL,
        "http://h/a?": "http://h/a",
        "http://h:81/b": "http://h:81/b",
    }.items():
        verdict = links.admit(url)
        assert verdict == expected
        if isinstance(verdict, str):
            known.add(verdict)


def test_what_is_rejected_does_not_count():
    links = LinkFilter(pages_per_host=1, traps=Traps(urls_per_pattern=1))
    assert links.admit("http://h/a.png") is Rejected.NO_TEXT
    assert links.admit("http://h/1") == "http://h/1"
    assert links.admit("http://h/2") is Rejected.HOST_FULL


def test_traps_are_told_apart():
    traps = Traps(dates_per_path=1, urls_per_pattern=2, queries_per_path=1)
    links = LinkFilter(traps=traps)
    verdicts = [
        links.admit(f"http://h/{rest}")
        for rest in ["c/2024/05", "c/2024/06", "i/1", "i/2", "i/3", "q?a", "q?b"]
    ]
    assert [verdict for verdict in verdicts if isinstance(verdict, Rejected)] == [
        Rejected.CALENDAR,
        Rejected.NUMBERS,
        Rejected.QUERIES,
    ]


def test_a_page_of_many_links_fills_nothing():
    """Links that are not admitted leave nothing behind."""
    known: dict[str, int] = {}
    links = LinkFilter(known, pages_per_host=100)
    for n in range(20_000):
        url = links.admit(f"http://h/a{n % 7}/{n}")
        if isinstance(url, str):
            known.setdefault(url, len(known))
    assert len(known) == 100
    assert links.rejections == {Rejected.HOST_FULL: 19_900}


def test_after_a_restart_it_goes_on_as_before():
    urls = [f"http://h{n % 3}/c/{2000 + n}/05?page={n % 5}" for n in range(60)]
    limits = {"pages_per_host": 17, "max_depth": 3}

    def verdicts(known: dict[str, None], urls: list[str]) -> list[str | Rejected]:
        links = LinkFilter(known, **limits, traps=Traps(dates_per_path=14))
        found = []
        for url in urls:
            found.append(verdict := links.admit(url, depth=1))
            if isinstance(verdict, str):
                known[verdict] = None
        return found

    whole = verdicts({}, urls)
    assert Rejected.HOST_FULL in whole or Rejected.CALENDAR in whole
    known: dict[str, None] = {}
    assert verdicts(known, urls[:25]) + verdicts(known, urls[25:]) == whole


LINKS = LinkFilter(pages_per_host=1000)


@given(st.text(max_size=60) | st.text(max_size=30).map("http://h/{}".format))
def test_any_text_has_a_verdict(text):
    verdict = LINKS.admit(text, depth=1)
    if isinstance(verdict, str):
        assert crawl_url(verdict) == verdict
    else:
        assert isinstance(verdict, Rejected)
