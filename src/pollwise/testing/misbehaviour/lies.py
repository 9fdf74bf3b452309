"""Refusals, and lies about when a page changed and whether it did."""

import time
from email.utils import formatdate

from aiohttp import web

from pollwise.testing.misbehaviour.cue import PAGE, Cue, Routes, html, raw_page
from pollwise.units import DAY

__all__ = ["ROUTES"]

_YEAR = 365 * DAY


def _date(ahead: float) -> str:
    """The HTTP date so many seconds from now."""
    return formatdate(time.time() + ahead, usegmt=True)


def _body(cue: Cue) -> bytes:
    """A page that is another one at each visit."""
    return f"<!DOCTYPE html><title>Visit {cue.visit}</title><p>Visit number {cue.visit}.".encode()


def _refusal(cue: Cue, status: int) -> web.Response:
    headers = {}
    if "retry_after" in cue.query:
        headers["Retry-After"] = cue.query["retry_after"]
    elif "retry_in" in cue.query:
        headers["Retry-After"] = _date(float(cue.query["retry_in"]))
    return web.Response(status=status, headers=headers)


async def _status(cue: Cue) -> web.StreamResponse:
    return _refusal(cue, int(cue.words["code"]))


async def _storm(cue: Cue) -> web.StreamResponse:
    """The first `count` visits are refused."""
    if cue.visit > cue.whole("count", 5):
        return html()
    return _refusal(cue, cue.whole("status", 429))


async def _flapping(cue: Cue) -> web.StreamResponse:
    """Every second visit is refused."""
    return html() if cue.visit % 2 else _refusal(cue, cue.whole("status", 503))


async def _clock(cue: Cue) -> web.StreamResponse:
    return html(_body(cue))


async def _noise(cue: Cue) -> web.StreamResponse:
    return html(PAGE + f"<script>var visit = {cue.visit};</script><!-- {cue.visit} -->".encode())


async def _etag_new(cue: Cue) -> web.StreamResponse:
    return html(ETag=f'"{cue.visit}"')


async def _etag_stuck(cue: Cue) -> web.StreamResponse:
    return html(_body(cue), ETag='"stuck"')


async def _etag_blind(cue: Cue) -> web.StreamResponse:
    headers = {"ETag": '"blind"'}
    if "If-None-Match" in cue.request.headers:
        return web.Response(status=304, headers=headers)
    return html(_body(cue), **headers)


async def _etag_long(cue: Cue) -> web.StreamResponse:
    return html(ETag='"' + "x" * cue.whole("bytes", 7000) + '"')


async def _etag_odd(cue: Cue) -> web.StreamResponse:
    return await raw_page(cue, b'ETag: W/"unclosed, \x1b[2J*')


async def _not_asked(cue: Cue) -> web.StreamResponse:
    return web.Response(status=304)


async def _modified(cue: Cue) -> web.StreamResponse:
    told = {
        "now": _date(0),
        "future": _date(10 * _YEAR),
        "old": "Mon, 02 Jan 1995 00:00:00 GMT",
        "ancient": "Thu, 01 Jan 0001 00:00:00 GMT",
        "never": "Fri, 31 Dec 9999 23:59:59 GMT",
    }
    return html(_body(cue), Last_Modified=told[cue.words["when"]])


async def _modified_rubbish(cue: Cue) -> web.StreamResponse:
    return await raw_page(cue, b"Last-Modified: yesterday \x1b[2J", _body(cue))


async def _modified_now(cue: Cue) -> web.StreamResponse:
    return html(Last_Modified=_date(0))


async def _dated(cue: Cue) -> web.StreamResponse:
    ahead = float(cue.query.get("ahead", _YEAR))
    return html(Date=_date(ahead), Last_Modified=_date(ahead - DAY))


ROUTES: Routes = {
    r"/status/(?P<code>\d{3})": _status,
    "/storm": _storm,
    "/flapping": _flapping,
    "/clock": _clock,
    "/noise": _noise,
    "/etag-new": _etag_new,
    "/etag-stuck": _etag_stuck,
    "/etag-blind": _etag_blind,
    "/etag-long": _etag_long,
    "/etag-odd": _etag_odd,
    "/not-modified": _not_asked,
    "/modified-now-and-the-same": _modified_now,
    "/modified/(?P<when>now|future|old|ancient|never)": _modified,
    "/modified/rubbish": _modified_rubbish,
    "/dated": _dated,
}
