"""URLs as the robot uses them, and lists of them as users write them."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ada_url import URL

from pollwise.errors import InputError
from pollwise.scheduler.bounds import read_bounds

__all__ = [
    "ListedUrl",
    "canonical",
    "joined",
    "origin_of",
    "plain_scopes",
    "read_url_list",
    "scope_of",
]

_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_MARK = re.compile(r"(weight|cost|at-least|at-most)=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ListedUrl:
    """One line of a URL list: the canonical URL, what a change is worth, what a poll costs, and the
    most and the least seconds between two polls; None: not told. An interval of 0 says that the
    page has no such bound of its own any more.
    """

    url: str
    weight: float | None = None
    cost: float | None = None
    longest_interval: float | None = None
    shortest_interval: float | None = None


def canonical(url: str) -> str:
    """The one spelling of an http or https URL, as the WHATWG URL standard serialises it.

    Scheme and host are lower case, international hosts are in Punycode, dot segments are
    resolved, the default port and the fragment are dropped. `canonical(canonical(u))` is
    `canonical(u)`. `InputError` if `url` is no such URL, or has a user name or password.

    >>> canonical("HTTP://Example.org:80/a/../b?q=1#top")
    'http://example.org/b?q=1'
    """
    return _parse(url).href


def joined(base: str, reference: str) -> str:
    """The canonical URL that `reference` (of a link or a redirect) means on the page `base`.

    `InputError` as for `canonical`.

    >>> joined("https://example.org/a/b", "../c#d")
    'https://example.org/c'
    """
    return _parse(reference, base).href


def scope_of(url: str) -> str:
    """The politeness scope of a URL: its host, with the port if it is not the scheme's own.

    `InputError` as for `canonical`.

    >>> scope_of("https://Example.org:8443/news")
    'example.org:8443'
    """
    return _parse(url).host


def plain_scopes(urls: Iterable[str]) -> frozenset[str]:
    """The politeness scopes of those of these canonical URLs that go over plain HTTP."""
    return frozenset(scope_of(url) for url in urls if url.startswith("http:"))


def origin_of(url: str) -> str:
    """Scheme, host and port: what one robots.txt holds for (RFC 9309 section 2.3).

    `InputError` as for `canonical`.

    >>> origin_of("https://example.org:443/news")
    'https://example.org'
    """
    return _parse(url).origin


def read_url_list(path: Path) -> list[ListedUrl]:
    """The URLs of a file (UTF-8), in its order; the first line of a repeated URL counts.

    One URL a line; blank lines and lines that begin with `#` are skipped. `weight=2`, `cost=0.5`,
    `at-least=1/day` and `at-most=1/hour` may follow the URL in any order, and a comment after ` #`.
    `at-least=` and `at-most=` take a bound back. `InputError` names file and line.
    """
    listed: dict[str, ListedUrl] = {}
    for number, line in enumerate(_read(path).split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            entry = _entry(line)
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from error
        listed.setdefault(entry.url, entry)
    return list(listed.values())


def _parse(url: str, base: str | None = None) -> URL:
    shown = repr(url if len(url) <= 120 else url[:117] + "...")
    if found := _CONTROL.search(url):
        raise InputError(
            f"a character that no URL may contain ({found[0]!r}) in {shown};"
            " write it percent-encoded or take it out"
        )
    try:
        parsed = URL(url, base)
    except ValueError as error:
        if "://" not in url:
            mend = "begin it with http:// or https://"
        else:
            mend = "check its host and port"
        raise InputError(f"not a URL: {shown}; {mend}") from error
    if parsed.protocol not in ("http:", "https:"):
        raise InputError(
            f"{parsed.protocol.rstrip(':')} is not fetched: {shown};"
            " give a URL that begins with http:// or https://"
        )
    if parsed.username or parsed.password:
        raise InputError(
            f"a user name or password in the URL of {parsed.host}; take it out:"
            " pollwise fetches public pages only"
        )
    parsed.hash = ""
    return parsed


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: not UTF-8 text (byte {error.start}); save the URL list as UTF-8"
        ) from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"{path}: the URL list cannot be read ({why}); name a readable text file"
        ) from error


def _entry(line: str) -> ListedUrl:
    url, *marks = re.split(r"\s#", line, maxsplit=1)[0].split()
    values: dict[str, str] = {}
    for mark in marks:
        matched = _MARK.fullmatch(mark)
        if matched is None:
            raise InputError(
                f"{mark!r} behind the URL; only weight=NUMBER and cost=NUMBER, at-least=N/TIME and"
                " at-most=N/TIME may follow it"
            )
        name, value = matched.groups()
        if name in values:
            raise InputError(f"{name} is given twice; keep one of them")
        values[name] = value
    taken_back = {name: 0.0 for name, value in values.items() if not value}
    longest, shortest = read_bounds(values.get("at-least") or None, values.get("at-most") or None)
    return ListedUrl(
        canonical(url),
        _number("weight", values.get("weight")),
        _number("cost", values.get("cost")),
        taken_back.get("at-least", longest),
        taken_back.get("at-most", shortest),
    )


def _number(name: str, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise InputError(f"'{name}={text}'; {name} must be a number above 0, such as {name}=2")
    return value
