"""Redirects without end, between hosts, and to where no fetcher may go."""

from urllib.parse import urlencode

from aiohttp import web

from pollwise.testing.misbehaviour.cue import Cue, Routes, html

__all__ = ["BAD_TARGETS", "ROUTES"]

BAD_TARGETS = (
    "file:///etc/passwd",
    "javascript:alert(1)",
    "data:text/html,<title>x</title>",
    "ftp://127.0.0.1/",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1/",
    "http://192.168.0.1/",
    "http://172.16.0.1/",
    "http://100.64.0.1/",
    "http://[::1]/",
    "http://[fe80::1]/",
    "http://[fc00::1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[64:ff9b::a00:1]/",
    "http://0.0.0.0/",
    "http://0x0a000001/",
    "http://167772161/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://user:secret@10.0.0.1/",
    "http://10.0.0.1:22/",
    "http://a.example:99999/",
    "http://a..example/",
    "http://",
    "//",
    "http:///path",
    "http://\u202ea.example/",
    "http://" + "a" * 64 + ".example/",
    "/" + "x" * 100_000,
    "",
)
"""Where `/redirect-bad/N` leads, in order: other schemes, private addresses, and nonsense."""


def _to(url: str, status: int = 302) -> web.Response:
    return web.Response(status=status, headers={"Location": url})


async def _redirect(cue: Cue) -> web.StreamResponse:
    left = int(cue.words["n"])
    return html() if left == 0 else _to(f"/redirect/{left - 1}")


async def _redirect_loop(cue: Cue) -> web.StreamResponse:
    return _to("/redirect-loop")


async def _redirect_to(cue: Cue) -> web.StreamResponse:
    return _to(cue.query["url"], cue.whole("status", 302))


async def _redirect_round(cue: Cue) -> web.StreamResponse:
    origins = cue.query["origins"].split(",")
    at = cue.whole("at", 0)
    rest = urlencode({"origins": ",".join(origins), "at": (at + 1) % len(origins)})
    return _to(f"{origins[at]}/redirect-round?{rest}")


async def _redirect_endless(cue: Cue) -> web.StreamResponse:
    return _to(f"/redirect-endless/{int(cue.words['n']) + 1}")


async def _redirect_bad(cue: Cue) -> web.StreamResponse:
    return _to(BAD_TARGETS[int(cue.words["n"])])


async def _redirect_nowhere(cue: Cue) -> web.StreamResponse:
    return web.Response(status=302)


ROUTES: Routes = {
    r"/redirect/(?P<n>\d+)": _redirect,
    "/redirect-loop": _redirect_loop,
    "/redirect-to": _redirect_to,
    "/redirect-round": _redirect_round,
    r"/redirect-endless/(?P<n>\d+)": _redirect_endless,
    r"/redirect-bad/(?P<n>\d+)": _redirect_bad,
    "/redirect-nowhere": _redirect_nowhere,
}
