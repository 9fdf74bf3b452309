"""What all servers of pollwise need: a socket to listen on, and a judge of who may ask.

A page in a browser may let its own name point to this machine, to read what only this machine can
reach (DNS rebinding). The browser then sends that name as Host. An address cannot be pointed
elsewhere, so a Host that is one is always allowed.
"""

import ipaddress
import re
import secrets
import socket
from collections.abc import Collection, Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from pollwise.errors import InputError

__all__ = [
    "ANSWER_HEADERS",
    "address_of",
    "checked_token",
    "host_and_port",
    "is_loopback",
    "is_own_name",
    "is_same_token",
    "listen_on",
    "new_token",
    "reachable_name",
    "token_of",
]

_LEAST_TOKEN = 16
_BACKLOG = 2048
_HOST = re.compile(r"[A-Za-z0-9._-]+(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?")
"""Whatever else stands in a Host would be taken for a part of the URL."""

ANSWER_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Headers of all answers, which keep them out of caches, other sites and the Referer."""


def listen_on(host: str, port: int, remedy: str) -> socket.socket:
    """A socket that listens at this address; `port` 0: any free one.

    `InputError`, which ends with the `remedy`, if that cannot be.
    """
    try:
        [(family, *_, address), *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return socket.create_server(address, family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:  # UnicodeError: no host has such a name
        why = str(getattr(error, "strerror", None) or error).partition(" (")[0]
        raise InputError(
            f"{host_and_port(host, port)} cannot be listened on ({why}); {remedy}"
        ) from error


def host_and_port(host: str, port: int) -> str:
    """A host with its port, as URLs have them.

    >>> host_and_port("::1", 80), host_and_port("localhost", 80)
    ('[::1]:80', 'localhost:80')
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def reachable_name(listener: socket.socket, names: Sequence[str]) -> str:
    """By what to ask something that listens on all addresses; empty: on one, which will do.

    That is the first of `names` that it was given, else the name of this machine, or a loopback
    address if nothing knows that name.
    """
    host, port = listener.getsockname()[:2]
    if not ipaddress.ip_address(host.partition("%")[0]).is_unspecified:
        return ""
    if names:
        return names[0]
    own = socket.gethostname()
    with suppress(OSError, UnicodeError):
        socket.getaddrinfo(own, port, listener.family, socket.SOCK_STREAM)
        if _HOST.fullmatch(own):
            return own
    return "::1" if listener.family == socket.AF_INET6 else "127.0.0.1"


def address_of(listener: socket.socket, name: str = "") -> str:
    """The URL of what listens, without a slash at the end; by a name, if there is one."""
    own, port = listener.getsockname()[:2]
    return f"http://{host_and_port(name or own, port)}"


def is_own_name(hosts: Sequence[str], names: Collection[str]) -> bool:
    """Whether a request with these Host headers names this machine.

    That is by localhost, by an address, or by one of `names`, which are in lower case.
    """
    try:
        [host] = hosts
        if not _HOST.fullmatch(host):
            return False
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:  # none, several, or one that is none
        return False
    return name == "localhost" or name in names or _is_address(name)


def token_of(authorization: str) -> str | None:
    """The token of an Authorization header; None: it has none."""
    scheme, _, sent = authorization.partition(" ")
    return sent if scheme.lower() == "bearer" else None


def is_same_token(sent: str, token: str) -> bool:
    """Whether this is the token, in a time that tells nothing of it."""
    return secrets.compare_digest(sent.strip().encode(errors="replace"), token.encode())


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(24)


def checked_token(token: str, remedy: str) -> str:
    """A token that a user chose; `InputError` if it cannot be sent or is easily guessed.

    The error ends with the `remedy`.
    """
    if not re.fullmatch(rf"[A-Za-z0-9._~-]{{{_LEAST_TOKEN},200}}", token):
        raise InputError(
            f"a token needs {_LEAST_TOKEN} to 200 letters, digits or any of - . _ ~ and nothing"
            f" else; {remedy}"
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
