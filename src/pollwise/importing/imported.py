"""What a file of another program says of pages to watch."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from pollwise.errors import InputError
from pollwise.extras import require_extra
from pollwise.store.records import NewPage
from pollwise.texts import printable
from pollwise.types import Observation
from pollwise.web.wishes import LONGEST_NAME, read_wishes, wished_page

__all__ = ["Imported", "each_once", "page_of", "tag_of", "usable", "without_filters"]


@dataclass(frozen=True, slots=True)
class Imported:
    """The pages of a file, what of it was left out, in words, and what is known of the past.

    `origin` names the kind of file for people. `checks` has, by URL, the past checks of a page in
    the order of their times, the first copy first: CHANGED or UNCHANGED, without a page id (-1).
    """

    origin: str
    pages: tuple[NewPage, ...]
    left_out: tuple[str, ...] = ()
    checks: Mapping[str, tuple[Observation, ...]] = field(default_factory=dict)


def each_once(read: Imported) -> Imported:
    """The same with each page once, where a file has it several times: with all of its tags.

    Else the first counts, also of the parts that are compared, which is said. It is paused if all
    of them are, and rendered if one is.
    """
    pages: dict[str, NewPage] = {}
    left_out: dict[str, None] = {}
    for page in read.pages:
        first = pages.setdefault(page.url, page)
        if first is page:
            continue
        tags = tuple(dict.fromkeys((*(first.tags or ()), *(page.tags or ()))))
        pages[page.url] = replace(
            first,
            tags=tags or None,
            name=first.name or page.name,
            paused=first.paused and page.paused,
            render=first.render or page.render,
        )
        if (page.select, page.ignore) != (first.select, first.ignore):
            left_out[
                f"{page.url}: it is there several times, and the filters of the first hold"
            ] = None
    return replace(read, pages=tuple(pages.values()), left_out=(*read.left_out, *left_out))


def page_of(
    url: str,
    *,
    tags: Sequence[str] = (),
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    paused: bool = False,
    name: object = None,
    render: bool = False,
) -> NewPage:
    """A page by a URL as people write it; `InputError` for a URL or a selector of no use.

    What is empty is not told, so that a page which is watched already keeps its own. A `name` that
    is no text, or the URL again, is none; one that is too long is cut.
    """
    url = url.strip()
    called = printable(name)[:LONGEST_NAME] if isinstance(name, str) else ""
    return wished_page(
        url,
        tags=tags or None,
        select=select or None,
        ignore=ignore or None,
        paused=paused or None,
        render=render or None,
        name=called if called not in ("", url) else None,
    )


def usable(selectors: Sequence[str], dropped: list[str]) -> list[str]:
    """Those of the selectors that can be read here; the others join the `dropped`.

    Other programs know more of XPath, and of regular expressions. `InputError` without the extra
    that reads selectors.
    """
    if selectors:
        require_extra("text", f"the filter {selectors[0]!r}", "let all of the page count")
    kept = []
    for selector in selectors:
        try:
            read_wishes(select=(selector,))
        except InputError:
            dropped.append(repr(selector))
        else:
            kept.append(selector)
    return kept


def without_filters(
    url: str, filters: Sequence[str], select: Sequence[str], ignore: Sequence[str]
) -> str:
    """A line on filters that have no counterpart, with what counts of the page instead.

    >>> without_filters("http://a/", ["jq"], [], [])
    'http://a/: the filter jq has no counterpart: all of the page counts'
    >>> without_filters("http://a/", ["jq", "sed"], ["main", "h1"], ["nav"])
    'http://a/: the filters jq, sed have no counterpart: what counts is main, h1 without nav'
    """
    them = f"filter {filters[0]} has" if len(filters) == 1 else f"filters {', '.join(filters)} have"
    counts = f"what counts is {', '.join(select)}" if select else "all of the page counts"
    rest = f" without {', '.join(ignore)}" if ignore else ""
    return f"{url}: the {them} no counterpart: {counts}{rest}"


@lru_cache(1000)  # tags come again and again
def tag_of(name: str) -> str:
    """A name of a folder or group as a tag, which is one word; empty if nothing is left of it.

    >>> tag_of(" Daily  news, local "), tag_of(", ")
    ('Daily-news-local', '')
    """
    seen = "".join(letter if letter.isprintable() else " " for letter in name)
    return "-".join(filter(None, re.split(r"[\s,]+", seen)))
