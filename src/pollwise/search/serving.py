"""`pollwise serve`: from a user's words to a topic engine that answers over HTTP."""

import signal
import socket
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import uvicorn
import uvloop

from pollwise.errors import InputError
from pollwise.search.access import checked_token, is_loopback, new_token
from pollwise.search.api import engine_api
from pollwise.search.engine_directory import EngineDirectory
from pollwise.search.peer_client import PeerClient
from pollwise.search.prompt_protocol import PromptProtocol
from pollwise.search.query_processor import QueryProcessor
from pollwise.web.descriptors import make_room
from pollwise.web.urls import canonical

__all__ = ["serve_collection"]

_SECONDS_TO_FINISH = 5


def serve_collection(
    db: Path,
    *,
    host: str,
    port: int,
    peers: Sequence[str],
    tell: Callable[[str], None],
    names: Sequence[str] = (),
    token: str | None = None,
) -> None:
    """Answer searches of the collection in `db` until SIGINT or SIGTERM; `port` 0: any free one.

    Requests must name the engine by an address, as localhost, as `host` or by one of `names`. They
    must have the `token`; where others than this machine can reach it, or know it by a name, and
    none is given, one is made and told. A peer that wants a token has it in its URL, as `http://peer:8900/?token=TOKEN`.
    `tell` gets a line for the user once connections are taken. The database is only read: `pollwise
    collect` may be at work on it. `InputError` if the address cannot be listened on, a peer has no
    usable URL or there is no collection; `StoreError` if the database cannot be read.
    """
    make_room()
    known = dict(map(_peer, peers))
    if token is not None:
        token = checked_token(token)
    with QueryProcessor(db) as processor, _listening(host, port) as listener:
        # A further name is that of a proxy, or of a network: others know it.
        beyond = bool(names) or not is_loopback(listener.getsockname()[0])
        address = _address(listener)
        if address in known:
            raise InputError(f"--peers {address} is this engine itself: leave it out")
        about = processor.description
        tell(
            f"{about.documents:,d} documents of {db} at {address}, peers: {len(known)};"
            " Ctrl-C ends it"
        )
        if beyond:
            shown = "TOKEN"
            if token is None:
                shown = token = new_token()
            tell(
                "warning: others than this machine may reach it; every request needs the token:"
                f" open {address}/?token={shown}"
            )
        guarded = {name.lower().rstrip(".") for name in (host, *names)}
        directory = EngineDirectory(known, clock=time.time)
        tokens = {url: sent for url, sent in known.items() if sent is not None}
        uvloop.run(_serve(processor, directory, listener, tokens, guarded, token))


async def _serve(
    processor: QueryProcessor,
    directory: EngineDirectory,
    listener: socket.socket,
    tokens: Mapping[str, str],
    names: Collection[str],
    token: str | None,
) -> None:
    async with PeerClient(tokens=tokens) as client:
        address = _address(listener)
        config = uvicorn.Config(
            engine_api(processor, directory, client, address=address, names=names, token=token),
            http=PromptProtocol,
            lifespan="on",
            ws="none",
            log_config=None,
            log_level="error",  # a warning for each request that is no HTTP
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_SECONDS_TO_FINISH,
        )
        server = uvicorn.Server(config)
        # At its end the server raises the signal again, for the handlers set before it began. These
        # are its own, so that it ends cleanly, even if it is told to before it begins.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, server.handle_exit)
        await server.serve(sockets=[listener])


def _peer(text: str) -> tuple[str, str | None]:
    """The canonical URL of a peer, without a slash at the end, and the token that it wants."""
    try:
        url, mark, query = canonical(text).partition("?")
    except InputError as error:
        raise InputError(f"--peers: {error}") from error
    if not mark:
        return url.rstrip("/"), None
    if not query.startswith("token="):
        raise InputError(
            f"--peers {text}: leave out what follows the question mark, unless it is token=TOKEN"
        )
    return url.rstrip("/"), checked_token(query.removeprefix("token="))


def _listening(host: str, port: int) -> socket.socket:
    try:
        [(family, *_, address), *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return socket.create_server(address, family=family, backlog=2048)
    except (OSError, UnicodeError) as error:  # UnicodeError: no host has such a name
        why = str(getattr(error, "strerror", None) or error).partition(" (")[0]
        raise InputError(
            f"{host}:{port} cannot be listened on ({why}); give another --port or --host"
        ) from error


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
