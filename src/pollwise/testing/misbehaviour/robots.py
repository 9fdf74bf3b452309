"""A robots.txt of every kind, as `/robots/KIND`; see `MisbehavingServer.set_behaviour`."""

import random
from collections.abc import Callable

from aiohttp import web

from pollwise.testing.misbehaviour.cue import Cue, Routes, begin

__all__ = ["ROUTES"]

_MOST = 500_000
"""As many bytes as RFC 9309 asks a crawler to read."""


def _hostile(rule: str) -> str:
    """Rules up to 500 kB."""
    return "User-agent: *\n" + rule * ((_MOST - 14) // len(rule))


def _many_rules() -> str:
    lines = (f"Disallow: /{n:x}*{n % 97}$\n" for n in range(20_000))
    return "User-agent: *\n" + "".join(lines)


def _many_groups() -> str:
    return "".join(f"User-agent: bot{n}\nDisallow: /{n}\n\n" for n in range(12_000))


_TEXTS: dict[str, Callable[[], str | bytes]] = {
    "empty": lambda: "",
    "allow": lambda: "User-agent: *\nAllow: /\n",
    "deny": lambda: "User-agent: *\nDisallow: /\n",
    "rules": _many_rules,
    "groups": _many_groups,
    "agents": lambda: "User-agent: *\n" * (_MOST // 14) + "Disallow: /closed\n",
    "wildcards": lambda: _hostile("Disallow: " + "*a" * 500 + "$\n"),
    "wildcard": lambda: "User-agent: *\nDisallow: /" + "*a" * 200_000 + "$\n",
    "stars": lambda: "User-agent: *\nDisallow: /" + "*" * (_MOST - 30) + "x$\n",
    "percent": lambda: _hostile("Disallow: /" + "%2a%C3%A4%" * 100 + "\n"),
    "long-line": lambda: "User-agent: *\nDisallow: /" + "x" * (_MOST - 30) + "\n",
    "long-agent": lambda: "User-agent: " + "x" * (_MOST - 20) + "\nDisallow: /\n",
    "delay-10": lambda: "User-agent: *\nCrawl-delay: 10\n",
    "delay-1e9": lambda: "User-agent: *\nCrawl-delay: 1e9\n",
    "delay-1e308": lambda: "User-agent: *\nCrawl-delay: 1e308\n",
    "delay-nan": lambda: "User-agent: *\nCrawl-delay: nan\n",
    "delay-negative": lambda: "User-agent: *\nCrawl-delay: -5\n",
    "rate": lambda: "User-agent: *\nRequest-rate: 1/99999999\nVisit-time: 0000-0001\n",
    "sitemaps": lambda: "".join(f"Sitemap: /sitemap{n}.xml\n" for n in range(20_000)),
    "binary": lambda: random.Random(0).randbytes(100_000),
    "nul": lambda: "\0\n" * 100_000,
    "bom": lambda: b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /closed\r\n",
    "utf-16": lambda: "User-agent: *\nDisallow: /\n".encode("utf-16"),
    "crlf": lambda: "User-agent: *\r\nDisallow: /closed\r\n",
    "cr": lambda: "User-agent: *\rDisallow: /closed\r",
    "html": lambda: "<!DOCTYPE html><title>Not found</title><p>User-agent: *<br>Disallow: /",
    "terminal": lambda: "User-agent: *\nDisallow: /\x1b[2J\nSitemap: \x1b]0;owned\x07\n",
}


async def _text(cue: Cue) -> web.StreamResponse:
    text = _TEXTS[cue.words["kind"]]()
    body = text.encode() if isinstance(text, str) else text
    return web.Response(body=body, headers={"Content-Type": "text/plain; charset=utf-8"})


async def _endless(cue: Cue) -> web.StreamResponse:
    response = await begin(cue, Content_Type="text/plain")
    await response.write(b"User-agent: *\n")
    while True:
        await response.write(b"Disallow: /closed\n" * 1000)


ROUTES: Routes = {
    f"/robots/(?P<kind>{'|'.join(_TEXTS)})": _text,
    "/robots/endless": _endless,
}
