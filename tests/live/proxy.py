"""A small HTTP proxy on the loopback interface: it forwards requests, and opens tunnels."""

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit


class Proxy:
    """`heads` are the requests that came, as text; `login`: what it asks for (None: nothing).

    `names` maps hosts to where they are; the others are asked by their own names.
    """

    def __init__(self) -> None:
        self.heads: list[str] = []
        self.login: str | None = None
        self.refusal: str | None = None
        self.names: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.heads.append(head)
            await self._answer(head, reader, writer)
        writer.close()

    async def _answer(
        self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        method, target, _ = head.split(" ", 2)
        refusal = self.refusal
        if self.login is not None and f"Proxy-Authorization: {self.login}\r\n" not in head:
            refusal = "407 Proxy Authentication Required"
        if refusal is not None:
            writer.write(f"HTTP/1.1 {refusal}\r\nContent-Length: 0\r\n\r\n".encode())
            return
        url = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host = str(url.hostname)
        there, back = await asyncio.open_connection(self.names.get(host, host), url.port or 80)
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            path = url._replace(scheme="", netloc="").geturl()
            lines = head.split("\r\n")[1:-2]
            kept = [line for line in lines if not line.lower().startswith("proxy-")]
            request = [f"GET {path} HTTP/1.1", *kept, "Connection: close", "", ""]
            back.write("\r\n".join(request).encode("latin-1"))
        await asyncio.gather(_copy(reader, back), _copy(there, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()
