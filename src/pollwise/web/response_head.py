"""The head of an answer as it is kept with a version: its status line and its headers.

Databases and exports are shared. So headers are left out whose names say that they hold a cookie, a
login, a token or a session, or the address of whoever asked, which some servers repeat.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

__all__ = ["kept_head"]

_MOST_BYTES = 16 * 1024
_PRIVATE = re.compile(
    rb"cookie|auth(?!ors?$)|token|sess|(?:^|-)sid$|[cx]srf|secret|passw|pwd|credential"
    rb"|signature|-key$|apikey|jwt|amz-security"
    rb"|forwarded|remote-addr|(?:^|-)ip(?:-|$)",
    re.IGNORECASE,
)
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PRINTABLE = bytes(9 if n == 9 else 32 if n < 32 or n == 127 else n for n in range(256))
"""Spaces in place of control characters, but for tabs."""


def kept_head(status_line: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    r"""Lines with CRLF between them: the status line and, as received, the headers to keep.

    Headers are left out that are private, and those that find no room in 16 KiB. A character that
    would end a line is a space.

    >>> kept_head(b"HTTP/1.1 200 OK", [(b"Server", b"x"), (b"Set-Cookie", b"id=secret")])
    b'HTTP/1.1 200 OK\r\nServer: x'
    """
    lines = [status_line.translate(_PRINTABLE)]
    room = _MOST_BYTES - len(lines[0])
    for name, value in headers:
        line = b"\r\n%b: %b" % (name, value.translate(_PRINTABLE))
        if _may_be_kept(name) and len(line) <= room:
            lines.append(line)
            room -= len(line)
    return b"".join(lines)


@lru_cache(1000)
def _may_be_kept(name: bytes) -> bool:
    return _NAME.fullmatch(name) is not None and _PRIVATE.search(name) is None
