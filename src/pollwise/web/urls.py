"""URLs as the robot uses them."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from ada_url import URL

from pollwise.errors import InputError

__all__ = [
    "Base",
    "Divided",
    "Spelled",
    "base_of",
    "canonical",
    "divided",
    "joined",
    "located",
    "origin_of",
    "plain_scopes",
    "plainly_joined",
    "scope_of",
    "shown",
    "spelled",
]

_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_OCTET = "(?: 25[0-5] | 2[0-4][0-9] | 1[0-9][0-9] | [1-9]?[0-9] )"
_PLAIN_ORIGIN = re.compile(
    rf"""(?P<scheme> https? )
    :// (?P<host>
        (?: (?! xn-- ) [a-z0-9-]+ \. )* (?! xn-- ) [a-z] [a-z0-9-]*
        | (?: {_OCTET} \. ){{3}} {_OCTET}
    )
    (?: : (?P<port> (?! (?: 80 | 443 ) \Z ) (?: [1-5][0-9]{{4}} | [1-9][0-9]{{0,3}} ) ) )?""",
    re.VERBOSE,
)
_SEGMENT = "(?! \\. | %2[eE] ) [A-Za-z0-9._~!$&()*+,;=:@%-]*"
_QUERY = "(?: \\? [A-Za-z0-9._~!$&()*+,;=:@%/?-]+ )?"
_PLAIN_PATH = re.compile(f"(?: / {_SEGMENT} )+ {_QUERY}", re.VERBOSE)
"""Origins and what follows them, of URLs whose canonical spelling surely is their own, as that of
most is; others are parsed."""
_PLAIN_REFERENCE = re.compile(
    f"(?! [^:/?]*: ) (?= [^/?] ) {_SEGMENT} (?: / {_SEGMENT} )* {_QUERY}", re.VERBOSE
)
"""What may stand in the place of the last segment of such a path."""
_HOST_AND_PORT = re.compile(r"[A-Za-z][A-Za-z0-9.-]*:[0-9]{1,5}(?![^/?#])")
_MEND = "begin it with http:// or https://"
_USUAL = 2048
"""Characters of a URL that is not parsed."""
_LONGEST = 8000
"""Characters of a URL that is watched: RFC 9110 section 4.1 asks servers to take so many."""
_LONGEST_ORIGIN = 280
"""Characters of an origin that is remembered: a name has at most 253."""
_MOST_SHOWN = 120
_REMEMBERED = 1024
"""URLs: the parts of those being polled are asked for again and again."""


class Spelled(NamedTuple):
    """A canonical URL with its politeness scope and its origin."""

    url: str
    scope: str
    origin: str


def canonical(url: str) -> str:
    """The one spelling of an http or https URL, as the WHATWG URL standard serialises it.

    Scheme and host are lower case, international hosts are in Punycode, dot segments are
    resolved, the default port and the fragment are dropped. `canonical(canonical(u))` is
    `canonical(u)`. `InputError` if `url` is no such URL, or has a user name or password.

    >>> canonical("HTTP://Example.org:80/a/../b?q=1#top")
    'http://example.org/b?q=1'
    """
    return url if _plain_scope_of(url) else _parse(url)[1]


def joined(base: str, reference: str) -> str:
    """The canonical URL that `reference` (of a link or a redirect) means on the page `base`.

    `InputError` as for `canonical`.

    >>> joined("https://example.org/a/b", "../c#d")
    'https://example.org/c'
    """
    return _parse(reference, base)[1]


def scope_of(url: str) -> str:
    """The politeness scope of a URL: its host, with the port if it is not the scheme's own.

    `InputError` as for `canonical`.

    >>> scope_of("https://Example.org:8443/news")
    'example.org:8443'
    >>> scope_of("https://example.org.:8443/news")
    'example.org:8443'
    """
    return spelled(url).scope


def plain_scopes(urls: Iterable[str]) -> frozenset[str]:
    """The politeness scopes of those of these canonical URLs that go over plain HTTP."""
    return frozenset(scope_of(url) for url in urls if url.startswith("http:"))


def origin_of(url: str) -> str:
    """Scheme, host and port: what one robots.txt holds for (RFC 9309 section 2.3).

    `InputError` as for `canonical`.

    >>> origin_of("https://example.org:443/news")
    'https://example.org'
    """
    return spelled(url).origin


class Divided(NamedTuple):
    """A canonical URL in parts: its origin, the politeness scope, and what is asked for there."""

    origin: str
    scope: str
    path: str


def divided(url: str) -> Divided:
    """The parts of a URL that is canonical, without another look at that.

    >>> divided("https://example.org/news?page=2")
    Divided(origin='https://example.org', scope='example.org', path='/news?page=2')
    """
    begin = url.find("//") + 2
    end = url.find("/", begin)
    return Divided(url[:end], _scope(url[begin:end]), url[end:])


def _scope(host: str) -> str:
    """The scope of a host, with its port: a dot at the end of its name makes it no other one."""
    name, colon, port = host.partition(":")
    return f"{name[:-1]}{colon}{port}" if name.endswith(".") else host


@lru_cache(_REMEMBERED)
def spelled(url: str) -> Spelled:
    """What `canonical`, `scope_of` and `origin_of` say of a URL; errors as for them.

    For URLs that are fetched: the latest are remembered.
    """
    if scope := _plain_scope_of(url):
        return Spelled(url, scope, url[: url.index("/", len("https://"))])
    parsed, href = _parse(url)
    return Spelled(href, _scope(parsed.host), parsed.origin)


def located(url: str) -> tuple[str, str]:
    """The canonical spelling of a URL to watch and its politeness scope.

    `InputError` as for `canonical`, and for one that is too long for servers. For the many of a
    list: none is remembered.
    """
    if scope := _plain_scope_of(url):
        return url, scope
    parsed, href = _parse(url)
    if len(href) > _LONGEST:
        raise InputError(
            f"a URL of {len(href):,d} characters, and few servers take more than {_LONGEST:,d}:"
            f" shorten or leave out {_shown(url)}"
        )
    return href, _scope(parsed.host)


class Base(NamedTuple):
    """What references are joined to: a URL, its origin, and what is before its last segment."""

    url: str
    origin: str
    directory: str


def base_of(url: str) -> Base:
    """The base that a page with this canonical URL has for its references.

    >>> base_of("https://example.org/news/today?page=2").directory
    'https://example.org/news/'
    """
    address = url.partition("?")[0]
    return Base(url, divided(url).origin, address[: address.rindex("/") + 1])


def plainly_joined(base: Base, reference: str) -> str | None:
    """What a reference without a fragment surely means on a page with this base, without parsing.

    None: nothing is said; it may be spelled in another way.

    >>> base = base_of("https://example.org/news/today")
    >>> [plainly_joined(base, reference) for reference in ("/", "today?page=2", "../today")]
    ['https://example.org/', 'https://example.org/news/today?page=2', None]
    """
    if reference.startswith("/") and not reference.startswith("//"):
        is_plain, url = bool(_PLAIN_PATH.fullmatch(reference)), base.origin + reference
    elif reference.startswith(("http:", "https:")):
        is_plain, url = _plain_scope_of(reference) is not None, reference
    else:
        is_plain = bool(_PLAIN_REFERENCE.fullmatch(reference))
        url = base.directory + reference
    return url if is_plain and len(url) <= _USUAL else None


def _plain_scope_of(url: str) -> str | None:
    """The politeness scope of a URL that surely is canonical; None: nothing is said.

    It is not parsed.
    """
    if len(url) > _USUAL:
        return None
    end = url.find("/", len("https://"), _LONGEST_ORIGIN)
    return _plain_scope(url[:end]) if end > 0 and _PLAIN_PATH.fullmatch(url, end) else None


@lru_cache(_REMEMBERED)
def _plain_scope(origin: str) -> str | None:
    """The scope of a plain origin; the latest are remembered, as most pages share them."""
    plain = _PLAIN_ORIGIN.fullmatch(origin)
    return origin[plain.start("host") :] if plain else None


def _parse(url: str, base: str | None = None) -> tuple[URL, str]:
    """A URL, and its canonical spelling; errors as for `canonical`."""
    if found := _CONTROL.search(url):
        raise InputError(
            f"a character that no URL may contain ({found[0]!r}) in {_shown(url)};"
            " write it percent-encoded or take it out"
        )
    try:
        parsed = URL(url, base)
    except ValueError as error:
        mend = "check its host and port" if "://" in url else _MEND
        raise InputError(f"not a URL: {_shown(url)}; {mend}") from error
    # Each attribute is worked out anew when it is asked for.
    href = parsed.href
    if _HOST_AND_PORT.match(url):  # by the standard, the host is a scheme
        raise InputError(f"not a URL: {_shown(url)}; {_MEND}")
    if not href.startswith(("http:", "https:")):
        raise InputError(
            f"{parsed.protocol.rstrip(':')} is not fetched: {_shown(url)};"
            " give a URL that begins with http:// or https://"
        )
    if "@" in href and (parsed.username or parsed.password):
        raise InputError(
            f"a user name or password in the URL of {parsed.host}; take it out, and"
            " write it into your netrc file, by which --netrc logs in"
        )
    if "#" in href:
        parsed.hash = ""
        href = parsed.href
    return parsed, href


def _shown(url: str) -> str:
    return repr(shown(url))


def shown(url: str) -> str:
    """A URL as an error can name it: some have tens of thousands of characters."""
    return url if len(url) <= _MOST_SHOWN else url[: _MOST_SHOWN - 3] + "..."
