"""Headers, cookies and logins of the user on the wire: for hosts that were given, and no others."""

from http.cookiejar import MozillaCookieJar

import aiohttp
from aiohttp import web

from pollwise.fetch_settings import FetchSettings
from pollwise.types import PageMemory
from pollwise.web.own_headers import OwnHeaders

NOTHING = PageMemory()


def own_headers(tmp_path, site) -> OwnHeaders:
    """For the address of both sites, as cookies and logins know no ports."""
    file = tmp_path / "cookies.txt"
    file.write_text("# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\tgeheim\n")
    jar = MozillaCookieJar()
    jar.load(str(file), ignore_discard=True, ignore_expires=True)
    lines = FetchSettings(headers=("X-All: all", f"{site.host}: X-One: one")).header_lines()
    return OwnHeaders(lines, jar, {"127.0.0.1": ("me", "geheim")})


async def test_they_are_sent_along(site, fetching, clock, tmp_path):
    site.says("/a", "a")
    own = own_headers(tmp_path, site)
    async with fetching(clock=clock, given={site.host}, own_headers=own) as fetcher:
        assert (await fetcher.fetch(site.url("/a"), PageMemory(etag='"1"'))).body == b"a"
    (asked,) = site.asked
    assert asked.headers["X-All"] == "all"
    assert asked.headers["X-One"] == "one"
    assert asked.headers["Cookie"] == "sid=geheim"
    assert asked.headers["Authorization"] == aiohttp.encode_basic_auth("me", "geheim")
    assert asked.headers["If-None-Match"] == '"1"'
    assert asked.headers["User-Agent"].startswith("pollwise/")


async def test_a_page_that_wants_a_cookie_says_so_and_is_had_with_it(
    site, fetching, clock, following, tmp_path
):
    async def asks_for_a_cookie(request: web.Request) -> web.Response:
        if "sid" in request.cookies:
            return web.Response(text="within")
        return web.Response(status=302, headers={"Location": "/a", "Set-Cookie": "sid=1"})

    site.answers["/a"] = asks_for_a_cookie
    async with fetching(clock=clock, given={site.host}) as fetcher:
        result = await following(fetcher).fetch(site.url("/a"), NOTHING)
    assert (result.status, result.body) == (302, b"")
    assert result.error.startswith("more than 5 redirects, in a circle: as where a cookie")
    own = own_headers(tmp_path, site)
    async with fetching(clock=clock, given={site.host}, own_headers=own) as fetcher:
        assert (await following(fetcher).fetch(site.url("/a"), NOTHING)).body == b"within"


async def test_a_redirect_takes_none_to_a_host_that_was_not_given(
    site, other_site, fetching, clock, following, tmp_path
):
    other_site.says("/b", "b", Set_Cookie="theirs=1")
    site.says("/a", status=302, Location=other_site.url("/b"), Set_Cookie="theirs=1")
    own = own_headers(tmp_path, site)
    async with fetching(
        clock=clock, given={site.host}, allow_private=True, own_headers=own
    ) as fetcher:
        for _ in range(2):
            assert (await following(fetcher).fetch(site.url("/a"), NOTHING)).body == b"b"
    for asked in other_site.asked:
        assert not {"X-All", "X-One", "Cookie", "Authorization"} & set(asked.headers)
    assert site.asked[1].headers["Cookie"] == "sid=geheim"


async def test_a_header_of_one_host_does_not_go_to_another_that_was_given(
    site, other_site, fetching, clock, following, tmp_path
):
    other_site.says("/b", "b")
    site.says("/a", status=302, Location=other_site.url("/b"))
    own = own_headers(tmp_path, site)
    given = {site.host, other_site.host}
    async with fetching(clock=clock, given=given, own_headers=own) as fetcher:
        await following(fetcher).fetch(site.url("/a"), NOTHING)
    (asked,) = other_site.asked
    assert asked.headers["X-All"] == "all"
    assert "X-One" not in asked.headers
