"""What goes into the scheduler and what comes out; also the format of the event log.

An event log has one JSON array a line, which `encode` writes and `decode` reads: the kind of the
event, then its fields in the order of its class. Fed to a scheduler in the same initial state, the
events of a log give the same commands again.
"""

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields, replace
from operator import attrgetter
from typing import Any, get_args

import numpy as np

from pollwise.errors import InputError
from pollwise.types import Item, Links, Observation, Outcome, Page

__all__ = [
    "Added",
    "Aimed",
    "Budgeted",
    "Command",
    "Event",
    "HostBlocked",
    "HostFreed",
    "HostPaced",
    "Linked",
    "PolicyReady",
    "Poll",
    "Polled",
    "Removed",
    "Rescored",
    "SavedUp",
    "Signalled",
    "Staffed",
    "Tick",
    "Together",
    "Unanswered",
    "Updated",
    "WakeAt",
    "decode",
    "encode",
    "page_of_row",
    "page_row",
]


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed; nothing else happened."""

    now: float


@dataclass(frozen=True, slots=True)
class Polled:
    """Polls have ended, well or badly."""

    now: float
    observations: tuple[Observation, ...]


@dataclass(frozen=True, slots=True)
class Added:
    """Pages to watch from now on."""

    now: float
    pages: tuple[Page, ...]


@dataclass(frozen=True, slots=True)
class Removed:
    """Pages to watch no longer."""

    now: float
    page_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Updated:
    """Pages of which users want something else: their weights, costs, bounds, or a pause."""

    now: float
    pages: tuple[Page, ...]


@dataclass(frozen=True, slots=True)
class Budgeted:
    """The budget from now on, as the fields of a `Budget`, and the shares of tags in it."""

    now: float
    rate: float
    burst: float
    shares: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Signalled:
    """Somebody knew at the time `at` that pages had changed: a sitemap, a webhook, a user."""

    now: float
    page_ids: tuple[int, ...]
    at: float


@dataclass(frozen=True, slots=True)
class SavedUp:
    """What the budget allows in so many seconds may be spent at once, on each page once at most."""

    now: float
    seconds: float


@dataclass(frozen=True, slots=True)
class HostBlocked:
    """A politeness scope to be left alone until a time (429 or 503 with Retry-After)."""

    now: float
    scope: str
    until: float


@dataclass(frozen=True, slots=True)
class HostFreed:
    """A poll has its answer, but waits for so many seconds and fetches its page again.

    Until then the host need not wait for the end of the poll.
    """

    now: float
    page_id: int
    seconds: float


@dataclass(frozen=True, slots=True)
class HostPaced:
    """A politeness scope that asked for a delay in seconds between polls (Crawl-delay)."""

    now: float
    scope: str
    delay: float


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The poll of a page that is told next had no answer: its host or the network may be away."""

    now: float
    page_id: int


@dataclass(frozen=True, slots=True)
class Linked:
    """The links that a page had at its latest poll."""

    now: float
    page_id: int
    links: Links


@dataclass(frozen=True, slots=True)
class Rescored:
    """New relevances of pages, which are no longer those of their latest polls."""

    now: float
    page_ids: tuple[int, ...]
    relevances: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Aimed:
    """The terms of the topic of a collection and their weights, as they are known by now."""

    now: float
    terms: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Staffed:
    """The most polls that may be under way at a time from now on."""

    now: float
    polls: int


@dataclass(frozen=True, slots=True)
class PolicyReady:
    """The policy can be asked from now on: until now it was being compiled."""

    now: float


@dataclass(frozen=True, slots=True)
class Together:
    """Events (not `Together` themselves) to take in as a whole before the next poll starts."""

    now: float
    events: "tuple[Event, ...]"


Event = (
    Tick
    | Polled
    | Added
    | Removed
    | Updated
    | Budgeted
    | Signalled
    | SavedUp
    | HostBlocked
    | HostFreed
    | HostPaced
    | Unanswered
    | Linked
    | Rescored
    | Aimed
    | Staffed
    | PolicyReady
    | Together
)


@dataclass(frozen=True, slots=True)
class Poll:
    """Poll this page now; it is leased until it is observed or the lease runs out."""

    page_id: int


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Send a `Tick` at this time, unless another event comes first (infinite: none is needed)."""

    time: float


Command = Poll | WakeAt

_NO_PAGE = astuple(Page(-1))
_ALWAYS_SAID = 8  # fields of a page, up to its kind
_KINDS: dict[str, type[Event]] = {kind.__name__: kind for kind in get_args(Event)}


def encode(event: Event) -> str:
    """One line of the event log; `decode` gives the equal event back."""
    return json.dumps(_row(event), separators=(",", ":"))


def _row(event: Event) -> list[Any]:
    kind = type(event).__name__
    if isinstance(event, Together):
        return [kind, event.now, [_row(one) for one in event.events]]
    if isinstance(event, Linked):
        links = event.links
        texts = [links.anchors, links.places, *([links.around] if links.around else [])]
        return [kind, event.now, event.page_id, links.targets.tolist(), *texts]
    if isinstance(event, Added | Updated):
        return [kind, event.now, [page_row(page) for page in event.pages]]
    if isinstance(event, Budgeted) and not event.shares:
        return [kind, event.now, event.rate, event.burst]
    if isinstance(event, Polled):
        return [kind, event.now, [_observation_row(one) for one in event.observations]]
    # The fields of others hold no classes: they need not be copied.
    return [kind, *(getattr(event, field.name) for field in fields(event))]


_fields_of = attrgetter(*(field.name for field in fields(Page)))
_fields_of_observation = attrgetter(*(field.name for field in fields(Observation)))
_ITEMS = [field.name for field in fields(Observation)].index("items")


def _observation_row(observation: Observation) -> tuple[Any, ...]:
    """As `astuple` gives it, which would copy each field."""
    row: tuple[Any, ...] = _fields_of_observation(observation)
    if observation.items is None:
        return row
    items = tuple(map(astuple, observation.items))
    return (*row[:_ITEMS], items, *row[_ITEMS + 1 :])


def page_row(page: Page) -> tuple[Any, ...]:
    """The fields of a page for `page_of_row`, but for the last ones that say nothing, as most say.

    `astuple` would copy each field, which takes thirty times as long.
    """
    row: tuple[Any, ...] = _fields_of(page)
    if row[_ALWAYS_SAID:] == _NO_PAGE[_ALWAYS_SAID:]:  # as most
        return row[:_ALWAYS_SAID]
    said = len(row)
    while said > _ALWAYS_SAID and row[said - 1] == _NO_PAGE[said - 1]:
        said -= 1
    return row[:said]


def decode(line: str) -> Event:
    """The event of one line of the log; `InputError` where the line is no event."""
    try:
        return _event(json.loads(line))
    except (ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
        raise InputError(
            f"not an event: {line[:80]!r} ({error}); expected a JSON array such as"
            ' ["Tick",1.5]: is this an event log of pollwise?'
        ) from error


def _event(row: list[Any]) -> Event:
    """The event of a row that `_row` made; errors of many kinds for any other row."""
    match row:
        case ["Polled", now, rows]:
            return Polled(now, tuple(map(_observation, rows)))
        case ["Added", now, rows]:
            return Added(now, tuple(map(page_of_row, rows)))
        case ["Updated", now, rows]:
            return Updated(now, tuple(map(page_of_row, rows)))
        case ["Budgeted", now, rate, burst, *shares]:
            return Budgeted(now, rate, burst, *(tuple(map(tuple, pairs)) for pairs in shares))
        case ["Removed", now, page_ids]:
            return Removed(now, tuple(page_ids))
        case ["Signalled", now, page_ids, at]:
            return Signalled(now, tuple(page_ids), at)
        case ["Linked", now, page_id, targets, *texts]:
            return Linked(now, page_id, Links(np.array(targets, np.int64), *map(tuple, texts)))
        case ["Rescored", now, page_ids, relevances]:
            return Rescored(now, tuple(page_ids), tuple(relevances))
        case ["Aimed", now, terms]:
            return Aimed(now, tuple((term, weight) for term, weight in terms))
        case ["Together", now, rows]:
            events = tuple(map(_event, rows))
            if any(isinstance(event, Together) for event in events):
                raise ValueError("Together within Together")
            return Together(now, events)
        case [kind, *fields]:
            return _KINDS[kind](*fields)
    raise ValueError("no array of an event's kind and fields")


def page_of_row(row: Sequence[Any]) -> Page:
    """The page of a row that `page_row` made, also in JSON; rows may lack the last fields."""
    values: list[Any] = [tuple(value) if isinstance(value, list) else value for value in row]
    return Page(*values)


def _observation(row: list[Any]) -> Observation:
    """The observation of a row that `astuple` made; rows of earlier versions are shorter."""
    page_id, polled_at, outcome, *rest = row
    observation = Observation(page_id, polled_at, Outcome(outcome), *rest)
    if observation.items is None:
        return observation
    items = tuple(Item(*item) for item in observation.items)  # type: ignore[misc]
    return replace(observation, items=items)
