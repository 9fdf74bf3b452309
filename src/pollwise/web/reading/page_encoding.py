"""From the bytes of a document to its characters.

The order is that of the Encoding and HTML standards of the WHATWG: a byte order mark, the charset
of the Content-Type header, a declaration within the first 1,024 bytes; if none of them names a
known encoding, UTF-8 if the body is UTF-8, else windows-1252.
"""

import codecs
import re

__all__ = ["UTF_16_MARKS", "decoded", "told_encoding"]

_DECLARED_WITHIN = 1024

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_HEADER_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([\w.:+-]+)""", re.IGNORECASE)
_DECLARATION = re.compile(
    rb"""<meta\s[^>]*?charset\s*=\s*["']?\s*([\w.:+-]+)
       | <\?xml\s[^>]*?encoding\s*=\s*["']\s*([\w.:+-]+)""",
    re.IGNORECASE | re.VERBOSE,
)

# Labels for which the Encoding standard (section 4.2) has a wider encoding than Python.
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
}
# By Python's names, without its codecs that are no text encodings or take quadratic time.
_ENCODINGS = frozenset(
    """
    cp866 cp874 cp932 cp949 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258
    iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10 iso8859-13
    iso8859-14 iso8859-15 iso8859-16 koi8-r koi8-u mac-roman mac-cyrillic gb18030 big5hkscs
    euc_jp iso2022_jp utf-8 utf-16 utf-16-le utf-16-be
    """.split()  # noqa: SIM905
)


def decoded(body: bytes, content_type: str | None) -> str:
    """The characters of a body; `content_type` is the header's value. Never raises.

    Bytes that the encoding does not know, and NUL, become U+FFFD.

    >>> decoded(b"caf\\xe9", "text/html; charset=iso-8859-1")
    'café'
    """
    return _with_marks_read(body, content_type).replace("\0", "\ufffd")


def _with_marks_read(body: bytes, content_type: str | None) -> str:
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    if encoding := told_encoding(body, content_type):
        return body.decode(encoding, "replace")
    try:
        # Not final: a last character that is cut off does not mean another encoding.
        return codecs.utf_8_decode(body, "strict", False)[0]
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")


def told_encoding(body: bytes, content_type: str | None) -> str:
    """Python's name of the encoding that the header, or else the body tells; empty: none is known.

    >>> told_encoding(b"<meta charset=windows-1251>", "text/html")
    'cp1251'
    """
    told = _HEADER_CHARSET.search(content_type or "")
    if told and (encoding := _known(told[1])):
        return encoding
    declared = _DECLARATION.search(body[:_DECLARED_WITHIN])
    if declared and (encoding := _known((declared[1] or declared[2]).decode("ascii"))):
        # A declaration readable as ASCII cannot be in UTF-16.
        return "utf-8" if encoding.startswith("utf-16") else encoding
    return ""


def _known(label: str) -> str:
    """Python's name of the encoding with this label; empty if there is none."""
    try:
        name = codecs.lookup(label).name
    except LookupError:
        return ""
    name = _WIDER.get(name, name)
    return name if name in _ENCODINGS else ""
