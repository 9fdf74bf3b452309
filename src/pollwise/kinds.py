"""The kind of a page, told from its name; pages of one kind are likely to change alike."""

import re
from collections.abc import Sequence
from functools import lru_cache

__all__ = ["kind_of", "kinds_of"]

# Looked for at the begin of a word only: else each letter of a long one would be tried.
_ORIGIN = re.compile(r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*://[^/?#]*", re.IGNORECASE)
_BEGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#]*", re.IGNORECASE)
_NUMBERED = re.compile(r"([^\W\d]*)[-_.]?\d[\d\W_]*(\.[a-z]{2,5})?", re.IGNORECASE)
_NUMBERED_WORD = re.compile(r"[^\W\d]+\d")
_EXTENSION = re.compile(r"\.[a-z]{2,5}$", re.IGNORECASE)
_DIGIT = re.compile("[0-9]")
_DIGITS_ALIKE = bytes.maketrans(b"123456789", b"000000000")
_MAY_STAY = re.compile(rb"[^\W\d]0/|[^\0-\x7f]")
"""Of a shape: a digit that may stay, as in v2, or letters that are not of ASCII."""
_SOME = 50
"""Names by which is told whether many differ in their numbers alone."""
_WEB = ("https", "http")


def kind_of(name: str) -> str:
    """The pattern of a URL or of the name of a page in a trace, by its text alone.

    It has the directory with its numbers masked, since pages of one directory are mostly made and
    changed alike, and of the last part what several pages can share: the word before a number, and
    the file extension. Origin, query and fragment do not matter. (In recorded histories the title
    of a document, such as "Privacy Policy", says nothing about its change rate.)

    >>> kind_of("https://example.org/blog/2024/05/a-title.html?page=2")
    'blog/#/#/*.html'
    >>> kind_of("docs/CVE-2014-3707"), kind_of("pep-0455"), kind_of("https://example.org/")
    ('docs/cve#', 'pep#', '')
    >>> kind_of("contrib/Example/Privacy Policy"), kind_of("https://example.org/privacy")
    ('contrib/example/*', 'privacy')
    """
    name = name.strip()
    scheme, _, rest = name.partition("://")
    if "?" in rest or "#" in rest:
        rest = rest.partition("?")[0].partition("#")[0]
    # Others may have no origin at all, or several.
    path = rest.partition("/")[2] if scheme in _WEB and "://" not in rest else _path_of(name)
    folders, _, last = path.casefold().strip("/").rpartition("/")
    if last.isascii():
        shape = last.encode().translate(_DIGITS_ALIKE).decode()
        masked = _masked_shape(shape) if "0" in shape else last
    else:
        masked = _masked(last)
    if not folders:
        return masked
    return _masked_folders(folders) + (_starred(last) if masked == last else masked)


def kinds_of(names: Sequence[str]) -> list[str]:
    """`kind_of` each; where many differ in their numbers alone, it takes a third of the time.

    >>> kinds_of(["https://example.org/item/12", "https://example.org/item/31"])
    ['item/#', 'item/#']
    """
    some = names[:_SOME]
    shapes = _shapes(names) if 2 * len({*_shapes(some)}) <= len(some) else []
    if len(shapes) != len(names):  # also where a name has several lines
        return [*map(kind_of, names)]
    kinds = {
        shape: kind_of(name)
        for shape, name in dict(zip(shapes, names, strict=True)).items()
        if not _MAY_STAY.search(shape)
    }
    return [
        kinds[shape] if shape in kinds else kind_of(name)
        for shape, name in zip(shapes, names, strict=True)
    ]


def _shapes(names: Sequence[str]) -> list[bytes]:
    """The names with `0` for each digit."""
    together = "\n".join(names).encode("utf-8", "surrogatepass")
    return together.translate(_DIGITS_ALIKE).split(b"\n")


def _path_of(name: str) -> str:
    """The path of any name."""
    if name.count("://") == 1 and (origin := _BEGIN.match(name)):
        path = name[origin.end() :]
    else:
        path = _ORIGIN.sub("", name)
    return path.partition("?")[0].partition("#")[0]


@lru_cache(65_536)
def _masked_folders(path: str) -> str:
    """The folders of a path, each masked, except that a single digit after a word stays, as in v2;
    with a slash after each.

    Many pages are in one folder, and many hosts have the same folders.
    """
    return "".join(
        f"{part if _NUMBERED_WORD.fullmatch(part) else _masked(part)}/"
        for part in path.split("/")
        if part
    )


@lru_cache(4_096)
def _masked_shape(shape: str) -> str:
    """`_masked` of a part in ASCII with `0` for each digit: which ones it has does not matter.

    Many pages differ in their numbers alone.
    """
    return _masked(shape)


def _masked(part: str) -> str:
    """A part of a path with `#` for a number at its end, `*` for a mixture such as p2ie-br32."""
    # To look at each character takes longer than all the rest.
    has_digits = _DIGIT.search(part) if part.isascii() else any(map(str.isdigit, part))
    if not has_digits:
        return part
    if numbered := _NUMBERED.fullmatch(part):
        return f"{numbered[1]}#{numbered[2] or ''}"
    return _starred(part)


def _starred(part: str) -> str:
    """`*` for a part of a path, but for its extension."""
    if "." not in part:
        return "*"
    return "*" + (ending[0] if (ending := _EXTENSION.search(part)) else "")
