"""What a reader sees of an HTML page, as text.

One regular expression finds it, in linear time on any input. No tree is built: only what differs
counts here, and hashes of this text are stored, so that any other reading would take every page
for changed.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from itertools import repeat

from pollwise.web.reading.page_encoding import UTF_16_MARKS, told_encoding

__all__ = ["is_html", "readable", "visible_blocks", "visible_text"]

_PLAIN_TAG = "[a-mo-ru-z/] [^>=]*+ >"
"""What most tags are, behind the `<`: surely none that hides what follows, and without values."""
# Every alternative but the first, of which the last has all, also ends at the end of the text, so
# that no scan fails and starts again one character later: this keeps the time linear.
_INVISIBLE = re.compile(
    rf"""
    < (?: {_PLAIN_TAG} (?: [ \n]*+ < {_PLAIN_TAG} | )*+
        | !-- (?: -?> | (?: [^-]++ | -(?!-!?>) | )*+ (?:--!?>|\Z) )
        | (script|style|template|noscript) (?=[\s/>])
          (?: [^<]++ | <(?!/\1[\s/>]) | )*+ (?: </\1 [^>]*+ (?:>|\Z) | \Z )
        | [a-z/!?] [^>=]*+
          (?: = (?: \s*+ (?: "[^"]*+(?:"|\Z) | '[^']*+(?:'|\Z) ) | )?+ [^>=]*+ | )*+ (?:>|\Z) )
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Not str.split: it would take some letters of windows-1252, read as Latin-1, for white space.
_SPACE = re.compile(r"[ \t\n\f\r]+")
_BAD_BYTES = re.compile(r"[\udc80-\udcff][\x00-\x7f\udc80-\udcff]*+")
"""Escaped bytes that are not UTF-8, with the ASCII behind them: there may be many."""
_HTML_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE)


def is_html(body: bytes, content_type: str | None) -> bool:
    """Whether a body is HTML by its Content-Type header, else by its begin."""
    if content_type is None:
        return _HTML_START.match(body) is not None
    return content_type.split(";", 1)[0].strip().lower() == "text/html"


def readable(body: bytes, content_type: str | None) -> str:
    """The characters of a body. Never raises.

    Bytes that are not UTF-8 are read in the encoding that they are told to be in, if all of them
    are and it extends ASCII or has the mark of UTF-16, else as Latin-1, or each bad byte alone if
    UTF-8 is told: different bytes stay different, which is what a comparison needs.

    >>> readable(b"\\xec\\xe8\\xf0", "text/html; charset=windows-1251")
    'мир'
    """
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        is_marked = body.startswith(UTF_16_MARKS)
        encoding = "utf-16" if is_marked else told_encoding(body, content_type)
    if encoding == "utf-8":
        return _BAD_BYTES.sub(_as_latin_1, body.decode("utf-8", "surrogateescape"))
    if encoding and (is_marked or not encoding.startswith("utf-16")):
        with suppress(UnicodeDecodeError):
            return body.decode(encoding)
    return body.decode("latin-1")


def _as_latin_1(escaped: re.Match[str]) -> str:
    return escaped[0].encode("utf-8", "surrogateescape").decode("latin-1")


def visible_text(body: bytes) -> str:
    """What a reader sees of an HTML page, white space folded. Never raises.

    >>> visible_text(b"<p class=x>Caf\\xe9 <!-- 17 -->opens<script>nonce = 3</script>")
    'Café opens'
    """
    return _SPACE.sub(" ", _INVISIBLE.sub(" ", readable(body, None))).strip(" ")


def visible_blocks(html: str) -> list[str]:
    """The visible text in pieces, which end where a tag or a line does; none is empty.

    With spaces between them they are the `visible_text`.

    >>> visible_blocks("<p>It is <b>12:03</b>.<p>We  open.")
    ['It is', '12:03', '.', 'We open.']
    """
    lines = _INVISIBLE.sub("\n", html).replace("\r", "\n").replace("\t", " ").replace("\f", " ")
    pieces: Iterable[str] = lines.split("\n")
    if " \n" in lines or "\n " in lines or lines.startswith(" ") or lines.endswith(" "):
        pieces = map(str.strip, pieces, repeat(" "))
    if "  " not in lines:
        return [*filter(None, pieces)]
    # Few have several spaces in a row, once they do not begin with them.
    return [_folded(piece) if "  " in piece else piece for piece in filter(None, pieces)]


def _folded(piece: str) -> str:
    return " ".join(filter(None, piece.split(" ")))
