"""How programs of the user signal changes: `POST /signals`."""

from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import parse_qsl

from aiohttp import web

from pollwise.checks import read_json
from pollwise.errors import InputError
from pollwise.web.own_servers import is_same_token, token_of
from pollwise.web.urls import canonical

__all__ = ["Signal", "signal_routes"]

Signal = Callable[[Sequence[str]], Awaitable[Sequence[str]]]
"""Signals the pages with these canonical URLs; gives those that are not watched."""

_MOST_URLS = 1000
_HOW = 'send url=URL as a form, perhaps several times, or {"urls": [URL, ...]} as JSON'


def signal_routes(token: str, signal: Signal) -> list[web.RouteDef]:
    """`POST /signals` for who has the token: up to 1,000 pages have changed.

    The answer is 202 and `{"signalled": n, "unknown": [URL, ...]}`, or 404 if no page is watched.
    """

    async def post(request: web.Request) -> web.Response:
        sent = token_of(request.headers.get("Authorization", ""))
        if sent is None or not is_same_token(sent, token):
            line = "send the token, as 'Authorization: Bearer TOKEN'"
            return web.json_response(
                {"error": line}, status=401, headers={"WWW-Authenticate": "Bearer"}
            )
        urls = _urls(request.content_type, await request.read())
        unknown = await signal(urls)
        told = {"signalled": len(urls) - len(unknown), "unknown": list(unknown)}
        if told["signalled"]:
            return web.json_response(told, status=202)
        return web.json_response({"error": "no such page is watched", **told}, status=404)

    return [web.post("/signals", post)]


def _urls(content_type: str, body: bytes) -> list[str]:
    """The canonical URLs that a request names, each once; `InputError` if there are none."""
    try:
        text = body.decode()
        if content_type == "application/x-www-form-urlencoded":
            fields = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_URLS)
            named: object = [value for name, value in fields if name == "url"]
        elif content_type == "application/json":
            told = read_json(text)
            named = told.get("urls") if isinstance(told, dict) else None
        else:
            raise web.HTTPUnsupportedMediaType(text=_HOW)
    except ValueError as error:
        raise InputError(f"the request cannot be read: {_HOW}") from error
    if not isinstance(named, list) or not named or not all(isinstance(u, str) for u in named):
        raise InputError(f"no URL: {_HOW}")
    if len(named) > _MOST_URLS:
        raise InputError(f"{len(named)} URLs: at most {_MOST_URLS} at a time")
    return list(dict.fromkeys(map(canonical, named)))
