"""Answers that break HTTP, or the connection."""

import asyncio
import socket
import struct

from aiohttp import web

from pollwise.testing.misbehaviour.cue import PAGE, Cue, Routes, begin, html, raw, steadily

__all__ = ["ROUTES", "close_midway"]

_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </spam.css>; rel=preload\r\n\r\n"


async def _closed(cue: Cue) -> web.StreamResponse:
    return await raw(cue)


async def close_midway(cue: Cue) -> web.StreamResponse:
    """The connection is closed in the middle of a chunked body."""
    response = await begin(cue)
    await response.write(PAGE)
    cue.transport.close()
    return response


def _reset(cue: Cue) -> None:
    """Close the connection with a RST: there is to be no time to linger."""
    connection = cue.transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    cue.transport.abort()


async def _reset_at_once(cue: Cue) -> web.StreamResponse:
    _reset(cue)
    return web.Response()


async def _reset_midway(cue: Cue) -> web.StreamResponse:
    response = await begin(cue)
    await response.write(PAGE)
    await asyncio.sleep(0.05)  # what is on its way arrives before the reset
    _reset(cue)
    return response


async def _never(cue: Cue) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


async def _slow_headers(cue: Cue) -> web.StreamResponse:
    await asyncio.sleep(cue.seconds(60))
    return html()


async def _drip_headers(cue: Cue) -> web.StreamResponse:
    for byte in _OK + b"Content-Length: 0\r\n\r\n":
        if cue.transport.is_closing():
            break
        cue.transport.write(bytes([byte]))
        await asyncio.sleep(cue.seconds(1))
    return await raw(cue)


async def _not_http(cue: Cue) -> web.StreamResponse:
    return await raw(cue, b"220 mail.example.org ESMTP\r\n")


async def _length(cue: Cue) -> web.StreamResponse:
    return await raw(
        cue, _OK + f"Content-Length: {cue.words['n']}\r\n\r\n".encode() + PAGE.ljust(100)
    )


async def _two_lengths(cue: Cue) -> web.StreamResponse:
    return await raw(cue, _OK + b"Content-Length: 10\r\nContent-Length: 60\r\n\r\n" + PAGE)


async def _length_and_chunks(cue: Cue) -> web.StreamResponse:
    head = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    return await raw(cue, _OK + head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(PAGE), PAGE))


async def _chunk_size(cue: Cue) -> web.StreamResponse:
    size = cue.words["size"].encode()
    return await raw(cue, _OK + b"Transfer-Encoding: chunked\r\n\r\n" + size + b"\r\n" + PAGE)


async def _endless_headers(cue: Cue) -> web.StreamResponse:
    return await steadily(cue, b"HTTP/1.1 200 OK\r\n", b"X-Spam: spam, spam, spam\r\n" * 100)


async def _endless_status(cue: Cue) -> web.StreamResponse:
    return await steadily(cue, b"HTTP/1.1 200 ", b"spam" * 1000)


async def _long_header(cue: Cue) -> web.StreamResponse:
    spam = b"x" * cue.whole("bytes", 2**20)
    return await raw(cue, _OK + b"X-Spam: " + spam + b"\r\nContent-Length: 0\r\n\r\n")


async def _many_headers(cue: Cue) -> web.StreamResponse:
    lines = b"".join(b"X-%d: spam\r\n" % n for n in range(cue.whole("count", 10_000)))
    return await raw(cue, _OK + lines + b"Content-Length: 0\r\n\r\n")


async def _endless_trailers(cue: Cue) -> web.StreamResponse:
    head = _OK + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n" % (len(PAGE), PAGE)
    return await steadily(cue, head, b"X-Spam: spam, spam, spam\r\n" * 100)


async def _interim(cue: Cue) -> web.StreamResponse:
    last = _OK + b"Content-Length: %d\r\n\r\n" % len(PAGE)
    return await raw(cue, _INTERIM * int(cue.words["n"]) + last + PAGE)


async def _endless_interim(cue: Cue) -> web.StreamResponse:
    return await steadily(cue, b"", _INTERIM * 20, cue.seconds(0))


ROUTES: Routes = {
    "/closed": _closed,
    "/cut-off": close_midway,
    "/reset": _reset_at_once,
    "/reset-midway": _reset_midway,
    "/never": _never,
    "/slow-headers": _slow_headers,
    "/drip-headers": _drip_headers,
    "/not-http": _not_http,
    r"/length/(?P<n>[^/]*)": _length,
    "/two-lengths": _two_lengths,
    "/length-and-chunks": _length_and_chunks,
    r"/chunk-size/(?P<size>[^/]*)": _chunk_size,
    "/endless-headers": _endless_headers,
    "/endless-status": _endless_status,
    "/long-header": _long_header,
    "/many-headers": _many_headers,
    "/endless-trailers": _endless_trailers,
    r"/interim/(?P<n>\d+)": _interim,
    "/endless-interim": _endless_interim,
}
