"""HTTP/1.1 for clients that are prompt: nobody is kept out by those who say or read little."""

import asyncio
from collections.abc import Collection, Iterable
from typing import Any, cast

from starlette.requests import Request
from uvicorn.protocols.http.h11_impl import H11Protocol

from pollwise.units import HOUR

__all__ = ["PromptProtocol", "answer_lasts"]

_STATE = "connection"


class PromptProtocol(H11Protocol):
    """uvicorn's protocol, with limits on the time of each exchange and on connections.

    From the connection, or from the answer before, a client has `seconds` until its request is
    there in full, is answered, and the answer is taken; then the connection is cut. uvicorn itself
    waits for ever, as each byte that comes ends its time-out. Whoever says nothing at all is cut
    off after `silent_seconds`; an answer that is said to last has `lasting_seconds`.

    There are `most` connections, so that the descriptors suffice, and `most_of_one` of each address
    but the `proxies`, behind which are many. Beyond that the oldest one gives way whose client says
    nothing, else the oldest that waits for its client to say or read more; if all are being
    answered, the new one is cut. Of the answers that last there are `most_lasting`, and
    `most_lasting_of_one`; beyond that the oldest ends.
    """

    seconds = 20.0
    silent_seconds = 5.0
    lasting_seconds = HOUR
    most = 500
    most_of_one = 100
    most_lasting = 100
    most_lasting_of_one = 20
    proxies: Collection[str] = ()
    _limit: asyncio.TimerHandle | None = None
    _since = 0.0
    _is_silent = True
    _lasts = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, _STATE: self}
        self._restart(self.silent_seconds)
        every = self._open()
        for among, most in ((self._of_one(every), self.most_of_one), (every, self.most)):
            if len(among) > most:
                _first_to_go(among, self).transport.abort()
                break

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        if self._is_silent:
            self._is_silent = False
            self._restart(self.seconds)
        super().data_received(data)

    def on_response_complete(self) -> None:
        """Give the next exchange its time; called at the end of an answer."""
        super().on_response_complete()
        self._lasts = False
        self._restart(self.seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        super().connection_lost(exc)
        self._stop()

    def last(self) -> None:
        """Let the present answer last."""
        self._lasts = True
        self._restart(self.lasting_seconds)
        every = [one for one in self._open() if one._lasts]
        bounds = (self._of_one(every), self.most_lasting_of_one), (every, self.most_lasting)
        for among, most in bounds:
            if len(among) > most:
                min(among, key=lambda one: one._since).transport.abort()
                break

    def _open(self) -> list["PromptProtocol"]:
        every = cast(Iterable[PromptProtocol], self.connections)
        return [one for one in every if not one.transport.is_closing()]

    def _of_one(self, every: list["PromptProtocol"]) -> list["PromptProtocol"]:
        """Those of the address of this one; none if many may be behind it."""
        address = _address(self)
        if address in self.proxies:
            return []
        return [one for one in every if _address(one) == address]

    def _waiting(self) -> int:
        """How much the server waits for the client: 2, to say something; 1, for more of it."""
        if self.cycle is None or self.cycle.response_complete:
            return 2
        return int(not self._lasts and (self.cycle.more_body or self.flow.write_paused))

    def _restart(self, seconds: float) -> None:
        self._stop()
        self._since = self.loop.time()
        self._limit = self.loop.call_later(seconds, self.transport.abort)

    def _stop(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None


def answer_lasts(request: Request) -> None:
    """Say that the answer to this request lasts, at the pleasure of its client."""
    connection: Any = getattr(request.state, _STATE, None)
    if connection is not None:  # an application may be asked without a network
        connection.last()


def _address(one: PromptProtocol) -> str:
    return one.client[0] if one.client else ""


def _first_to_go(among: list[PromptProtocol], new: PromptProtocol) -> PromptProtocol:
    waiting = [one for one in among if one is not new and one._waiting()]
    return min(waiting, key=lambda one: (-one._waiting(), one._since), default=new)
