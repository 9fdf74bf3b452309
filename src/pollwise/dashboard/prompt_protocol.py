"""HTTP/1.1 for clients that are prompt: no connection can be held by saying or reading little."""

import asyncio
from collections.abc import Collection

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["PromptProtocol"]


class PromptProtocol(H11Protocol):
    """uvicorn's protocol, with limits on the time of each exchange and on connections.

    From the connection, or from the answer before, a client has `seconds` until its request is
    there in full, is answered, and the answer is taken; then the connection is cut. uvicorn itself
    waits for ever, as each byte that comes ends its time-out. Connections beyond `most` are cut at
    once, so that the descriptors suffice. What goes on at a path of `lasting` has an hour.
    """

    seconds = 20.0
    most = 500
    lasting: Collection[str] = ()
    lasting_seconds = 3600.0
    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            transport.abort()
        else:
            self._restart()

    def on_response_complete(self) -> None:
        """Give the next exchange its time; called at the end of an answer."""
        super().on_response_complete()
        self._restart()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        super().connection_lost(exc)
        self._stop()

    def _restart(self) -> None:
        self._stop()
        self._limit = self.loop.call_later(self.seconds, self._time_is_up)

    def _time_is_up(self) -> None:
        if self.cycle is not None and self.scope["path"] in self.lasting:
            left = self.lasting_seconds - self.seconds
            self._limit = self.loop.call_later(left, self.transport.abort)
        else:
            self.transport.abort()

    def _stop(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
