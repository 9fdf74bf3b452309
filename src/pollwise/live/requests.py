"""What people ask of a watch, also while it runs: frozen values, and their JSON in the database."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any, TypeVar, get_args

from pollwise.checks import read_json
from pollwise.errors import InputError
from pollwise.sources.view import Kind
from pollwise.store.records import NewPage
from pollwise.web.urls import canonical, scope_of

__all__ = [
    "PAGES_AT_ONCE",
    "AddPages",
    "ChangePages",
    "ChangeSettings",
    "Effect",
    "LeaveHost",
    "MarkRead",
    "MaskPart",
    "RemovePages",
    "Request",
    "SignalPages",
    "UnmaskPart",
    "by_shard",
    "decode_answer",
    "decode_request",
    "described",
    "encode_answer",
    "encode_request",
    "in_parts",
    "joined",
    "pages_of",
]

T = TypeVar("T")

PAGES_AT_ONCE = 1000
"""Pages that are written together: polls wait for some hundredths of a second meanwhile."""


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
class ChangeSettings:
    """Settings of the watch that hold from now on, without a restart: see `WatchSettings`.

    None: as before.
    """

    budget: str | None = None
    shares: tuple[str, ...] | None = None
    keep: str | None = None
    quiet: tuple[str, ...] | None = None

    def told(self) -> dict[str, Any]:
        """What is told, by the names of `WatchSettings`."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class SignalPages:
    """The pages with these canonical URLs have changed, as far as somebody knows."""

    urls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LeaveHost:
    """Begin no poll of a politeness scope for so many seconds, as somebody else asks the host."""

    scope: str
    seconds: float


@dataclass(frozen=True, slots=True)
class UnmaskPart:
    """Let the masked part with this number (None: all) of a page count again, for good.

    With `text`, it is refused unless that is what the part had when it was found: numbers move up
    when another part is unmasked.
    """

    url: str
    number: int | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class MaskPart:
    """Whatever stands where the latest copy of a page has this text counts for no change.

    It is a block of text, or several in a row, as `diff` shows it.
    """

    url: str
    text: str


@dataclass(frozen=True, slots=True)
class MarkRead:
    """The changes with these numbers were read or, unless `read`, are to be read again.

    All up to `up_to` were read, too.
    """

    seqs: tuple[int, ...] = ()
    up_to: int = 0
    read: bool = True


Request = (
    AddPages
    | ChangePages
    | RemovePages
    | ChangeSettings
    | LeaveHost
    | SignalPages
    | UnmaskPart
    | MaskPart
    | MarkRead
)


@dataclass(frozen=True, slots=True)
class Effect:
    """What came of a request: the canonical URLs of its pages, each once and in one place.

    `unchanged` pages were already as was asked. `parts` are the beginnings of the texts that were
    masked or unmasked; `marked` changes were not marked so before. `listed` are those of the
    removed pages that a list brought which may be followed: its lines would bring them again.
    """

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    marked: int = 0
    listed: tuple[str, ...] = ()


_PLACES = ("added", "changed", "unchanged", "removed")
"""Where an effect tells of pages."""
_KINDS: dict[str, type[Request]] = {
    "add": AddPages,
    "change": ChangePages,
    "remove": RemovePages,
    "settings": ChangeSettings,
    "leave": LeaveHost,
    "signal": SignalPages,
    "unmask": UnmaskPart,
    "mask": MaskPart,
    "read": MarkRead,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def in_parts(request: Request) -> list[Request]:
    """The requests that a request for many pages is made as, one after the other.

    So polls go on meanwhile. Other requests are done as a whole or not at all.

    >>> urls = tuple(f"http://a.example/{number}" for number in range(2200))
    >>> [len(part.urls) for part in in_parts(RemovePages(urls))]
    [1000, 1000, 200]
    """
    match request:
        case AddPages(pages) | ChangePages(pages):
            return [type(request)(part) for part in _portions(pages)]
        case RemovePages(urls):
            return [RemovePages(part) for part in _portions(urls)]
    return [request]


def _portions(all_of: tuple[T, ...]) -> list[tuple[T, ...]]:
    begins = range(0, max(len(all_of), 1), PAGES_AT_ONCE)
    return [all_of[begin : begin + PAGES_AT_ONCE] for begin in begins]


def pages_of(request: Request) -> int:
    """How many pages a request is to add, change or remove.

    >>> pages_of(RemovePages(("http://a.example/",))), pages_of(MarkRead((1,)))
    (1, 0)
    """
    match request:
        case AddPages(pages) | ChangePages(pages):
            return len(pages)
        case RemovePages(urls):
            return len(urls)
    return 0


def by_shard(
    request: Request, shards: int, number_of: Callable[[str], int], named: int | None = None
) -> dict[int, Request]:
    """The requests to so many shards that a request to all of them is made as, by number.

    `number_of` gives that of a politeness scope. `InputError` for what shards cannot do, or what is
    asked of one of them and none is `named`.
    """
    match request:
        case MarkRead() if named is not None:
            return {named: request}
        case MarkRead():
            raise InputError(
                "the numbers of changes are of one shard: name it after --db, as `pollwise shards`"
                " tells"
            )
        case AddPages(pages) | ChangePages(pages):
            told = _grouped(pages, lambda page: number_of(scope_of(page.url)))
            return {number: type(request)(tuple(own)) for number, own in told.items()}
        case RemovePages(urls) | SignalPages(urls):
            grouped = _grouped(urls, lambda url: number_of(scope_of(url)))
            return {number: type(request)(tuple(own)) for number, own in grouped.items()}
        case UnmaskPart() | MaskPart():
            return {number_of(scope_of(request.url)): request}
        case LeaveHost():
            return {number_of(request.scope): request}
        case ChangeSettings(shares=None):
            return dict.fromkeys(range(shards), request)
    raise InputError("tags have no shares of the budget where a database is split: leave them out")


def _grouped(all_of: Iterable[T], number_of: Callable[[T], int]) -> dict[int, list[T]]:
    groups: dict[int, list[T]] = {}
    for one in all_of:
        groups.setdefault(number_of(one), []).append(one)
    return groups


def joined(effects: Sequence[Effect]) -> Effect:
    """What came of the parts of a request for pages; a page counts where it was named first.

    >>> joined([Effect(added=("a", "b")), Effect(added=("c",), unchanged=("a",))]).added
    ('a', 'b', 'c')
    """
    seen: set[str] = set()
    urls: dict[str, list[str]] = {place: [] for place in _PLACES}
    for effect in effects:
        parts = {place: getattr(effect, place) for place in _PLACES}
        for place, named in parts.items():
            urls[place] += [url for url in named if url not in seen]
        seen.update(*parts.values())
    told: dict[str, Any] = {place: tuple(named) for place, named in urls.items()}
    for name in ("parts", "listed"):
        told[name] = tuple(text for effect in effects for text in getattr(effect, name))
    return Effect(**told, marked=sum(effect.marked for effect in effects))


def encode_request(request: Request) -> str:
    """The request in JSON; `decode_request` gives the equal one back."""
    match request:
        case AddPages(pages) | ChangePages(pages):
            told: Any = [_told(page) for page in pages]
        case RemovePages(urls) | SignalPages(urls):
            told = list(urls)
        case ChangeSettings():
            told = request.told()
        case LeaveHost() | UnmaskPart() | MaskPart() | MarkRead():
            told = astuple(request)
    return json.dumps([_NAMES[type(request)], told])


def decode_request(text: str) -> Request:
    """The request of a text; `InputError` if it is none, or one of a later version of pollwise."""
    try:
        name, told = read_json(text)
        kind = _KINDS[name]
        if kind is ChangeSettings:
            return ChangeSettings(**{name: _SETTINGS[name](told[name]) for name in told})
        if kind is LeaveHost:
            scope, seconds = told
            return LeaveHost(_text(scope), _amount(seconds))
        if kind is UnmaskPart:
            url, number, text = told
            return UnmaskPart(
                canonical(url),
                None if number is None else _whole(number),
                None if text is None else _any_text(text),
            )
        if kind is MaskPart:
            url, text = told
            return MaskPart(canonical(url), _any_text(text))
        if kind is MarkRead:
            seqs, up_to, read = told
            return MarkRead(tuple(map(_whole, seqs)), _whole(up_to), _flag(read))
        if not told:
            raise ValueError("no page")
        if kind is RemovePages or kind is SignalPages:
            return kind(_texts(told))
        pages = tuple(map(_page, told))
        return AddPages(pages) if kind is AddPages else ChangePages(pages)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise InputError(
            "the process that polls does not know this request: start it anew with the present"
            " version of pollwise"
        ) from error


def encode_answer(answer: Effect | str) -> str:
    """The answer to a request in JSON: what came of it or, in words, why it was refused."""
    return json.dumps(asdict(answer) if isinstance(answer, Effect) else answer)


def decode_answer(text: str) -> Effect:
    """What came of a request; `InputError` with the reason if it was refused."""
    try:
        told = read_json(text)
        if not isinstance(told, str):
            marked = _whole(told.pop("marked", 0))
            return Effect(**{name: _texts(urls) for name, urls in told.items()}, marked=marked)
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(
            "the process that polls answers as another version does: start it anew with the"
            " present one"
        ) from error
    raise InputError(told)


def described(request: Request, effect: Effect) -> str:
    """What was done and what was so already, in a few words.

    >>> urls = ("http://a.example/", "http://b.example/")
    >>> described(RemovePages(urls), Effect(removed=urls))
    '2 pages removed: http://a.example/ and 1 more'
    """
    changed, unchanged = "set", "unchanged"
    match request:
        case SignalPages(signalled):
            return _count(signalled, "signalled")
        case ChangeSettings():
            told_now = request.told().items()
            parts = (f"{_SAID[name]} {_said(value)}" for name, value in told_now)
            return f"{', '.join(parts)} from now on"
        case UnmaskPart():
            return f"counts again from the next poll on: {'; '.join(effect.parts)}"
        case MaskPart():
            return f"counts no more: {'; '.join(effect.parts)}"
        case MarkRead(seqs, up_to, read):
            return f"{_marked(seqs, up_to)} marked as {'read' if read else 'unread'}"
        case LeaveHost(scope, seconds):
            return f"{scope} is left alone for {seconds:g} s, as a page of it is checked"
        case AddPages():
            unchanged = "watched already"
        case ChangePages(pages) if all(page.paused is True for page in pages):
            changed, unchanged = "paused", "paused already"
        case ChangePages(pages) if all(page.paused is False for page in pages):
            changed, unchanged = "resumed", "not paused"
    told = (
        (effect.added, "added"),
        (effect.changed, changed),
        (effect.unchanged, unchanged),
        (effect.removed, "removed"),
    )
    return "; ".join(_count(urls, what) for urls, what in told if urls)


def _count(urls: Sequence[str], what: str) -> str:
    if len(urls) == 1:
        return f"{what}: {urls[0]}"
    return f"{len(urls):,d} pages {what}: {urls[0]} and {len(urls) - 1:,d} more"


def _said(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else ", ".join(value) or "none"


def _marked(seqs: Sequence[int], up_to: int) -> str:
    changes = [] if not seqs else [f"{len(seqs):,d} change{'s' if len(seqs) > 1 else ''}"]
    return " and ".join([*changes, *([f"all changes up to {up_to}"] if up_to else [])])


def _told(page: NewPage) -> dict[str, Any]:
    """The fields of a page that are told."""
    told = ((name, getattr(page, name)) for name in _FIELDS)
    return {name: value for name, value in told if value is not None}


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


def _any_text(value: Any) -> str:
    """A text of a page, which may have anything in it."""
    if not isinstance(value, str):
        raise TypeError(f"no text: {value!r}")
    value.encode()  # lone surrogates cannot be stored
    return value


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**62:
        raise ValueError(f"no number: {value!r}")
    return value


def _interval(value: Any) -> float:
    seconds = float(value)
    if not 0 <= seconds < math.inf:
        raise ValueError(f"no interval: {value!r}")
    return seconds


def _source(value: Any) -> str:
    if value not in get_args(Kind):
        raise ValueError(f"nothing that a page is read as: {value!r}")
    return str(value)


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
    "render": _flag,
    "notify_when": _texts,
    "listed_in": _text,
    "name": _text,
    "source": _source,
}
"""Reads the fields of a page; anything may have been written into the database."""

_SETTINGS: dict[str, Callable[[Any], Any]] = {
    "budget": _text,
    "shares": _texts,
    "keep": _text,
    "quiet": _texts,
}
"""Reads settings."""
_SAID = {
    "budget": "the budget is",
    "shares": "the shares are",
    "keep": "versions that are kept:",
    "quiet": "quiet hours:",
}
"""The settings in words."""
