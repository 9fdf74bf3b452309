"""Texts of strangers, such as titles and errors of libraries, as one line can show them; figures as
people write them; and the text of a file that somebody named.
"""

import os
import ssl
import stat
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import BinaryIO

__all__ = [
    "STANDARD_INPUT",
    "file_told",
    "listed",
    "no_tls",
    "one_line",
    "opened",
    "plain",
    "printable",
    "read_bytes",
    "read_text",
]

STANDARD_INPUT = Path("/dev/stdin")

_PIECE = 2**20


def one_line(error: Exception) -> str:
    """What an error says, on one line of at most 300 characters; never empty."""
    text = " ".join(str(error).split()).encode(errors="backslashreplace").decode()
    return text[:300] or type(error).__name__


def no_tls(error: object) -> str | None:
    """Why there is no TLS, in words; None: the error is another one, or does not say."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason:
        return f"TLS failed: {error.reason.lower().replace('_', ' ')}"
    return None


def plain(figure: float, digits: int | None = None) -> str:
    """A finite figure in all its digits (None), or in so many, and never in powers of ten.

    >>> plain(2.0), plain(1e-7), plain(1_234_567.0), plain(1_234_567.0, 2)
    ('2', '0.0000001', '1234567', '1200000')
    """
    text = repr(float(figure)) if digits is None else f"{figure:.{digits}g}"
    return f"{Decimal(text):f}".removesuffix(".0")


def printable(text: str) -> str:
    """A text on one line, without what cannot be shown.

    >>> printable(" two\\n words\\0 ")
    'two words'
    """
    return "".join(filter(str.isprintable, " ".join(text.split())))


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them.

    >>> listed(["every"]), listed(["at-least", "every", "tags"])
    ('every', 'at-least, every and tags')
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def file_told(path: Path) -> str:
    """What messages call a file.

    >>> file_told(Path("urls.txt")), file_told(STANDARD_INPUT)
    ('urls.txt', 'the standard input')
    """
    return "the standard input" if path == STANDARD_INPUT else str(path)


def opened(path: Path) -> BinaryIO:
    """A file to be read, from its beginning; `OSError` if it cannot be.

    The standard input is used as it is: the pipe of another user, as of sudo or a container, or a
    socket, cannot be opened by its name.
    """
    if path != STANDARD_INPUT:
        return path.open("rb")
    file = open(0, "rb", closefd=False)  # noqa: SIM115
    if file.seekable():
        file.seek(0)
    return file


def read_text(path: Path, most: int = 2**24) -> str:
    """The text of a file in UTF-8, whatever its ends of lines, without a byte order mark.

    `OSError` if it cannot be read; `ValueError` if it is not UTF-8 (`UnicodeDecodeError`), or has
    more than `most` bytes: see `read_bytes`.
    """
    text = read_bytes(path, most).decode("utf-8-sig")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def read_bytes(path: Path, most: int) -> bytes:
    """What a file holds. `OSError` if it cannot be read; `ValueError` if that is more than `most`
    bytes: a device or a pipe may have no end, and is read piece by piece.
    """
    with opened(path) as file:
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode) and status.st_size <= most:
            data = file.read(most + 1)  # it may be growing
        else:
            data = b"".join(_pieces(file, most))
    if len(data) > most:
        raise ValueError(f"more than {most >> 20:,d} MiB")
    return data


def _pieces(file: BinaryIO, most: int) -> Iterator[bytes]:
    """What a file holds; a little more than `most` bytes of it, if that is more."""
    left = most
    while left >= 0:
        piece = file.read(_PIECE)
        yield piece
        left -= len(piece)
        if len(piece) < _PIECE:  # the end, which is typed only once
            return
