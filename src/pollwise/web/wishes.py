"""What users want of a page, as they write it on the command line, in lists and configurations."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pollwise.errors import InputError
from pollwise.scheduler.bounds import read_bounds
from pollwise.store.records import NewPage
from pollwise.texts import plain
from pollwise.web.urls import located

__all__ = ["LEAST", "LONGEST_NAME", "MOST", "completed", "read_tags", "read_wishes", "wished_page"]

LONGEST_NAME = 200
"""Characters of the name of a page."""

LEAST, MOST = 1e-9, 1e9
"""Of a weight or a cost: their quotients are far from the ends of numbers in 32 bits."""

_TAG = re.compile(r"[^\s,]+")


def wished_page(url: str, **told: Any) -> NewPage:
    """A page with what is wanted of it, told as to `read_wishes`; `InputError` also for the URL."""
    wishes = read_wishes(**told) if told else {}
    return NewPage(*located(url), **wishes)


def completed(page: NewPage, wishes: Mapping[str, Any]) -> NewPage:
    """The page with what `read_wishes` gave where nothing is told of it; `InputError` if the two
    do not go together.
    """
    more = {name: value for name, value in wishes.items() if getattr(page, name) is None}
    page = replace(page, **more)
    if page.longest_interval and page.longest_interval < (page.shortest_interval or 0.0):
        raise InputError(
            f"of {page.url}, at-least asks for more polls than at-most allows: change one of them"
        )
    return page


def read_wishes(
    *,
    weight: float | None = None,
    cost: float | None = None,
    at_least: str | None = None,
    at_most: str | None = None,
    tags: Sequence[str] | None = None,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    render: bool | None = None,
    paused: bool | None = None,
    name: str | None = None,
    notify_when: Sequence[str] | None = None,
) -> dict[str, Any]:
    """What is wanted of pages, as fields of `NewPage`; None: not told. An empty text or list takes
    a wish back.

    `at_least` and `at_most` are frequencies such as 1/day. `InputError` for what cannot be used.
    """
    for key, value in (("weight", weight), ("cost", cost)):
        if value is not None and not 0 < value < math.inf:
            raise InputError(f"{key} {value:g}: expected a number above 0, such as {key} 2")
        if value is not None and not LEAST <= value <= MOST:
            expected = f"expected a number from {plain(LEAST)} to {MOST:,.0f}"
            raise InputError(f"{key} {value:g}: {expected}")
    longest, shortest = read_bounds(at_least or None, at_most or None)
    return {
        "weight": weight,
        "cost": cost,
        "longest_interval": 0.0 if at_least == "" else longest,
        "shortest_interval": 0.0 if at_most == "" else shortest,
        "paused": paused,
        "tags": None if tags is None else read_tags(tags),
        "select": None if select is None else _read_selectors(select, "select"),
        "ignore": None if ignore is None else _read_selectors(ignore, "ignore"),
        "render": render,
        "name": None if name is None else _read_name(name),
        "notify_when": None if notify_when is None else _read_conditions(notify_when),
    }


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


def _read_name(text: str) -> str:
    name = text.strip()
    if not name.isprintable() or len(name) > LONGEST_NAME:
        raise InputError(
            f"name {name[:40]!r}: expected one line of text of at most {LONGEST_NAME} characters"
        )
    return name


def _read_conditions(texts: Sequence[str]) -> tuple[str, ...]:
    conditions = tuple(" ".join(text.split()) for text in texts if text.strip())
    if conditions:
        # Here, as few have any.
        from pollwise.sources.conditions import read_conditions
        from pollwise.sources.legible import without_unseen

        for text in conditions:
            if not without_unseen(text).isprintable():
                raise InputError(
                    f"notify-when {text[:80]!r}: it has characters that cannot be shown; leave"
                    " them out"
                )
        read_conditions(conditions, "notify-when")
    return conditions


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
