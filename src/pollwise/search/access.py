"""Who may ask a topic engine: requests by a name that it has not, or without its token, end here.

A page in a browser may let its own name point to this machine, to read what only this machine can
reach (DNS rebinding). The browser then sends that name as Host. An address cannot be pointed
elsewhere, so a Host that is one is always allowed.
"""

import ipaddress
import re
import secrets
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pollwise.errors import InputError

__all__ = ["Guard", "checked_token", "is_loopback", "new_token"]

_LEAST_TOKEN = 16
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """ASGI middleware: lets requests through that name this engine and, if it has one, its token.

    `names` are what the engine is called besides localhost and its addresses, in lower case.
    Others are answered with 421 (the name) or 401 (the token; None: nobody needs one). All answers
    are kept out of caches, other sites and the Referer.
    """

    def __init__(self, app: ASGIApp, *, names: Collection[str], token: str | None) -> None:
        self._app = app
        self._names = {"localhost", *names}
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        answer = self._refusal(Request(scope)) or self._app
        await answer(scope, receive, send_guarded)

    def _refusal(self, request: Request) -> JSONResponse | None:
        if not self._is_own_name(request.headers.getlist("host")):
            line = "this engine has no such name: ask its address, or name it with --name"
            return JSONResponse({"error": line}, 421)
        if self._token is not None and not self._is_token(request):
            line = "send the engine's token, as 'Authorization: Bearer TOKEN' or as ?token=TOKEN"
            return JSONResponse({"error": line}, 401, {"WWW-Authenticate": "Bearer"})
        return None

    def _is_own_name(self, hosts: list[str]) -> bool:
        try:
            [host] = hosts
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:  # none, several, or one that is none
            return False
        return name in self._names or _is_address(name)

    def _is_token(self, request: Request) -> bool:
        scheme, _, sent = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            sent = request.query_params.get("token", "")
        assert self._token is not None
        return secrets.compare_digest(sent.strip().encode(), self._token.encode())


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(24)


def checked_token(token: str) -> str:
    """A token that a user chose; `InputError` if it cannot be sent or is easily guessed."""
    if not re.fullmatch(rf"[A-Za-z0-9._~-]{{{_LEAST_TOKEN},200}}", token):
        raise InputError(
            f"a token needs {_LEAST_TOKEN} to 200 letters, digits or any of - . _ ~ and nothing"
            " else; give another one, or leave --token out to get one made"
        )
    return token


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach this address."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
