"""The one spelling under which a discovered page is known.

A crawl meets the same page under many addresses. `urls.canonical`, by the WHATWG URL standard, is
safe for any URL that a user writes; here more is dropped, lest a crawl fetch a page once for every
session number that a server hands out.

The order of the parameters of a query stays, as it matters to servers for repeated names and for
queries that are no lists of names. Pages that differ in it alone are found as duplicates.
"""

import re

from pollwise.web.urls import canonical

__all__ = ["crawl_url", "host_of"]

# RFC 3986 section 2.3: an unreserved character means the same encoded or not.
_UNRESERVED = {
    f"{ord(character):02X}": character
    for character in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
}
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})?")
# `sid` and `session` also name stories and lectures: only values that look like tokens are dropped.
_NOT_OF_THE_PAGE = re.compile(
    r"""
    (?:^|&)
    (?:
        (?: phpsessid | jsessionid | aspsessionid\w* | session_?id | sessid | cfid | cftoken
          | oscsid | zenid
          | (?:utm|pk|mtm)_\w+
          | gclid | gclsrc | dclid | gbraid | wbraid | fbclid | msclkid | yclid | twclid | ttclid
          | igshid | mc_[ce]id | mkt_tok | _ga | _gl | _hsenc | _hsmi | vero_id | _openstat
        ) (?:=[^&]*)?
      | (?:sid|session) = [0-9a-z]{16,}
    )
    (?=&|$)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SESSION_IN_PATH = re.compile(
    r";(?:jsessionid|phpsessid|sessionid)=[^/;]*|/\((?:[a-z]\(\w+\))*s\([0-9a-z]{24}\)\)(?=/|$)",
    re.IGNORECASE,
)

_MAY_HAVE_MORE = re.compile("[?;(]")
"""What is in a URL of which something may be dropped."""


def crawl_url(url: str) -> str:
    """The canonical form of an absolute URL that a crawl discovered.

    Beyond `urls.canonical`: unreserved characters are decoded, other escapes are in upper case,
    and a percent sign that begins no escape is escaped (RFC 3986 section 6.2.2). Session numbers in
    query or path, the parameters by which campaigns track visitors, and empty queries are dropped.
    `crawl_url(crawl_url(u))` is `crawl_url(u)`. `InputError` if pollwise does not fetch `url`.

    >>> crawl_url("https://Example.org/%7eann/a;jsessionid=1F/../b?utm_source=x&q=%c3%a9&sid=7#top")
    'https://example.org/~ann/b?q=%C3%A9&sid=7'
    """
    href = canonical(url)
    if "%" in href:
        href = _PERCENT.sub(_respelled, href)
    if _MAY_HAVE_MORE.search(href) is None:  # as most
        return href
    address, _, query = href.partition("?")
    query = _NOT_OF_THE_PAGE.sub("", query).lstrip("&")
    respelled = f"{address}?{query}" if query else address
    without = _SESSION_IN_PATH.sub("", address)
    # Without the session number, what is left of its segment may be a dot segment.
    return respelled if without == address else crawl_url(without + respelled[len(address) :])


def host_of(url: str) -> str:
    """The host of a canonical URL, with the port if it is not the scheme's own.

    >>> host_of("https://example.org:8443/news")
    'example.org:8443'
    """
    return url.split("/", 3)[2]


def _respelled(escape: re.Match[str]) -> str:
    digits = escape[1]
    if digits is None:
        return "%25"
    digits = digits.upper()
    return _UNRESERVED.get(digits, f"%{digits}")
