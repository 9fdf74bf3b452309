"""Hosts with addresses that are not public: fetched only where the user named them."""

import pytest

from pollwise.types import PageMemory

NOTHING = PageMemory()


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "0.0.0.0",
        "localhost",
        "[::ffff:127.0.0.1]",
    ],
)
async def test_a_redirect_to_this_machine_is_refused(
    site, other_site, fetching, clock, following, host
):
    other_site.says("/secret", "secret")
    port = other_site.server.port
    site.says("/a", status=302, Location=f"http://{host}:{port}/secret")
    async with fetching(clock=clock, given={site.host}) as fetcher:
        result = await following(fetcher).fetch(site.url("/a"), NOTHING)
    assert "no public address" in result.error
    assert "--allow-private" in result.error
    assert "\n" not in result.error
    assert (result.body, other_site.asked) == (b"", [])


async def test_a_redirect_to_another_host_that_was_given_is_followed(
    site, other_site, fetching, clock, following
):
    other_site.says("/b", "b")
    site.says("/a", status=302, Location=other_site.url("/b"))
    async with fetching(clock=clock, given={site.host, other_site.host}) as fetcher:
        assert (await following(fetcher).fetch(site.url("/a"), NOTHING)).body == b"b"


async def test_a_host_that_was_not_given_is_refused_unless_all_are_allowed(site, fetching, clock):
    site.says("/a", "a")
    async with fetching(clock=clock) as fetcher:
        result = await fetcher.fetch(site.url("/a"), NOTHING)
    assert result.error.startswith("127.0.0.1 is no public address: ")
    assert site.asked == []
    async with fetching(clock=clock, allow_private=True) as fetcher:
        assert (await fetcher.fetch(site.url("/a"), NOTHING)).body == b"a"


async def test_a_connection_to_a_host_that_was_given_serves_no_other(site, fetching, clock):
    """Were there one pool, the name would be refused once and then reached."""
    site.says("/a", "a")
    port = site.server.port
    given = [f"127.0.0.1:{port}"]
    async with fetching(clock=clock, given=given) as fetcher:
        assert (await fetcher.fetch(site.url("/a"), NOTHING)).body == b"a"
        given.clear()
        assert "no public" in (await fetcher.fetch(site.url("/a"), NOTHING)).error
