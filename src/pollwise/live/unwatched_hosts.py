"""Hosts that limits, groups and headers name, but no page has: most likely they are misspelt."""

from collections.abc import Iterable, Iterator

from pollwise.fetch_settings import FetchSettings
from pollwise.web.own_headers import OwnHeaders

__all__ = ["unwatched_hosts_told"]


def unwatched_hosts_told(
    settings: FetchSettings, own_headers: OwnHeaders, scopes: Iterable[str]
) -> Iterator[str]:
    """A line for each such host, with the one that may be meant; `scopes` are those of all pages.

    >>> settings = FetchSettings(host_limits=("example.org=2/day",))
    >>> list(unwatched_hosts_told(settings, OwnHeaders(), ["www.example.org"]))
    ['host-limit example.org: no page is of this host, but of www.example.org']
    """
    watched = set(scopes)
    limited = (scope for scope in settings.limit_texts() if scope[0] not in "@*")
    by_option = (
        ("host-limit", limited),
        ("group", settings.group_scopes()),
        ("header", sorted(own_headers.hosts)),
    )
    for option, hosts in by_option:
        for host in hosts:
            if host not in watched:
                near = min((scope for scope in watched if _bare(scope) == _bare(host)), default="")
                meant = near and f", but of {near}"
                yield f"{option} {host}: no page is of this host{meant}"


def _bare(scope: str) -> str:
    """The host without its port, and without `www.`."""
    host, _, port = scope.rpartition(":")
    return (host if port.isdecimal() else scope).removeprefix("www.")
