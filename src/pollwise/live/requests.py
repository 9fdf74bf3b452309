"""What people ask of a watch, also while it runs: frozen values, and their JSON in the database."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pollwise.checks import read_json
from pollwise.errors import InputError
from pollwise.store.records import NewPage
from pollwise.web.urls import canonical

__all__ = [
    "AddPages",
    "ChangeBudget",
    "ChangePages",
    "RemovePages",
    "Request",
    "decode_request",
    "described",
    "encode_request",
]


@dataclass(frozen=True, slots=True)
class AddPages:
    """Watch these pages; of those that are watched already, what is told holds from now on."""

    pages: tuple[NewPage, ...]


@dataclass(frozen=True, slots=True)
class ChangePages:
    """What users want of these pages from now on, which are watched already."""

    pages: tuple[NewPage, ...]


@dataclass(frozen=True, slots=True)
class RemovePages:
    """Watch the pages with these canonical URLs no longer."""

    urls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangeBudget:
    """Another budget from now on, as `parse_budget` reads it."""

    budget: str


Request = AddPages | ChangePages | RemovePages | ChangeBudget

_KINDS: dict[str, type[Request]] = {
    "add": AddPages,
    "change": ChangePages,
    "remove": RemovePages,
    "budget": ChangeBudget,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def encode_request(request: Request) -> str:
    """The request in JSON; `decode_request` gives the equal one back."""
    match request:
        case AddPages(pages) | ChangePages(pages):
            told: Any = [_told(page) for page in pages]
        case RemovePages(urls):
            told = list(urls)
        case ChangeBudget(budget):
            told = budget
    return json.dumps([_NAMES[type(request)], told])


def decode_request(text: str) -> Request:
    """The request of a text; `InputError` if it is none, or one of a later version of pollwise."""
    try:
        name, told = read_json(text)
        kind = _KINDS[name]
        if kind is ChangeBudget:
            return ChangeBudget(_text(told))
        if not told:
            raise ValueError("no page")
        if kind is RemovePages:
            return RemovePages(_texts(told))
        pages = tuple(map(_page, told))
        return AddPages(pages) if kind is AddPages else ChangePages(pages)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise InputError(
            "the process that polls does not know this request: start it anew with the present"
            " version of pollwise"
        ) from error


def described(request: Request) -> str:
    """What was asked for, once it was done, in a few words.

    >>> described(RemovePages(("http://a.example/", "http://b.example/")))
    '2 pages removed: http://a.example/ and 1 more'
    """
    match request:
        case AddPages(pages):
            return _count([page.url for page in pages], "added")
        case RemovePages(removed):
            return _count(removed, "removed")
        case ChangeBudget(budget):
            return f"the budget is {budget} from now on"
        case ChangePages(pages):
            urls = [page.url for page in pages]
            if all(page.paused is True for page in pages):
                return _count(urls, "paused")
            if all(page.paused is False for page in pages):
                return _count(urls, "resumed")
            return _count(urls, "set")


def _count(urls: Sequence[str], done: str) -> str:
    if len(urls) == 1:
        return f"{done}: {urls[0]}"
    return f"{len(urls):,d} pages {done}: {urls[0]} and {len(urls) - 1:,d} more"


def _told(page: NewPage) -> dict[str, Any]:
    """The fields of a page that are told."""
    return {name: value for name, value in asdict(page).items() if value is not None}


def _page(told: Mapping[str, Any]) -> NewPage:
    """The page with these fields; the caller catches what is raised for any other JSON."""
    return NewPage(**{name: _FIELDS[name](value) for name, value in told.items()})


def _text(value: Any) -> str:
    if not (isinstance(value, str) and value.isprintable()):
        raise ValueError(f"no text: {value!r}")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"no list: {value!r}")
    return tuple(map(_text, value))


def _amount(value: Any) -> float:
    amount = float(value)
    if not 0 < amount < math.inf:
        raise ValueError(f"no amount: {value!r}")
    return amount


def _interval(value: Any) -> float:
    seconds = float(value)
    if not seconds >= 0:
        raise ValueError(f"no interval: {value!r}")
    return seconds


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"neither true nor false: {value!r}")
    return value


_FIELDS: dict[str, Callable[[Any], Any]] = {
    "url": canonical,
    "scope": _text,
    "weight": _amount,
    "cost": _amount,
    "longest_interval": _interval,
    "shortest_interval": _interval,
    "paused": _flag,
    "tags": _texts,
    "select": _texts,
    "ignore": _texts,
    "listed_in": _text,
}
"""Reads the fields of a page; anything may have been written into the database."""
