"""The parts of a document that count, or that do not, as people name them.

==================  ============================================  ==============================
a selector          names                                         of
==================  ============================================  ==============================
`main > article`    what this CSS selector matches                HTML
`xpath://h2/a`      what this XPath 1.0 expression finds          HTML, XML
`json:$.items`      what this JSONPath (RFC 9535) finds           JSON
`re:Build \\d+`     what matches this expression of RE2, which    text of any kind
                    takes linear time and so cannot hang
==================  ============================================  ==============================
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from pollwise.errors import InputError
from pollwise.extras import require_extra

__all__ = ["Language", "Selector", "compiled", "read_selectors"]

Language = Literal["css", "xpath", "json", "re"]


@dataclass(frozen=True, slots=True)
class Selector:
    """An `expression` in a `language`; `str` of it is what people write."""

    language: Language
    expression: str

    def __str__(self) -> str:
        return self.expression if self.language == "css" else f"{self.language}:{self.expression}"


def read_selectors(texts: Sequence[str], where: str) -> tuple[Selector, ...]:
    """The selectors that people wrote, checked.

    `InputError` if one cannot be read, or needs an extra that is not installed; it begins with
    `where` they stand, such as `--select`.

    >>> [selector.language for selector in read_selectors(["main", "xpath://h2"], "--select")]
    ['css', 'xpath']
    """
    if texts:  # once for all of them, as it takes longer than to read one
        require_extra("text", f"{where} {texts[0]!r}", "let all of the page count")
    return tuple(_read(text, where) for text in texts)


def _read(text: str, where: str) -> Selector:
    selector = _split(text.strip())
    if not selector.expression:
        raise InputError(f"{where}: an empty selector; name a part, such as 'main'")
    if not text.isprintable():
        raise InputError(f"{where}: {text!r} has characters that cannot be seen; leave them out")
    try:
        compiled(selector)
    except ValueError as error:
        raise InputError(f"{where}: {text!r} is no {_NAMES[selector.language]}{error}") from error
    return selector


def _split(text: str) -> Selector:
    for language in get_args(Language)[1:]:
        prefix = f"{language}:"
        if text.startswith(prefix):
            return Selector(language, text.removeprefix(prefix).strip())
    return Selector("css", text)


@lru_cache(maxsize=256)
def compiled(selector: Selector) -> Any:
    """What the library of the language makes of an expression; `ValueError` if it is none."""
    return _COMPILERS[selector.language](selector.expression)


def _css(expression: str) -> str:
    try:
        LexborHTMLParser("").css(expression)
    except SelectolaxError as error:
        raise ValueError("; others begin with xpath:, json: or re:") from error
    return expression


def _xpath(expression: str) -> Any:
    from lxml import etree

    try:
        path = etree.XPath(expression)
        found = path(etree.Element("nothing"))
    except etree.XPathError as error:
        raise ValueError(f": {error}") from error
    if not isinstance(found, list):
        raise ValueError(" of nodes: it finds a number, a text or a truth, not parts of a page")
    if any(isinstance(node, tuple) for node in found):
        raise ValueError(" of parts of a page: it finds namespaces")
    # The library looks names up only where a predicate runs, which in a tree as bare it does not.
    names = _LITERAL.sub('""', expression)
    for prefix, name in _CALL.findall(names):
        if prefix or name not in _CALLED:
            raise ValueError(f": XPath 1.0 has no function {prefix}{name}()")
    if prefixes := set(_PREFIX.findall(names)) - {"xml"}:
        raise ValueError(f": no namespace is known by the prefix {min(prefixes)}")
    if "$" in names:
        raise ValueError(": there are no variables")
    return path


def _jsonpath(expression: str) -> Any:
    import jsonpath

    try:
        return jsonpath.compile(expression)
    except jsonpath.JSONPathError as error:
        raise ValueError(f": {str(error).splitlines()[0]}") from error


def _pattern(expression: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        pattern = re2.compile(expression, options)
    except re2.error as error:
        raise ValueError(f": {error.args[0].decode(errors='replace')}") from error
    if pattern.search("") is not None:
        raise ValueError(" that names a part: it matches the empty text")
    return pattern


_LITERAL = re.compile("\"[^\"]*\"|'[^']*'")
_CALL = re.compile(r"([\w.-]+:(?!:))?([\w.-]+)\s*\(")
_PREFIX = re.compile(r"([\w.-]+):(?!:)(?=[\w*])")
_CALLED = frozenset(
    """
    last position count id local-name namespace-uri name string concat starts-with contains
    substring-before substring-after substring string-length normalize-space translate boolean not
    true false lang number sum floor ceiling round
    comment text processing-instruction node
    and or div mod
    """.split()  # noqa: SIM905
)
"""What may stand before a parenthesis in XPath 1.0: functions, types of nodes, and operators."""

_NAMES: dict[Language, str] = {
    "css": "CSS selector",
    "xpath": "XPath expression",
    "json": "JSONPath",
    "re": "regular expression of RE2 (no look-around, no back reference)",
}
_COMPILERS: dict[Language, Callable[[str], Any]] = {
    "css": _css,
    "xpath": _xpath,
    "json": _jsonpath,
    "re": _pattern,
}
