"""Answers everybody that it takes a moment, while the process that polls gets ready."""

import asyncio
import errno
import socket
import threading
import time
from contextlib import suppress
from functools import partial
from typing import Self

__all__ = ["WaitingRoom"]

_AGAIN = "2"
"""Seconds."""
_PATIENCE = 5.0
"""Seconds that a request may take to come."""
_MOST = 200
"""Connections at a time; beyond that the oldest one is cut."""
_LAST = 0.1
"""Seconds that a request may take to come once it closes."""
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_PAUSE = 0.01
"""Seconds, after which a connection is taken again that there was no room for."""
_LONGEST = 2**16
"""Bytes of a request."""
_LINE = "pollwise is getting ready: at its first start it compiles, this takes about half a minute"
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
        self._answering: dict[asyncio.Task[None], None] = {}
        """One for each connection, in the order in which they came."""
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
        with self._listener.dup() as listener:
            listener.setblocking(False)
            # By hand: a server of asyncio that closes leaves open what it has just accepted.
            self._loop.add_reader(listener, self._accept, listener)
            self._has_begun.set()
            await self._stop.wait()
            self._loop.remove_reader(listener)
            if self._answering:  # whoever has asked gets an answer
                await asyncio.wait(self._answering, timeout=_LAST)

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError as error:
            if error.errno in _NO_ROOM:  # it would be tried again at once
                self._cut_oldest()
                time.sleep(_PAUSE)
            return  # else it has gone
        connection.setblocking(False)
        if len(self._answering) >= _MOST:
            self._cut_oldest()
        answering = self._loop.create_task(self._tell(connection))
        self._answering[answering] = None
        # Not by the task itself: it may be cancelled before it begins.
        answering.add_done_callback(partial(self._end, connection))

    def _cut_oldest(self) -> None:
        if self._answering:
            oldest = next(iter(self._answering))
            del self._answering[oldest]
            oldest.cancel()

    def _end(self, connection: socket.socket, answering: asyncio.Task[None]) -> None:
        connection.close()
        self._answering.pop(answering, None)

    async def _tell(self, connection: socket.socket) -> None:
        """Answer the one request of a connection."""
        asked = b""
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(_PATIENCE):
                while b"\r\n\r\n" not in asked:
                    part = await self._loop.sock_recv(connection, _LONGEST - len(asked))
                    if not part:
                        break
                    asked += part
                else:
                    await self._loop.sock_sendall(connection, _answer_of(asked))


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
