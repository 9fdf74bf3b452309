"""What answers people and programs, as `pollwise serve` sees it: beside a run, or alone."""

import asyncio
import gc
import re
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from datetime import UTC, datetime
from ipaddress import ip_address

import uvloop

from pollwise.dashboard.answering_process import AnsweringProcess
from pollwise.dashboard.stopped import Stopped
from pollwise.dashboard.terms import OTHER_TOKEN, AnsweringTerms, peer_told
from pollwise.dashboard.waiting_room import WaitingRoom
from pollwise.errors import InputError, StoreDiskError, StoreInUseError
from pollwise.live.hangups import heed_hangups
from pollwise.live.run_figures import RunFigures, encode
from pollwise.live.service_manager import service_manager
from pollwise.live.session import signals_as_now
from pollwise.store import Place, Store
from pollwise.web.own_servers import (
    address_of,
    checked_token,
    is_loopback,
    listen_on,
    new_token,
    reachable_name,
)

__all__ = ["Answering", "open_answering"]

_NAME = re.compile(r"\w[\w.-]*", re.ASCII)
_ELSEWHERE = "give another --port or --host"
_EVERY = 1.0
_PAUSES = (60.0, 120.0, 300.0)
"""Seconds, after which polling is tried again."""


def _nothing_to_reload() -> None:
    service_manager().reloading()


class Answering:
    """Answers on these terms at a socket that listens; `where`: what people are told of that.

    Beside a run it is a process of its own, as Python runs one thread at a time: no poll is held
    up. It goes on between one run and the next.
    """

    def __init__(
        self,
        terms: AnsweringTerms,
        listener: socket.socket,
        say: Callable[[str], None],
        where: str = "",
    ) -> None:
        self._terms = terms
        self._listener = listener
        self._say = say
        self._where = where
        self._waiting_room = WaitingRoom(listener)
        self._process = AnsweringProcess(terms, listener, say)
        self._has_begun = False

    def close(self) -> None:
        """Answer no longer."""
        self._process.close()

    def alone(self) -> None:
        """Answer until SIGINT or SIGTERM, in this process; `StoreError` as for `answer`."""
        # Here, as the process that polls needs nothing of it.
        from pollwise.dashboard.server import answer

        async def answering() -> None:
            stop, loop = asyncio.Event(), asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, stop.set)
            manager = service_manager()

            def reload() -> None:  # there is nothing to read anew
                manager.reloading()
                manager.ready()

            heed_hangups(loop, end=stop.set, reload=reload)
            async with manager.watched():
                manager.ready()
                await answer(self._terms, self._listener, stop)
                manager.stopping()

        Store.open_readonly(self._terms.db).close()  # before anybody is told to come
        self._say(self._where)
        gc.enable()
        uvloop.run(answering())

    @contextmanager
    def getting_ready(self) -> Iterator[None]:
        """A context in which a run gets ready: who asks is told so, until it has begun.

        It says where to ask, once. By then this process has to be the one that polls.
        """
        if self._process.is_started:  # for an earlier run
            yield
            return
        self._tell_where()
        with self._waiting_room:
            yield

    def _tell_where(self) -> None:
        """Say where to ask, the first time."""
        if self._where:
            self._say(self._where)
        self._where = ""

    @asynccontextmanager
    async def beside(self, figures: Callable[[], RunFigures]) -> AsyncIterator[None]:
        """A context for a run, which gives its `figures`, in which requests are answered.

        What `figures` raises ends the run.
        """

        async def telling() -> None:
            while True:
                self._process.tell(encode(figures()))
                await asyncio.sleep(_EVERY)

        self._waiting_room.close()
        self._process.start()
        self._has_begun = True
        run = asyncio.current_task()
        assert run is not None
        told = asyncio.create_task(telling())
        told.add_done_callback(lambda task: task.cancelled() or run.cancel())
        try:
            yield
        finally:
            told.cancel()
            with suppress(asyncio.CancelledError):
                await told

    def polling(
        self, poll: Callable[[], object], reload: Callable[[], None] = _nothing_to_reload
    ) -> None:
        """Poll by this call until it returns.

        If the disk takes no more it is tried again, after ever longer pauses, in which requests are
        answered, and SIGHUP has it tried at once, which `reload` is told; SIGINT and SIGTERM end
        them.
        """
        tries = 0
        while True:
            begun_at = time.monotonic()
            try:
                poll()
                return
            except (StoreDiskError, StoreInUseError) as error:
                # Another process may write for a moment, such as what answers.
                is_passing = isinstance(error, StoreDiskError) or tries > 0
                if not (is_passing and Store.exists(self._terms.db)):
                    raise
                why = str(error)
            if time.monotonic() - begun_at > _PAUSES[-1]:
                tries = 0
            pause = _PAUSES[min(tries, len(_PAUSES) - 1)]
            tries += 1
            if not self._waited(why, pause, reload):
                return

    def _waited(self, why: str, seconds: float, reload: Callable[[], None]) -> bool:
        """Answer for so long, or until SIGHUP; False: this is to end."""
        now = time.time()
        stopped = Stopped(why, now, now + seconds, self._has_begun)
        again_at = datetime.fromtimestamp(stopped.again_at, UTC)
        self._tell_where()
        self._process.start()
        self._process.tell(stopped.encode())
        again = f"{stopped.state.lower()}, and is tried again at {again_at:%H:%M:%S} UTC"

        heed_as_before = signals_as_now()

        async def waiting() -> bool:
            over, is_ending = asyncio.Event(), False

            def end() -> None:
                nonlocal is_ending
                is_ending = True
                over.set()

            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, end)
            manager = service_manager()

            def go_on() -> None:
                reload()
                over.set()

            heed_hangups(loop, end=end, reload=go_on)
            self._say(f"{why}; {again}")  # only now, as who reads it may send a signal
            async with manager.watched():
                manager.ready()
                manager.status(f"{again}: {why}")
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await over.wait()
            if is_ending:
                manager.stopping()
            return not is_ending

        goes_on = uvloop.run(waiting())
        if goes_on:
            heed_as_before()
        return goes_on


@contextmanager
def open_answering(
    db: Place,
    *,
    host: str,
    port: int,
    names: Sequence[str] = (),
    token: str | None = None,
    proxies: Sequence[str] = (),
    peers: Sequence[str] = (),
    say: Callable[[str], None],
) -> Iterator[Answering]:
    """Listen at this address (`port` 0: any free one), which `say` is told once it answers.

    Requests must name it by an address, as localhost, as `host` or by one of `names`. Where others
    than this machine can reach it, or know it by a name, they need a `token`, or come through one
    of the `proxies`; if there is neither, a token is made and told. `InputError` for an address
    that cannot be listened on, and for what cannot be used.
    """
    known = tuple(map(peer_told, peers))
    addresses = tuple(map(_proxy_told, proxies))
    names = tuple(map(_name_told, names))
    if token is not None:
        token = checked_token(token, OTHER_TOKEN)
    with listen_on(host, port, _ELSEWHERE) as listener:
        address = address_of(listener)
        own_name = reachable_name(listener, names)
        shown = address_of(listener, own_name)
        for peer in known:
            if peer.url == address:
                raise InputError(f"--peers {address} is this engine itself: leave it out")
        # A further name is that of a proxy, or of a network: others know it.
        beyond = bool(names) or not is_loopback(listener.getsockname()[0])
        is_made = beyond and token is None and not proxies
        if is_made:
            token = new_token()
        if beyond and token is not None:
            shown += f"/?token={token if is_made else 'TOKEN'}"
            shown += " (others than this machine may reach it: all need the token)"
        terms = AnsweringTerms(
            db,
            tuple(name.lower().rstrip(".") for name in (host, own_name, *names) if name),
            token,
            addresses,
            known,
        )
        with closing(Answering(terms, listener, say, f"open {shown}")) as answering:
            yield answering


def _name_told(text: str) -> str:
    """A name as requests have it; `InputError` for what no host is called."""
    if not _NAME.fullmatch(text):
        raise InputError(
            f"--name {text}: give the name of a host alone, such as watch.example.org"
            + ("" if text.isascii() else " (other letters as xn--...)")
        )
    return text.lower()


def _proxy_told(text: str) -> str:
    """The address of a proxy as connections have it; `InputError` for what is none."""
    try:
        return str(ip_address(text))
    except ValueError as error:
        raise InputError(f"--trusted-proxy {text}: give the address of the proxy") from error
