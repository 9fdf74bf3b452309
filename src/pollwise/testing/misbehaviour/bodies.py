"""Bodies that are slow, endless, broken, or much larger than they look."""

import asyncio
import gzip
import zlib
from functools import lru_cache

from aiohttp import web

from pollwise.testing.misbehaviour.cue import BLOCK, PAGE, Cue, Routes, begin, html

__all__ = ["ROUTES"]

_GZIP = 31
"""What zlib calls the gzip format."""


async def _slow_body(cue: Cue) -> web.StreamResponse:
    response = await begin(cue)
    for i in range(len(PAGE)):
        await response.write(PAGE[i : i + 1])
        await asyncio.sleep(cue.seconds(1))
    return response


async def _endless_drip(cue: Cue) -> web.StreamResponse:
    response = await begin(cue)
    while True:
        await response.write(b"x")
        await asyncio.sleep(cue.seconds(1))


async def _endless(cue: Cue) -> web.StreamResponse:
    response = await begin(cue)
    while True:
        await response.write(BLOCK)


async def _huge(cue: Cue) -> web.StreamResponse:
    left = cue.whole("bytes", 2**30)
    response = await begin(cue)
    while left > 0:
        await response.write(BLOCK[:left])
        left -= len(BLOCK)
    return response


@lru_cache(maxsize=8)
def _packed_zeros(size: int, wbits: int) -> bytes:
    """`size` zero bytes, compressed without ever holding them all."""
    packer = zlib.compressobj(1, wbits=wbits)
    block = bytes(2**20)
    whole, rest = divmod(size, len(block))
    parts = [packer.compress(block) for _ in range(whole)]
    return b"".join((*parts, packer.compress(block[:rest]), packer.flush()))


async def _gzip(cue: Cue) -> web.StreamResponse:
    return html(gzip.compress(PAGE, mtime=0), Content_Encoding="gzip")


async def _gzip_bomb(cue: Cue) -> web.StreamResponse:
    return html(_packed_zeros(cue.whole("bytes", 2**26), _GZIP), Content_Encoding="gzip")


async def _gzip_nested(cue: Cue) -> web.StreamResponse:
    inner = _packed_zeros(cue.whole("bytes", 2**28), _GZIP)
    return html(gzip.compress(inner, mtime=0), Content_Encoding="gzip, gzip")


async def _gzip_members(cue: Cue) -> web.StreamResponse:
    member = gzip.compress(b"", mtime=0)
    return html(member * cue.whole("count", 100_000), Content_Encoding="gzip")


async def _gzip_endless(cue: Cue) -> web.StreamResponse:
    packer = zlib.compressobj(1, wbits=_GZIP)
    block = bytes(2**20)
    response = await begin(cue, Content_Encoding="gzip")
    await response.write(packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH))
    # After a full flush the same bytes are packed in the same way.
    packed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    while True:
        await response.write(packed * 16)


async def _gzip_broken(cue: Cue) -> web.StreamResponse:
    return html(Content_Encoding="gzip")


async def _gzip_cut_off(cue: Cue) -> web.StreamResponse:
    packed = gzip.compress(PAGE, mtime=0)
    return html(packed[: len(packed) // 2], Content_Encoding="gzip")


async def _deflate_bomb(cue: Cue) -> web.StreamResponse:
    packed = _packed_zeros(cue.whole("bytes", 2**26), zlib.MAX_WBITS)
    return html(packed, Content_Encoding="deflate")


async def _encoding(cue: Cue) -> web.StreamResponse:
    return html(Content_Encoding=cue.words["name"])


async def _not_utf_8(cue: Cue) -> web.StreamResponse:
    return html(b"<!DOCTYPE html><title>Gr\xfc\xdfe</title><p>\xff\xfe caf\xe9")


ROUTES: Routes = {
    "/slow-body": _slow_body,
    "/endless-drip": _endless_drip,
    "/endless": _endless,
    "/huge": _huge,
    "/gzip": _gzip,
    "/gzip-bomb": _gzip_bomb,
    "/gzip-nested": _gzip_nested,
    "/gzip-members": _gzip_members,
    "/gzip-endless": _gzip_endless,
    "/gzip-broken": _gzip_broken,
    "/gzip-cut-off": _gzip_cut_off,
    "/deflate-bomb": _deflate_bomb,
    "/encoding/(?P<name>.+)": _encoding,
    "/not-utf-8": _not_utf_8,
}
