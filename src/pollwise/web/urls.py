"""URLs as the robot uses them."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from ada_url import URL

from pollwise.errors import InputError

__all__ = [
    "Divided",
    "Spelled",
    "canonical",
    "divided",
    "joined",
    "located",
    "origin_of",
    "plain_scopes",
    "plainly_joined",
    "scope_of",
    "spelled",
]

_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_OCTET = "(?: 25[0-5] | 2[0-4][0-9] | 1[0-9][0-9] | [1-9]?[0-9] )"
_PLAIN = re.compile(
    rf"""(?P<scheme> https? )
    :// (?P<host>
        (?: (?! xn-- ) [a-z0-9-]+ \. )* (?! xn-- ) [a-z] [a-z0-9-]*
        | (?: {_OCTET} \. ){{3}} {_OCTET}
    )
    (?: : (?P<port> (?! 80/ | 443/ ) (?: [1-5][0-9]{{4}} | [1-9][0-9]{{0,3}} ) ) )?
    (?: / (?! \. | %2[eE] ) [A-Za-z0-9._~!$&()*+,;=:@%-]* )+
    (?: \? [A-Za-z0-9._~!$&()*+,;=:@%/?-]+ )?""",
    re.VERBOSE,
)
"""URLs whose canonical spelling surely is their own, as that of most is; others are parsed."""
_HOST_AND_PORT = re.compile(r"[A-Za-z][A-Za-z0-9.-]*:[0-9]{1,5}(?![^/?#])")
_MEND = "begin it with http:// or https://"
_USUAL = 2048
"""Characters. Of a longer URL the host may be too long."""
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
    return url if _plainly_canonical(url) else _parse(url)[1]


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
    return Divided(url[:end], url[begin:end], url[end:])


@lru_cache(_REMEMBERED)
def spelled(url: str) -> Spelled:
    """What `canonical`, `scope_of` and `origin_of` say of a URL; errors as for them.

    For URLs that are fetched: the latest are remembered.
    """
    if plain := _plainly_canonical(url):
        scheme, host, port = plain["scheme"], plain["host"], plain["port"]
        scope = host if port is None else f"{host}:{port}"
        return Spelled(url, scope, f"{scheme}://{scope}")
    parsed, href = _parse(url)
    return Spelled(href, parsed.host, parsed.origin)


def located(url: str) -> tuple[str, str]:
    """The canonical spelling of a URL and its politeness scope; `InputError` as for `canonical`.

    For the many of a list: none is remembered.
    """
    parsed, href = _parse(url)
    return href, parsed.host


def plainly_joined(origin: str, reference: str) -> str | None:
    """What a reference without a fragment surely means on a page of this origin, without parsing.

    None: nothing is said; it may be relative, or spelled in another way.

    >>> plainly_joined("https://example.org", "/news"), plainly_joined("https://example.org", "b")
    ('https://example.org/news', None)
    """
    is_path = reference.startswith("/") and not reference.startswith("//")
    url = origin + reference if is_path else reference
    return url if _plainly_canonical(url) else None


def _plainly_canonical(url: str) -> re.Match[str] | None:
    """The parts of a URL that surely is canonical, without parsing it; None: nothing is said."""
    return _PLAIN.fullmatch(url) if len(url) <= _USUAL else None


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
    return repr(url if len(url) <= 120 else url[:117] + "...")
