"""What values of HTTP headers, and errors of libraries, mean as text, times and seconds."""

import email.utils
import re
from collections.abc import Iterable, Sequence
from datetime import UTC
from functools import lru_cache

import yarl

from pollwise.sources.view import NO_HUB, HubLinks
from pollwise.units import DAY

__all__ = [
    "hub_links",
    "parse_http_date",
    "parse_retry_after",
    "readable",
    "transfer_codings",
    "validator",
]

_REMEMBERED = 4096
"""Dates: answers of one second have the same, and pages tell theirs again and again."""
_LONGEST_DATE = 64
"""Characters."""
_LONGEST_VALIDATOR = 8_000
"""Characters: most servers refuse a request with a line of more than 8 kB."""
_ABOUT_HUBS = frozenset({"hub", "self"})
_BETWEEN_LINKS = re.compile(r",(?=\s*<)")
_LINK = re.compile(r"\s*<([^>]*)>(.*)")
_PARAMETER = re.compile(
    r"""; \s* ([^\s=;"]+) \s* = \s* (?: "([^"]*)" | '([^']*)' | ([^\s;"']+) )""", re.VERBOSE
)
"""Of a link: its name, and its value in one of three ways to write it."""


def parse_http_date(value: str | None) -> float | None:
    """The time of an HTTP date, in any of its three forms (RFC 9110 section 5.6.7); else None.

    >>> parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT")
    784111777.0
    """
    return None if value is None or len(value) > _LONGEST_DATE else _parse_date(value)


@lru_cache(_REMEMBERED)
def _parse_date(value: str) -> float | None:
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
        return min(float(text), DAY)
    date = parse_http_date(text)
    return None if date is None else min(max(date - now, 0.0), DAY)


def transfer_codings(values: Iterable[str]) -> str:
    """The transfer codings of a message (RFC 9112 section 6.1) besides `chunked`; empty: none.

    >>> transfer_codings(["gzip, Chunked"]), transfer_codings(["chunked"])
    ('gzip', '')
    """
    named = [one.strip() for value in values for one in value.split(",")]
    return ", ".join(one for one in named if one.lower() not in ("", "chunked", "identity"))


def validator(value: str | None) -> str | None:
    """The value if it can be sent back as it came: only ASCII of no great length surely can."""
    if not value or len(value) > _LONGEST_VALIDATOR:
        return None
    return value if value.isascii() and value.isprintable() else None


def readable(value: str | None) -> str | None:
    """Header text that can be stored, with `?` for undecodable bytes."""
    return None if value is None else value.encode(errors="replace").decode()


def hub_links(values: Sequence[str], url: str) -> HubLinks:
    """What the Link headers (RFC 8288) of an answer from `url` say of hubs, by absolute addresses.

    Nothing if any of their addresses is none.

    >>> hub_links(['<https://hub.example/>; rel="hub", </feed>; rel=self'], "http://a.example/b")
    HubLinks(hub='https://hub.example/', topic='http://a.example/feed')
    """
    found: dict[str, str] = {}
    for link in _BETWEEN_LINKS.split(", ".join(values)) if values else ():
        if (parts := _LINK.match(link)) is None:
            continue
        try:
            address = yarl.URL(parts[1])
            for relation in _ABOUT_HUBS.intersection(_relations(parts[2])).difference(found):
                found[relation] = str(yarl.URL(url, encoded=True).join(address))
        except ValueError:
            return NO_HUB
    return HubLinks(found.get("hub", ""), found.get("self", ""))


def _relations(parameters: str) -> list[str]:
    """What the first `rel` says, in lower case."""
    for parameter in _PARAMETER.finditer(parameters):
        if parameter[1].lower() == "rel":
            return parameter[parameter.lastindex or 0].lower().split()
    return []
