"""Which addresses are public: connections lead to no others.

A page may redirect or link to `http://127.0.0.1/` or to a name that means it, and so reach what
only this machine or its network may (server-side request forgery). A name can mean another address
each time that it is asked for. So the judge is the socket: it sees the very address that is
connected to.
"""

import asyncio
import ipaddress
import math
import socket
from collections.abc import Callable

from ada_url import URL

__all__ = ["Addresses", "RefusedAddressError", "is_public", "require_public", "require_public_host"]

_KNOWN_FOR = 600.0
_MOST_KNOWN = 10_000
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # RFC 6052
# Where the tables of `ipaddress` differ from one version of Python to the next, this list decides.
# From the IANA special-purpose address registries: that of IPv6 as of 2024-10-22, and RFC 9780.
_SPECIAL = tuple(
    ipaddress.ip_network(block)
    for block in (
        "192.0.0.0/24",  # protocol assignments, RFC 6890; no web host has one of its exceptions
        "192.88.99.0/24",  # relays to IPv6, RFC 7526: given up
        "64:ff9b:1::/48",  # translation within a network, RFC 8215
        "100:0:0:1::/64",  # a dummy, RFC 9780
        "2001::/23",  # protocol assignments, RFC 2928; no web host has one of its exceptions
        "3fff::/20",  # documentation, RFC 9637
        "5f00::/16",  # segment routing, RFC 9602
    )
)


class RefusedAddressError(OSError):
    """A connection to an address that is not public."""


def is_public(address: str) -> bool:
    """Whether an IP address, as `socket` spells it, can be that of a host in the public internet.

    Not those that are private, loopback, link-local, shared (RFC 6598), multicast or otherwise
    special. An IPv6 address that stands for an IPv4 address is what that one is. `ValueError` for
    what is no address.

    >>> is_public("93.184.215.14"), is_public("127.0.0.1"), is_public("::ffff:10.0.0.1")
    (True, False, False)
    """
    ip = _reached(ipaddress.ip_address(address))
    if isinstance(ip, ipaddress.IPv6Address) and ip.is_site_local:
        return False
    if any(ip in block for block in _SPECIAL):
        return False
    return ip.is_global and not (ip.is_multicast or ip.is_reserved)


def _reached(
    ip: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The address that packets get to in the end: a translator or tunnel may be on the way."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in _NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or ip


def require_public(address: str) -> None:
    """`RefusedAddressError` for an address that is not public."""
    if not is_public(address):
        raise RefusedAddressError(
            f"{address} is no public address: only hosts of URLs that you gave may have one,"
            " or any with --allow-private"
        )


async def require_public_host(url: str) -> None:
    """`RefusedAddressError` for a URL whose host has an address, here and now, that is not public.

    For what a proxy is asked for: it connects, so no socket of ours is the judge. A name that
    cannot be looked up here is refused as well.
    """
    host = _host(url)
    try:
        found = await _looked_up(host)
    except socket.gaierror as error:
        raise RefusedAddressError(
            f"{host} cannot be looked up here ({error.strerror}), so nobody knows where the proxy"
            " would go: only hosts of URLs that you gave may be so, or any with --allow-private"
        ) from error
    for address in found:
        require_public(address)


class Addresses:
    """What the names of hosts mean, each looked up every ten minutes at most.

    `clock` gives seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[str, tuple[float, str | None]] = {}

    async def of(self, url: str) -> str | None:
        """The same address for all hosts that have the same ones; None: there is none.

        That is the first of them in the order of text, whichever is connected to.
        """
        host = _host(url)
        now = self._clock()
        looked_up_at, address = self._known.get(host, (-math.inf, None))
        if now - looked_up_at > _KNOWN_FOR:
            try:
                address = min(await _looked_up(host))
            except (OSError, ValueError):  # the fetch will say what is wrong with it
                address = None
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[host] = now, address
        return address


def _host(url: str) -> str:
    return URL(url).hostname.strip("[]")


async def _looked_up(host: str) -> list[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(address[0]) for _, _, _, _, address in found]
