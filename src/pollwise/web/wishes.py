"""What users want of a page, as they write it on the command line, in lists and configurations."""

import math
import re
from collections.abc import Sequence

from pollwise.errors import InputError
from pollwise.scheduler.bounds import read_bounds
from pollwise.store.records import NewPage
from pollwise.web.urls import canonical, scope_of

__all__ = ["read_tags", "wished_page"]

_TAG = re.compile(r"[^\s,]+")


def wished_page(
    url: str,
    *,
    weight: float | None = None,
    cost: float | None = None,
    at_least: str | None = None,
    at_most: str | None = None,
    tags: Sequence[str] | None = None,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    paused: bool | None = None,
) -> NewPage:
    """A page with what is wanted of it; None: not told. An empty text or list takes a wish back.

    `at_least` and `at_most` are frequencies such as 1/day. `InputError` for what cannot be used.
    """
    for name, value in (("weight", weight), ("cost", cost)):
        if value is not None and not 0 < value < math.inf:
            raise InputError(f"{name} {value:g}: expected a number above 0, such as {name} 2")
    longest, shortest = read_bounds(at_least or None, at_most or None)
    address = canonical(url)
    return NewPage(
        address,
        scope_of(address),
        weight,
        cost,
        0.0 if at_least == "" else longest,
        0.0 if at_most == "" else shortest,
        paused,
        None if tags is None else read_tags(tags),
        None if select is None else _read_selectors(select, "select"),
        None if ignore is None else _read_selectors(ignore, "ignore"),
    )


def read_tags(texts: Sequence[str]) -> tuple[str, ...]:
    """The tags of texts with commas between them, each once; `InputError` for what is none.

    >>> read_tags(["news,daily", "news"])
    ('news', 'daily')
    """
    tags = [tag.strip() for text in texts for tag in text.split(",") if text.strip()]
    for tag in tags:
        if not (_TAG.fullmatch(tag) and tag.isprintable()):
            raise InputError(f"tags: {tag!r} is no word; write them as news,daily")
    return tuple(dict.fromkeys(tags))


def _read_selectors(texts: Sequence[str], where: str) -> tuple[str, ...]:
    selectors = tuple(text.strip() for text in texts if text.strip())
    for text in selectors:
        if not text.isprintable():
            raise InputError(f"{where}: a selector is one line of text, and {text[:80]!r} is none")
    if selectors:
        # Here, as few need the library that reads them.
        from pollwise.sources.selectors import read_selectors

        read_selectors(selectors, where)
    return selectors
