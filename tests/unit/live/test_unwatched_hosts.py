"""Hosts that are named by options only."""

from pollwise.fetch_settings import FetchSettings, HeaderLine
from pollwise.live.unwatched_hosts import unwatched_hosts_told
from pollwise.web.own_headers import OwnHeaders


def test_each_is_told_with_the_host_that_may_be_meant() -> None:
    settings = FetchSettings(
        groups=("own=a.example,b.example:8080",),
        host_limits=("c.example=2/day", "d.example=2/day", "@own=3/day"),
    )
    own = OwnHeaders([HeaderLine("[::1]:81", "X-A", "b"), HeaderLine(None, "X-B", "b")])
    watched = ["a.example", "b.example", "www.c.example", "d.example", "[::1]"]
    assert list(unwatched_hosts_told(settings, own, watched)) == [
        "host-limit c.example: no page is of this host, but of www.c.example",
        "group b.example:8080: no page is of this host, but of b.example",
        "header [::1]:81: no page is of this host, but of [::1]",
    ]
    assert list(unwatched_hosts_told(settings, OwnHeaders(), ["elsewhere.example"]))[-1] == (
        "group b.example:8080: no page is of this host"
    )
    assert list(unwatched_hosts_told(FetchSettings(), OwnHeaders(), watched)) == []
