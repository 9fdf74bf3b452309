"""Texts of strangers, such as titles and errors of libraries, as one line can show them; and
figures as people write them.
"""

from decimal import Decimal

__all__ = ["one_line", "plain", "printable"]


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
