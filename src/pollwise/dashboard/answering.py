"""What answers people and programs, as `pollwise serve` sees it: beside a run, or alone."""

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path

import uvloop

from pollwise.dashboard.terms import OTHER_TOKEN, AnsweringTerms, peer_told
from pollwise.dashboard.waiting_room import WaitingRoom
from pollwise.errors import InputError
from pollwise.live.run_figures import RunFigures, encode
from pollwise.live.service_manager import service_manager
from pollwise.live.session import has_terminal
from pollwise.web.own_servers import (
    address_of,
    checked_token,
    is_loopback,
    listen_on,
    new_token,
    reachable_name,
)

__all__ = ["Answering", "open_answering"]

_ELSEWHERE = "give another --port or --host"
_EVERY = 1.0
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_SECONDS_TO_END = 5.0


class Answering:
    """Answers on these terms at a socket that listens; `where`: what people are told of that.

    Beside a run it is a process of its own, as Python runs one thread at a time: no poll is held
    up. It is started anew whenever it ends, which `say` is told.
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

    def alone(self) -> None:
        """Answer until SIGINT or SIGTERM, in this process; `StoreError` as for `answer`."""
        # Here, as the process that polls needs nothing of it.
        from pollwise.dashboard.server import answer

        async def answering() -> None:
            stop = asyncio.Event()
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, stop.set)
            manager = service_manager()
            async with manager.watched():
                manager.ready()
                await answer(self._terms, self._listener, stop)
                manager.stopping()

        self._say(self._where)
        gc.enable()
        if not has_terminal():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # there is nothing to read anew
        uvloop.run(answering())

    @contextmanager
    def getting_ready(self) -> Iterator[None]:
        """A context in which a run gets ready: who asks is told so, until it has begun.

        It says where to ask. By then this process has to be the one that polls.
        """
        self._say(self._where)
        with self._waiting_room:
            yield

    @asynccontextmanager
    async def beside(self, figures: Callable[[], RunFigures]) -> AsyncIterator[None]:
        """A context for a run, which gives its `figures`, in which requests are answered."""
        self._waiting_room.close()
        keeping = asyncio.create_task(self._keep(figures))
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.wait([keeping])

    async def _keep(self, figures: Callable[[], RunFigures]) -> None:
        pause = _FIRST_PAUSE
        while True:
            begun = asyncio.get_running_loop().time()
            try:
                why = f"ended (status {await self._run(figures)})"
            except OSError as error:
                why = f"cannot be started ({error.strerror})"
            if asyncio.get_running_loop().time() - begun > _LONGEST_PAUSE:
                pause = _FIRST_PAUSE
            self._say(f"what answers {why}; it starts anew in {pause:g} s")
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _run(self, figures: Callable[[], RunFigures]) -> int:
        """Have a process answer until it ends; its exit status."""
        number = self._listener.fileno()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pollwise.dashboard.process", str(number)),
            stdin=asyncio.subprocess.PIPE,
            pass_fds=[number],
            start_new_session=True,  # Ctrl-C in a terminal is for this process alone
        )
        assert process.stdin is not None
        ended = asyncio.ensure_future(process.wait())
        try:
            line = self._terms.encode()
            while not ended.done():
                with suppress(ConnectionError):  # it has ended: so will `ended`
                    process.stdin.write(f"{line}\n".encode())
                    await process.stdin.drain()
                await asyncio.wait([ended], timeout=_EVERY)
                line = encode(figures())
            return ended.result()
        finally:
            process.stdin.close()
            if not ended.done():
                await asyncio.wait([ended], timeout=_SECONDS_TO_END)
            if not ended.done():
                process.kill()
                await ended


@contextmanager
def open_answering(
    db: Path,
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
        yield Answering(terms, listener, say, f"open {shown}")


def _proxy_told(text: str) -> str:
    """The address of a proxy as connections have it; `InputError` for what is none."""
    try:
        return str(ip_address(text))
    except ValueError as error:
        raise InputError(f"--trusted-proxy {text}: give the address of the proxy") from error
