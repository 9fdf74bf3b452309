"""Bodies without their Content-Encoding (RFC 9110 section 8.4), read piece by piece."""

import io
import zlib

from pollwise.texts import one_line

__all__ = ["GZIP_MAGIC", "BodyError", "BodyReader", "too_large"]

# Each member costs a copy of the rest; no real page comes in more members.
_MAX_GZIP_MEMBERS = 100
GZIP_MAGIC = b"\x1f\x8b"
"""How gzip begins (RFC 1952 section 2.3.1)."""
_NONE = frozenset({"", "identity", "none", "utf-8"})
"""Count for nothing, also beside another. `identity` should not be sent (RFC 9110 section 8.4.1),
the last two name no encoding, but scripts send them where there is none, and browsers go on."""


class BodyError(ValueError):
    """A body that cannot be used; says why in words."""


def too_large(max_bytes: int) -> str:
    """What is wrong with a body of more bytes, and what helps."""
    size = max_bytes / 2**20
    return f"body larger than {max_bytes} bytes ({size:.3g} MiB): --max-size allows more"


class BodyReader:
    """Takes a body in pieces, as they arrive, and gives it without its Content-Encoding.

    The encodings are gzip, deflate or none. `deflate` may lack the zlib wrapper, gzip may have
    several members (RFC 1952 section 2.2); what follows the compressed data is ignored, as browsers
    do. Never holds more than `max_bytes` of output and one piece; before `make_room` hardly more
    than `room`, however much the pieces inflate to. `wire_bytes` counts what has come in, `size`
    what has come out.

    >>> reader = BodyReader("identity", max_bytes=10, room=10)
    >>> reader.feed(b"hel"), reader.feed(b"lo"), reader.body()
    (None, None, b'hello')
    """

    def __init__(self, encoding: str, *, max_bytes: int, room: int) -> None:
        named = (name.strip() for name in encoding.lower().split(","))
        self._encoding = ", ".join(name for name in named if name not in _NONE)
        self._max_bytes = max_bytes
        self._room = min(room, max_bytes)
        # Its value is handed out without a copy.
        self._body = io.BytesIO()
        self._stream: zlib._Decompress | None = None
        self._members = 0
        self._ended = False
        # What is too short to tell how it goes on, or waits for room.
        self._held = b""
        self.wire_bytes = 0

    @property
    def size(self) -> int:
        """The bytes of the body so far."""
        return self._body.tell()

    @property
    def is_full(self) -> bool:
        """Whether there is more than `room`: the next piece needs `make_room` first."""
        return self.size > self._room

    def make_room(self) -> None:
        """Take up to `max_bytes` from now on, and what was held back; errors as of `feed`."""
        self._room = self._max_bytes
        if self._held or self._stream is not None:
            self._inflate(self._held, last=False)

    def feed(self, data: bytes) -> None:
        """Take the next piece; `BodyError` if it is broken, too large or in another encoding."""
        self.wire_bytes += len(data)
        if not data:
            return
        if not self._encoding:
            self._write(data)
        elif self._encoding not in ("gzip", "x-gzip", "deflate"):
            raise BodyError(f"Content-Encoding {self._encoding[:40]!r}, which was not asked for")
        else:
            self._inflate(self._held + data, last=False)

    def body(self) -> bytes:
        """The whole body, after the last piece; `BodyError` if it is cut off or broken."""
        if self._held:
            self._inflate(self._held, last=True)
        if self._stream is not None:
            raise BodyError(f"{self._encoding} body cut off")
        return self._body.getvalue()

    def _inflate(self, data: bytes, *, last: bool) -> None:
        self._held = b""
        while not self._ended:
            if self.is_full:
                self._held = data
                return
            if self._stream is None:
                if len(data) < 2 and not (data and last):
                    self._held = data
                    return
                self._begin(data)
                if self._stream is None:
                    return
            try:
                # One byte more than there is room for shows that there is too much.
                self._write(self._stream.decompress(data, self._room + 1 - self.size))
            except zlib.error as error:
                raise BodyError(f"broken {self._encoding} body: {one_line(error)}") from error
            if self._stream.eof:
                data = self._stream.unused_data
                self._stream = None
                self._ended = self._encoding == "deflate"
            elif self.is_full:
                data = self._stream.unconsumed_tail
            else:
                return

    def _begin(self, data: bytes) -> None:
        """Begin the next member, if the data are one."""
        if self._encoding == "deflate":
            wrapped = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
            self._stream = zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)
            return
        if self._members and not data.startswith(GZIP_MAGIC):
            self._ended = True
            return
        if self._members == _MAX_GZIP_MEMBERS:
            raise BodyError(f"gzip body in more than {_MAX_GZIP_MEMBERS} members")
        self._members += 1
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def _write(self, data: bytes) -> None:
        self._body.write(data)
        if self.size > self._max_bytes:
            raise BodyError(too_large(self._max_bytes))
