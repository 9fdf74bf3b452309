"""What others tell a watch over HTTP: programs of the user, and the hubs of feeds."""

import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ada_url import URL
from aiohttp import web

from pollwise.configuration import read_secret
from pollwise.events import Signalled
from pollwise.listen_settings import parse_address, parse_place
from pollwise.live.clock import Clock
from pollwise.live.incoming import Incoming
from pollwise.live.journal import Journal
from pollwise.live.listening.http_server import answering, application
from pollwise.live.listening.hub_routes import hub_routes
from pollwise.live.listening.signal_routes import signal_routes
from pollwise.live.listening.subscriber import Subscriber
from pollwise.live.session import Besides
from pollwise.settings import WatchSettings
from pollwise.store import Store
from pollwise.web.own_servers import checked_token, host_and_port, listen_on

__all__ = ["Listener", "listening", "open_listener", "read_token"]


@dataclass(frozen=True, slots=True)
class Listener:
    """A socket that listens, what its server is called, and the token of the user's programs.

    `token` None: only hubs are answered.
    """

    socket: socket.socket
    names: frozenset[str]
    token: str | None = field(repr=False)

    @property
    def address(self) -> str:
        """Host and port at which it listens."""
        host, port = self.socket.getsockname()[:2]
        return host_and_port(host, port)


def read_token(settings: WatchSettings) -> str | None:
    """The token that the settings name; None: they name none. `InputError` if it is unusable."""
    if not settings.listen_token:
        return None
    kind, name = parse_place(settings.listen_token)
    token = read_secret({kind: name}, f"--listen-token {settings.listen_token}", Path())
    return checked_token(token, f"put another one into {settings.listen_token}")


def open_listener(settings: WatchSettings) -> Listener:
    """Begin to listen where the settings say; `InputError` if that cannot be."""
    token = read_token(settings)
    host, port = parse_address(settings.listen)
    names = {host.lower().rstrip(".")}
    if settings.public_url:
        names.add(URL(settings.public_url).hostname)
    listening = listen_on(host, port, "give --listen another host or port")
    return Listener(listening, frozenset(names), token)


def listening(
    listener: Listener,
    store: Store,
    clock: Clock,
    *,
    incoming: Incoming,
    subscriber: Subscriber | None,
) -> Besides:
    """What answers programs and, with a `subscriber`, hubs beside a run over this store."""

    @asynccontextmanager
    async def context(journal: Journal) -> AsyncIterator[None]:
        async def signal(urls: Sequence[str]) -> Sequence[str]:
            known = await journal.write(_page_ids, store, urls)
            if known:
                now = clock()
                incoming.put([Signalled(now, tuple(known.values()), now)])
            return [url for url in urls if url not in known]

        routes: list[web.RouteDef] = []
        if listener.token is not None:
            routes += signal_routes(listener.token, signal)
        async with AsyncExitStack() as stack:
            if subscriber is not None:
                routes += hub_routes(subscriber)
                await stack.enter_async_context(subscriber.beside(journal))
            app = application(routes, listener.names)
            await stack.enter_async_context(answering(listener.socket, app))
            yield

    return context


def _page_ids(store: Store, urls: Sequence[str]) -> dict[str, int]:
    """The ids of those pages that are watched, by URL."""
    found = ((url, store.find_page(url)) for url in urls)
    return {url: record.page.id for url, record in found if record is not None}
