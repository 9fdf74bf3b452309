"""What values of HTTP headers, and errors of libraries, mean as text, times and seconds."""

import email.utils
import re
from datetime import UTC
from typing import TYPE_CHECKING

from pollwise.sources.view import NO_HUB, HubLinks

if TYPE_CHECKING:
    import aiohttp

__all__ = ["hub_links", "parse_http_date", "parse_retry_after", "readable", "validator"]

_DAY = 86400.0


def parse_http_date(value: str | None) -> float | None:
    """The time of an HTTP date, in any of its three forms (RFC 9110 section 5.6.7); else None.

    >>> parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT")
    784111777.0
    """
    if value is None:
        return None
    try:
        date = email.utils.parsedate_to_datetime(value)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    # Not only ValueError: the standard library's parser fails in many ways on garbage.
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def parse_retry_after(value: str | None, now: float) -> float | None:
    """The seconds to wait by a Retry-After header (RFC 9110 section 10.2.3); None: it says nothing.

    Either seconds or a date; a past date gives 0, and the wait is at most a day.

    >>> parse_retry_after("120", now=0.0)
    120.0
    """
    if value is None:
        return None
    text = value.strip()
    if re.fullmatch(r"[0-9]+", text):
        return min(float(text), _DAY)
    date = parse_http_date(text)
    return None if date is None else min(max(date - now, 0.0), _DAY)


def validator(value: str | None) -> str | None:
    """The value if it can be sent back as it came, which only ASCII surely can."""
    return value if value and value.isascii() and value.isprintable() else None


def readable(value: str | None) -> str | None:
    """Header text that can be stored, with `?` for undecodable bytes."""
    return None if value is None else value.encode(errors="replace").decode()


def hub_links(response: "aiohttp.ClientResponse") -> HubLinks:
    """What the Link headers of an answer (RFC 8288) say of hubs, by absolute addresses."""
    try:
        links = response.links
    except ValueError:  # an address that is none
        return NO_HUB
    found: dict[str, str] = {}
    for relations, link in links.items():
        for relation in relations.lower().split():
            found.setdefault(relation, str(link["url"]))
    return HubLinks(found.get("hub", ""), found.get("self", ""))
