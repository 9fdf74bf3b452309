"""What is told after something was done: how many pages, settings or changes it came to."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pollwise.live.requests import Effect

__all__ = ["Deeds", "added", "came_of", "code_of", "told_of"]

Deeds = Mapping[str, int]
"""How many things were done, by the words of `_DEEDS`; 0: nothing is told of it."""


@dataclass(frozen=True, slots=True)
class _Deed:
    """What happened to a `thing`, or to several; what follows from it is told `besides`."""

    one: str
    several: str
    thing: str = "page"
    besides: str = ""


_DEEDS = {
    "added": _Deed("added", "added"),
    "set": _Deed("was watched already and is set as told", "were watched already and are set so"),
    "known": _Deed("was watched already", "were watched already"),
    "paused": _Deed("paused", "paused"),
    "resumed": _Deed("resumed", "resumed"),
    "tagged": _Deed("has other tags now", "have other tags now"),
    "alike": _Deed("was so already", "were so already"),
    "removed": _Deed("removed", "removed", besides="Versions and changes are kept."),
    "signalled": _Deed("is polled sooner", "are polled sooner"),
    "settings": _Deed("is set from now on", "are set from now on", "setting"),
    "read": _Deed("marked as read", "marked as read", "change"),
    "unread": _Deed("marked as unread", "marked as unread", "change"),
    "marked": _Deed("was so already", "were so already", "change"),
    "masked": _Deed("is left out from now on", "are left out from now on", "part"),
    "unmasked": _Deed("counts again from the next poll on", "count again from then on", "part"),
}
_MOST_DEEDS = 4
_PART = re.compile(r"([a-z]+)-([1-9][0-9]{0,6})")


def added(effect: Effect) -> Deeds:
    """What came of adding pages."""
    pages = {"added": effect.added, "set": effect.changed, "known": effect.unchanged}
    return {word: len(urls) for word, urls in pages.items()}


def came_of(word: str, effect: Effect) -> Deeds:
    """What came of something else, by its word."""
    match word:
        case "removed":
            return {word: len(effect.removed)}
        case "masked" | "unmasked":
            return {word: len(effect.parts)}
        case "read" | "unread":
            return {word: effect.marked} if effect.marked else {"marked": 1}
        case "signalled":
            return {word: 1}
    return {word: len(effect.changed), "alike": len(effect.unchanged)}


def code_of(deeds: Deeds) -> str:
    """The deeds as they stand in an address.

    >>> code_of({"added": 3, "set": 0, "known": 1})
    'added-3.known-1'
    """
    assert deeds.keys() <= _DEEDS.keys()
    return ".".join(f"{word}-{number}" for word, number in deeds.items() if number)


def told_of(code: str, first_copies: str = "") -> str:
    """What the deeds in an address came to, in words; empty for what is none.

    Where pages were added, `first_copies` says when theirs are fetched.

    >>> told_of("added-3.known-1", "First copies are fetched in a moment.")
    '3 pages added, 1 was watched already. First copies are fetched in a moment.'
    >>> told_of("known-1", "First copies are fetched in a moment."), told_of("<b>")
    ('1 page was watched already.', '')
    """
    found = [_PART.fullmatch(part) for part in code.split(".", _MOST_DEEDS)]
    named = [(_DEEDS.get(one[1]), int(one[2])) for one in found if one is not None]
    if len(named) < len(found):
        return ""
    parts: list[str] = []
    besides: list[str] = []
    for deed, number in named:
        if deed is None:
            return ""
        thing = "" if parts else f" {deed.thing}" if number == 1 else f" {deed.thing}s"
        parts.append(f"{number:,d}{thing} {deed.one if number == 1 else deed.several}")
        besides.append(first_copies if deed is _DEEDS["added"] else deed.besides)
    return " ".join([f"{', '.join(parts)}.", *filter(None, besides)])
