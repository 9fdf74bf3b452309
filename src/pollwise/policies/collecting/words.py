"""What a URL and an anchor text say in words and directories.

Words of links and URLs tell what a page is about before it is fetched: J. Rennie, A. McCallum:
Using reinforcement learning to spider the Web efficiently, ICML 1999; S. Chakrabarti, M. van den
Berg, B. Dom: Focused crawling, Computer Networks 31, 1999.
"""

import re
from itertools import accumulate, chain, pairwise
from typing import NamedTuple
from urllib.parse import unquote

__all__ = ["UrlParts", "phrases", "url_parts"]

_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|\d+")
_ENDING = re.compile(r"\.[A-Za-z]{2,5}$")
_MOST_WORDS = 24
"""Words of one text; the rest is ignored."""
_MOST_DIRECTORIES = 16


class UrlParts(NamedTuple):
    """The host of a URL, its directories (outermost first, the host not among them), its words.

    The last directory is the page's own: that of `/a/b.html` is `a/b`, which has the pages below
    `/a/b/` too, and that of `/a/index.html` is `a`. A query is a directory of its path.
    """

    host: str
    directories: tuple[str, ...]
    words: tuple[str, ...]


def url_parts(url: str) -> UrlParts:
    """Take a URL apart; any text will do.

    >>> url_parts("http://h.example/random/normalDistribution.html")
    UrlParts(host='h.example', directories=('random', 'random/normalDistribution'), \
words=('random', 'normal', 'distribution', 'normal distribution'))
    """
    host, _, path = url.partition("://")[2].partition("/")
    path, _, query = path.partition("#")[0].partition("?")
    *inner, last = unquote(path).split("/")
    stem = _ENDING.sub("", last) if "." in last else last
    segments = [segment for segment in inner if segment][: _MOST_DIRECTORIES - 1]
    if stem not in ("", "index"):
        segments.append(stem)
    if query:
        segments.append(unquote(query))
    directories = tuple(accumulate(segments, "{}/{}".format))
    found = dict.fromkeys(chain.from_iterable(map(phrases, segments)))
    return UrlParts(host, directories, tuple(found))


def phrases(text: str) -> list[str]:
    """The words of a text in lower case, then each pair of neighbours.

    >>> phrases("Java's FileReader 2")
    ['java', 's', 'file', 'reader', '2', 'java s', 's file', 'file reader', 'reader 2']
    """
    words = [word.lower() for word in _WORD.findall(text)[:_MOST_WORDS]]
    return words + [f"{one} {two}" for one, two in pairwise(words)]
