"""Texts of strangers, such as titles and errors of libraries, as one line can show them; figures as
people write them; and the text of a file that somebody named.
"""

import io
from decimal import Decimal
from pathlib import Path

__all__ = ["one_line", "plain", "printable", "read_text"]

_PIECE = 2**20


def one_line(error: Exception) -> str:
    """What an error says, on one line of at most 300 characters; never empty."""
    text = " ".join(str(error).split()).encode(errors="backslashreplace").decode()
    return text[:300] or type(error).__name__


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


def read_text(path: Path, most: int = 2**24) -> str:
    """The text of a file in UTF-8, whatever its ends of lines, without a byte order mark.

    `OSError` if it cannot be read; `ValueError` if it is not UTF-8 (`UnicodeDecodeError`), or has
    more than `most` bytes: a device or a pipe may have no end.
    """
    data = bytearray()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            data += piece
            if len(data) > most:
                raise ValueError(f"more than {most >> 20:,d} MiB")
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig").read()
