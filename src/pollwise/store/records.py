"""The values that go into the store and come out of it: frozen, without behaviour."""

from collections.abc import Mapping
from dataclasses import dataclass

from pollwise.events import Event
from pollwise.types import Observation, Outcome, Page, PageMemory, StateDict, Version

__all__ = ["Batch", "NewPage", "PageRecord", "PollResult", "Run", "StoredVersion", "Totals"]


@dataclass(frozen=True, slots=True)
class NewPage:
    """A page to watch that has no id yet; the fields are those of `Page`."""

    url: str
    scope: str = ""
    weight: float = 1.0
    cost: float = 1.0


@dataclass(frozen=True, slots=True)
class PageRecord:
    """A watched page and what its polls told.

    `page.seen_at` is the time of the latest poll that found the page, changed or not. The other
    times are UTC seconds, None where it has not happened. `outcome`, `error`, `last_cost` and
    `memory` are those of the latest poll, `failures` counts the FAILED ones in a row up to it.
    `changes` counts the polls that found a change against an earlier copy. `last_changed_at` is
    the time of the latest change as the server told it, else the time of the poll that found it.
    """

    page: Page
    memory: PageMemory
    added_at: float
    polled_at: float | None
    outcome: Outcome | None
    polls: int
    changes: int
    failures: int
    error: str | None
    last_changed_at: float | None
    last_cost: float | None


@dataclass(frozen=True, slots=True)
class PollResult:
    """One poll: what it told, what to remember of the page from now on, and, where the page had
    changed, its new version. `error` says in words what went wrong.
    """

    observation: Observation
    memory: PageMemory
    version: Version | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """What belongs together: it is in the store as a whole or not at all.

    `events` go to the log of the current run. `learned` is the policy's state of just the pages
    polled, and every array that all pages share. `scheduler` is the scheduler's state as a JSON
    text. None: as it was.
    """

    events: tuple[Event, ...] = ()
    polls: tuple[PollResult, ...] = ()
    learned: StateDict | None = None
    scheduler: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of the event log, begun at `started_at` with these settings."""

    id: int
    started_at: float
    settings: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A version of a page; `size` is that of its body in bytes, which `Store.body` gives."""

    seen_at: float
    content_type: str
    body_hash: str
    size: int


@dataclass(frozen=True, slots=True)
class Totals:
    """What a store holds: of the watched pages their number, their polls, the changes found, and
    how many pages FAILED at their latest poll; of removed pages too, the number of versions.
    `bytes` is the size of the database.
    """

    pages: int
    polls: int
    changes: int
    failing: int
    versions: int
    bytes: int
