"""What goes into the scheduler and what comes out; also the format of the event log.

An event log is a sequence of lines, one JSON array each, as `encode` writes and `decode` reads
them: the kind of the event, then its fields in the order of its class. Fed to a scheduler in
the same initial state, the events of a log give the same commands again.
"""

import json
from dataclasses import astuple, dataclass, replace
from typing import Any, get_args

import numpy as np

from pollwise.errors import InputError
from pollwise.types import Item, Links, Observation, Outcome, Page

__all__ = [
    "Added",
    "Command",
    "Event",
    "HostBlocked",
    "HostPaced",
    "Linked",
    "Poll",
    "Polled",
    "Removed",
    "Rescored",
    "Staffed",
    "Tick",
    "Together",
    "WakeAt",
    "decode",
    "encode",
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
class HostBlocked:
    """A politeness scope that must be left alone until a time (429 or 503 with Retry-After)."""

    now: float
    scope: str
    until: float


@dataclass(frozen=True, slots=True)
class HostPaced:
    """A politeness scope that asked for a delay in seconds between polls (Crawl-delay)."""

    now: float
    scope: str
    delay: float


@dataclass(frozen=True, slots=True)
class Linked:
    """A page, as polled last, has these links."""

    now: float
    page_id: int
    links: Links


@dataclass(frozen=True, slots=True)
class Rescored:
    """The relevance of pages is judged otherwise than at their latest polls."""

    now: float
    page_ids: tuple[int, ...]
    relevances: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Staffed:
    """From now on at most this many polls may be under way at a time."""

    now: float
    polls: int


@dataclass(frozen=True, slots=True)
class Together:
    """Events (none of this kind) that are all to be known before the next poll starts."""

    now: float
    events: "tuple[Event, ...]"


Event = (
    Tick
    | Polled
    | Added
    | Removed
    | HostBlocked
    | HostPaced
    | Linked
    | Rescored
    | Staffed
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
        return [kind, event.now, event.page_id, links.targets.tolist(), links.anchors, links.places]
    return [kind, *astuple(event)]


def decode(line: str) -> Event:
    """The event of one line of the log; `InputError` where the line is no event."""
    try:
        return _event(json.loads(line))
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise InputError(
            f"not an event: {line[:80]!r} ({error}); expected a JSON array such as"
            ' ["Tick",1.5]: is this an event log of pollwise?'
        ) from error


def _event(row: list[Any]) -> Event:
    """From what `_row` makes; errors of many kinds where it is nothing of that."""
    kind, *fields = row
    if kind == "Polled":
        now, rows = fields
        return Polled(now, tuple(map(_observation, rows)))
    if kind == "Added":
        now, rows = fields
        return Added(now, tuple(Page(*row) for row in rows))
    if kind == "Removed":
        now, page_ids = fields
        return Removed(now, tuple(page_ids))
    if kind == "Linked":
        now, page_id, targets, *texts = fields
        return Linked(now, page_id, Links(np.array(targets, np.int64), *map(tuple, texts)))
    if kind == "Rescored":
        now, page_ids, relevances = fields
        return Rescored(now, tuple(page_ids), tuple(relevances))
    if kind == "Together":
        now, rows = fields
        events = tuple(map(_event, rows))
        if any(isinstance(event, Together) for event in events):
            raise ValueError("Together within Together")
        return Together(now, events)
    return _KINDS[kind](*fields)


def _observation(row: list[Any]) -> Observation:
    """From the row that `astuple` makes; rows of earlier versions are shorter."""
    page_id, polled_at, outcome, *rest = row
    observation = Observation(page_id, polled_at, Outcome(outcome), *rest)
    if observation.items is None:
        return observation
    items = tuple(Item(*item) for item in observation.items)  # type: ignore[misc]
    return replace(observation, items=items)
