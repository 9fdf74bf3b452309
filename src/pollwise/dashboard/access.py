"""Who may ask: requests by a foreign name, from foreign pages, or without the token end here."""

import hmac
import re
import time
from collections.abc import Awaitable, Callable, Collection
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pollwise.dashboard.terms import AnsweringTerms
from pollwise.errors import InputError
from pollwise.texts import printable
from pollwise.web.own_servers import ANSWER_HEADERS, is_own_name, is_same_token, token_of

__all__ = ["MOST_BYTES", "Guard", "error_answer"]

MOST_BYTES = 2**20
"""Of the body of a request."""

_SESSION = 30 * 86_400
"""Seconds for which people need not give the token again."""
_HEALTH, _STATIC = "/healthz", "/static/"
"""What needs no token: it tells nothing."""
_OWN_PATH = re.compile(r"/([^/\\][^\\]*)?")
"""Browsers take two slashes, and backslashes for slashes, as the beginning of another host."""
_KEPT = ("/static/", "/feed.atom")
"""What says itself whether it may be kept in caches."""
_READING = ("GET", "HEAD")
_MOST_FIELDS = 10

_HEADERS = {
    **ANSWER_HEADERS,
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self';"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""Only what the server itself sends is loaded or run, and nobody frames it."""

LoginPage = Callable[[str, str], Response]
"""The page that asks for the token, for the path to go on with, with a complaint or none."""


class Guard:
    """ASGI middleware: lets requests through that these terms allow.

    Others are answered with 421 (the Host is none of ours), 403 (a page of another origin wants
    something done, or to have what only a link may lead to), 401 (no token; people get the
    `login_page`) or 413 (a body of more than 1 MiB). People give the token once, in the login page
    or as `?token=` in the address; a cookie that goes with no request of another site shows that
    for a month. Programs send it as `Authorization: Bearer`.
    All answers are kept out of caches, other sites, frames and the Referer.
    """

    def __init__(self, app: ASGIApp, *, terms: AnsweringTerms, login_page: LoginPage) -> None:
        self._app = app
        self._names: Collection[str] = terms.names
        self._token = terms.token
        self._proxies = terms.proxies
        self._login_page = login_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        may_be_kept = False

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                kept = headers.get("Cache-Control") if may_be_kept else None
                headers.update(_HEADERS)
                if kept is not None:
                    headers["Cache-Control"] = kept
            await send(message)

        request = Request(scope, receive)
        answer = self._refusal(request)
        if answer is None:
            try:
                answer = await self._entrance(request)
            except InputError as error:
                answer = error_answer(413, str(error))
        if answer is None:
            may_be_kept = scope["path"].startswith(_KEPT)
            await self._app(scope, _bounded(receive), send_guarded)
        else:
            await answer(scope, receive, send_guarded)

    def _refusal(self, request: Request) -> Response | None:
        hosts = request.headers.getlist("host")
        if not is_own_name(hosts, self._names):
            line = "this server has no such name: ask its address, or name it with --name"
            return error_answer(421, line)
        is_elsewhere = not _is_own_origin(request)
        is_followed = request.headers.get("sec-fetch-mode", "navigate") == "navigate"
        if is_elsewhere and (request.method not in _READING or not is_followed):
            line = "refused, as a page of another origin asks for it"
            if "sec-fetch-site" not in request.headers:  # then the Host tells what the origin is
                line += (
                    "; if a proxy is before this server, it must hand on Host as it came, and"
                    " --name must have that name"
                )
            return error_answer(403, line)
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            return error_answer(413, f"send at most {MOST_BYTES:,d} bytes")
        return None

    async def _entrance(self, request: Request) -> Response | None:
        """What the way in answers; None: the request may pass."""
        path: str = request.scope["path"]  # that of the URL would depend on the Host
        if path == _HEALTH or path.startswith(_STATIC) or self._is_known(request):
            return None
        if path == "/login" and request.method == "POST":
            sent = await _login_sent(request)
            return self._let_in(request, sent.get("token", ""), sent.get("next", "/"))
        bearer = token_of(request.headers.get("authorization", ""))
        if bearer is None and (named := request.query_params.get("token")) is not None:
            if request.method == "GET" and _is_person(request):
                rest = [one for one in request.query_params.multi_items() if one[0] != "token"]
                return self._let_in(request, named, f"{path}?{urlencode(rest)}" if rest else path)
            bearer = named
        if self._is_session(request) if bearer is None else self._is_token(bearer):
            return None
        if _is_person(request):
            query = request.url.query
            return self._login_page(f"{path}?{query}" if query else path, "")
        line = "send the token, as 'Authorization: Bearer TOKEN' or as ?token=TOKEN"
        answer = error_answer(401, line)
        answer.headers["WWW-Authenticate"] = "Bearer"
        return answer

    def _is_known(self, request: Request) -> bool:
        """Whether a proxy vouches for whoever asks, or nobody needs to be known."""
        if request.client is not None and request.client.host in self._proxies:
            return True
        return self._token is None and not self._proxies

    def _is_token(self, sent: str) -> bool:
        return self._token is not None and is_same_token(sent, self._token)

    def _let_in(self, request: Request, sent: str, target: str) -> Response:
        if not (_OWN_PATH.fullmatch(target) and target.isprintable()):
            target = "/"
        if not self._is_token(sent):
            return self._login_page(target, "That is not the token.")
        answer = RedirectResponse(target, 303)
        until = str(int(time.time() + _SESSION))
        answer.set_cookie(
            self._cookie(request),
            f"{until}.{self._signature(until)}",
            max_age=_SESSION,
            httponly=True,
            samesite="strict",
            secure=_is_encrypted(request),
        )
        return answer

    def _cookie(self, request: Request) -> str:
        """The name of the cookie: browsers send those of one port to all others, too."""
        _, port = request.scope["server"] or ("", 0)
        return f"pollwise_{port}"

    def _signature(self, until: str) -> str:
        """What shows that the token was known to whoever got a session until this time."""
        assert self._token is not None
        return hmac.digest(self._token.encode(), until.encode(), "sha256").hex()

    def _is_session(self, request: Request) -> bool:
        until, _, signature = request.cookies.get(self._cookie(request), "").partition(".")
        if self._token is None or not re.fullmatch("[0-9]{1,12}", until):
            return False
        return int(until) > time.time() and is_same_token(signature, self._signature(until))


def error_answer(status: int, line: str, field: str | None = None) -> Response:
    """What programs get instead of an answer: why, and the field that it is about if it is one."""
    told = None if field is None else printable(field)
    return JSONResponse({"error": printable(line), "field": told}, status)


def _is_own_origin(request: Request) -> bool:
    """Whether a page of this server asks, or a program that is no browser.

    Browsers tell where a request comes from; over plain HTTP from another machine some tell but the
    origin.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is None or origin.partition("://")[2] == request.headers.get("host")


def _is_encrypted(request: Request) -> bool:
    """Whether a browser speaks TLS, to a proxy: as that says, or by the origin of the login page.

    Whoever claims so wrongly keeps only the own session from going over plain HTTP.
    """
    origin = request.headers.get("origin", "")
    return request.headers.get("x-forwarded-proto") == "https" or origin.startswith("https://")


def _is_person(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "")


async def _login_sent(request: Request) -> dict[str, str]:
    """The fields of the login page; `InputError` for what is no such form."""
    try:
        body = (await _body(request)).decode("ascii")
        return dict(parse_qsl(body, max_num_fields=_MOST_FIELDS))
    except (ValueError, ClientDisconnect) as error:
        raise InputError("that is no form with a token") from error


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise InputError(f"send at most {MOST_BYTES:,d} bytes")
    return bytes(body)


def _bounded(receive: Receive) -> Callable[[], Awaitable[Message]]:
    """`receive`, which ends a body that is too large as if the client had gone."""
    received = 0

    async def bounded() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        return message if received <= MOST_BYTES else {"type": "http.disconnect"}

    return bounded
