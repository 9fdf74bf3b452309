"""Answers everybody that it takes a moment, while the process that polls gets ready."""

import asyncio
import socket
import threading
from contextlib import suppress
from typing import Self

__all__ = ["WaitingRoom"]

_AGAIN = "2"
"""Seconds."""
_PATIENCE = 5.0
"""Seconds that a request may take to come."""
_MOST = 200
"""Connections at a time; beyond that the oldest one is cut."""
_NO_REQUEST = (TimeoutError, EOFError, OSError, asyncio.LimitOverrunError, asyncio.CancelledError)
"""Cancelled are those that have not come when it closes, which asyncio would show as an error."""
_LINE = "pollwise is getting ready: at its first start it compiles, this takes about a minute"
_PAGE = f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>In a moment</title>
<body style="font-family: system-ui, sans-serif; margin: 2rem">
<h1>In a moment</h1>
<p>{_LINE}. This page then comes by itself.</p>
"""
_ERROR = f'{{"error": "{_LINE}", "field": null}}'


class WaitingRoom:
    """Answers at a listening socket, by a thread, until `close`: who asks is to ask again.

    It reads no database and tells nothing of it, so everybody may ask.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._has_begun = threading.Event()
        self._open: dict[asyncio.StreamWriter, None] = {}
        """In the order in which they came."""
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._thread = threading.Thread(target=self._run, daemon=True, name="waiting room")

    def __enter__(self) -> Self:
        self._thread.start()
        self._has_begun.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End; connections that nobody took are left to whoever answers next."""
        if self._thread.is_alive():
            with suppress(RuntimeError):  # it has just failed
                self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._answer())
        finally:  # it may have failed
            self._has_begun.set()

    async def _answer(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._tell, sock=self._listener.dup())
        self._has_begun.set()
        await self._stop.wait()
        server.close()

    async def _tell(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the one request of a connection."""
        self._open[writer] = None
        if len(self._open) > _MOST:
            oldest = next(iter(self._open))
            del self._open[oldest]
            oldest.close()
        try:
            with suppress(*_NO_REQUEST):
                async with asyncio.timeout(_PATIENCE):
                    asked = await reader.readuntil(b"\r\n\r\n")
                    writer.write(_answer_of(asked))
                    await writer.drain()
        finally:
            self._open.pop(writer, None)
            writer.close()


def _answer_of(asked: bytes) -> bytes:
    """The answer to the lines of a request: a page for people, JSON for programs."""
    target = asked.partition(b" ")[2]
    is_page = b"text/html" in asked.lower() and not target.startswith(b"/api/")
    kind, text = ("text/html", _PAGE) if is_page else ("application/json", _ERROR)
    body = text.encode()
    head = (
        "HTTP/1.1 503 Service Unavailable",
        f"Content-Type: {kind}; charset=utf-8",
        f"Content-Length: {len(body)}",
        f"Retry-After: {_AGAIN}",
        f"Refresh: {_AGAIN}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    )
    told = "\r\n".join([*head, "", ""]).encode()
    return told if asked.startswith(b"HEAD ") else told + body
