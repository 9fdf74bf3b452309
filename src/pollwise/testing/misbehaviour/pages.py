"""Pages that are hard to read: deep, dense, hostile to parsers and to terminals."""

from collections.abc import Callable

from aiohttp import web

from pollwise.testing.misbehaviour.cue import Cue, Routes, html

__all__ = ["HOSTILE_TEXT", "ROUTES"]

HOSTILE_TEXT = "\x1b]0;owned\x07\x1b[2J\x1b[31m\x9b2J\x08\u202emoc.elpmaxe\u2066\u200b\u2028"
"""Would set a terminal's title, clear it, colour it, and turn the rest around."""

_HEAD = b"<!DOCTYPE html><title>A page</title>"


def _filled(unit: bytes) -> Callable[[int], bytes]:
    return lambda size: _HEAD + unit * (size // len(unit))


def _links(size: int) -> bytes:
    return _HEAD + b"".join(b'<a href="/trap/%d">n</a>' % n for n in range(size // 26))


_HTML: dict[str, Callable[[int], bytes]] = {
    "deep": _filled(b"<div>"),
    "unclosed": _filled(b"<a "),
    "quotes": _filled(b'<a href="'),
    "comments": _filled(b"<!--"),
    "declarations": _filled(b"<!"),
    "cdata": _filled(b"<![CDATA["),
    "entities": _filled(b"&"),
    "attributes": lambda size: _HEAD + b"<p " + b"".join(b"a%d=1 " % n for n in range(size // 8)),
    "formatting": _filled(b"<b><a><i><p>"),
    "tables": _filled(b"<table><td>"),
    "scripts": _filled(b"<script>"),
    "titles": _filled(b"<title>"),
    "links": _links,
    "bases": _filled(b'<base href="//b.example/">'),
    "nul": _filled(b"\0<p>"),
}
"""Bodies of about so many bytes."""


async def _hard(cue: Cue) -> web.StreamResponse:
    return html(_HTML[cue.words["kind"]](cue.whole("bytes", 2**20)))


async def _terminal(cue: Cue) -> web.StreamResponse:
    text = HOSTILE_TEXT
    return html(
        f"<!DOCTYPE html><title>whale {text}</title><p>whale {text}"
        f"<a href='/trap/0?{text}'>whale {text}</a>".encode()
    )


async def _trap(cue: Cue) -> web.StreamResponse:
    number = int(cue.words["n"])
    links = "".join(f"<a href='/trap/{2 * number + n}'>more whales</a>" for n in (1, 2))
    return html(f"<!DOCTYPE html><title>{number}</title><p>whale {number}{links}".encode())


async def _binary(cue: Cue) -> web.StreamResponse:
    return html(bytes(range(256)) * (cue.whole("bytes", 2**16) // 256))


ROUTES: Routes = {
    f"/html/(?P<kind>{'|'.join(_HTML)})": _hard,
    "/terminal": _terminal,
    r"/trap/(?P<n>\d+)": _trap,
    "/binary": _binary,
}
