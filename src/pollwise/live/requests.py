"""What people ask of a watch, also while it runs: frozen values, and their JSON in the database."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from pollwise.checks import read_json
from pollwise.errors import InputError
from pollwise.store.records import NewPage

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
_TUPLES = ("tags", "select", "ignore")


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
            return ChangeBudget(str(told))
        if kind is RemovePages:
            return RemovePages(tuple(map(str, told)))
        pages = tuple(_page(**page) for page in told)
        return AddPages(pages) if kind is AddPages else ChangePages(pages)
    except (ValueError, TypeError, KeyError) as error:
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


def _page(**told: Any) -> NewPage:
    values = {name: tuple(told[name]) for name in _TUPLES if name in told}
    if unknown := told.keys() - {field.name for field in fields(NewPage)}:
        raise ValueError(f"no field of a page: {unknown}")
    return NewPage(**{**told, **values})
