"""Texts of strangers, such as titles and errors of libraries, as one line can show them."""

__all__ = ["one_line", "printable"]


def one_line(error: Exception) -> str:
    """What an error says, on one line of at most 300 characters; never empty."""
    text = " ".join(str(error).split()).encode(errors="backslashreplace").decode()
    return text[:300] or type(error).__name__


def printable(text: str) -> str:
    """A text on one line, without what cannot be shown.

    >>> printable(" two\\n words\\0 ")
    'two words'
    """
    return "".join(filter(str.isprintable, " ".join(text.split())))
