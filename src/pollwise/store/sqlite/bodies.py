"""The bodies of page versions as they are stored: compressed if that makes them smaller."""

import zlib

__all__ = ["pack_body", "unpack_body"]


def pack_body(body: bytes) -> tuple[str, bytes]:
    """The codec (`zlib`, or `raw` where compression gains nothing) and the bytes to store."""
    packed = zlib.compress(body)
    return ("zlib", packed) if len(packed) < len(body) else ("raw", body)


def unpack_body(codec: str, size: int, data: bytes) -> bytes:
    """The body of `size` bytes that `pack_body` packed; `ValueError` if it is damaged."""
    if codec not in ("zlib", "raw"):
        raise ValueError(f"no codec {codec!r}")
    try:
        body = zlib.decompress(data) if codec == "zlib" else data
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if len(body) != size:
        raise ValueError(f"{len(body)} bytes, not {size}")
    return body
