"""The values that go into the store and come out of it: without behaviour, and none is changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from pollwise.events import Event
from pollwise.types import Links, Observation, Outcome, Page, PageMemory, StateDict, Version

__all__ = [
    "POLL_OUTCOME",
    "Batch",
    "ChangeKind",
    "ClockSetBack",
    "Collected",
    "Discoveries",
    "Discovery",
    "Document",
    "Fetched",
    "FoundItem",
    "Hit",
    "NewPage",
    "PageOutline",
    "PageRecord",
    "PollResult",
    "Postponed",
    "Run",
    "Sizes",
    "StoredChange",
    "StoredReceiver",
    "StoredSubscription",
    "StoredVersion",
    "Totals",
    "WaitingRequest",
    "usual_cost",
]


@dataclass(slots=True)  # not frozen: of each line of a list one is made, in an eighth of the time
class NewPage:
    """A page to watch that has no id yet; the fields are those of `Page`.

    What is None stays as it was if the page is watched already, and is as in `Page` if it is new.
    An interval of 0 takes back the bound that the page had of its own. Without a `cost` of its own
    a page has the `usual_cost`. `listed_in` is the path of the list that brings the page; it counts
    only if the page is new, unless it is empty. `source` is as in `PageRecord`, until a poll tells.
    """

    url: str
    scope: str = ""
    weight: float | None = None
    cost: float | None = None
    longest_interval: float | None = None
    shortest_interval: float | None = None
    paused: bool | None = None
    tags: tuple[str, ...] | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    render: bool | None = None
    listed_in: str | None = None
    name: str | None = None
    source: str | None = None
    notify_when: tuple[str, ...] | None = None


def usual_cost(render: bool) -> float:
    """What a poll is expected to cost unless a user says otherwise, rendered or not: in requests.

    >>> usual_cost(False), usual_cost(True)
    (1.0, 10.0)
    """
    return 10.0 if render else 1.0


@dataclass(frozen=True, slots=True)
class Postponed:
    """At the time `at` (UTC seconds) a poll was not made, through no fault of page or host.

    `why` says in words what stood in the way.
    """

    at: float
    why: str


@dataclass(frozen=True, slots=True)
class PageRecord:
    """A watched page and what its polls told.

    `page.seen_at` is the time of the latest poll that found the page, changed or not. The other
    times are UTC seconds; None: not yet. `outcome`, `error`, `last_cost` and `memory` are those of
    the latest poll that was made, `failures` counts the FAILED polls in a row up to it. `changes`
    counts the polls that found a change since an earlier copy; `first_seen_at` is the time of the
    poll that brought the first one. `last_changed_at` is the time of the
    latest change as the server told it, else that of the poll that found it. `postponed` is the
    latest poll that was POSTPONED; None: one was made since, or none was. `source` is that of the
    latest copy, see `PollResult`; empty: not known. `listed_in` is the path of the list that
    brought the page; empty: none did, or somebody named the page besides. `gone`: the latest poll
    that did not fail found the page gone.

    `depth` is the number of links from a seed (0) to the page. `relevance` (0 to 1), `title` and
    `duplicate_of` are those of `Collected`; None: the page was not collected.
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
    depth: int = 0
    relevance: float | None = None
    title: str | None = None
    duplicate_of: int | None = None
    postponed: Postponed | None = None
    first_seen_at: float | None = None
    source: str = ""
    listed_in: str = ""
    gone: bool = False


class PageOutline(NamedTuple):
    """What a watched page is called, and how it stands; see `PageRecord` and its `Page`."""

    id: int
    url: str
    name: str
    title: str | None
    tags: tuple[str, ...]
    paused: bool
    outcome: Outcome | None
    seen_at: float | None


POLL_OUTCOME = np.dtype([("page", "i8"), ("time", "f8"), ("changed", "?")])
"""A poll that found its page: the page, when (UTC seconds), and whether there was a change."""


@dataclass(frozen=True, slots=True)
class WaitingRequest:
    """What another process asks of the one that polls: a number and a text in JSON."""

    id: int
    text: str


@dataclass(frozen=True, slots=True)
class FoundItem:
    """An item of a feed or list: its id (`key`), title and URL, and when it was published.

    `published_at` is in UTC seconds. What is not told is empty or None. `held_back`: by a condition
    of the list, notices do not name it.
    """

    key: str
    title: str = ""
    url: str = ""
    published_at: float | None = None
    held_back: bool = False


@dataclass(slots=True)  # not frozen: each poll makes one, which would take three times as long
class PollResult:
    """One poll: what it told, what to remember of the page, and the new version if it had changed.

    `error` says in words what went wrong, or why the poll was POSTPONED. `masked` are
    samples of the parts of the page that it found to be noise. `title` is that of the page,
    `source` says what it was read as (`pollwise.sources`); None: as before. `items` are the new
    ones of a feed. `status` is the HTTP status by which the page is GONE. `same_items`: those that
    `memory` has are what the poll before remembered; a store that has them need not write the ten
    thousands of a long list again. `held_back`: the change meets no condition of the page.
    """

    observation: Observation
    memory: PageMemory
    version: Version | None = None
    error: str | None = None
    masked: tuple[str, ...] = ()
    title: str | None = None
    source: str | None = None
    items: tuple[FoundItem, ...] = ()
    status: int | None = None
    same_items: bool = False
    held_back: bool = False


@dataclass(frozen=True, slots=True)
class Discovery:
    """A page that was found at `found_at` (UTC seconds), `depth` links away from a seed.

    The caller gives `page.id`: the ids of a batch, in any order, start at `Store.next_page_id` and
    have no gaps.
    """

    page: Page
    found_at: float
    depth: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """What the response processor made of the present content of a page.

    `relevance` (0 to 1) says how much it is about the topic (None: unknown). `terms` is the page's
    packed term vector, to score it again when the topic is known better. A search does not find a
    page that is not `indexed` (it asks not to be), or that is a copy of the page `duplicate_of`.
    """

    page_id: int
    relevance: float | None
    title: str
    text: str
    terms: bytes = b""
    indexed: bool = True
    duplicate_of: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Discoveries:
    """What one poll meant for a collection.

    `new_pages` are those that it discovered. `collected` is what was made of the content; None:
    nothing new. `links` are those of the page now (None: as before); the store keeps them for
    collected pages. `rescored` has the new relevance, by id, of pages that were collected before.
    `aimed` has the terms of the topic and their weights, if they are new; it is in the event log.
    """

    new_pages: tuple[Discovery, ...] = ()
    collected: Collected | None = None
    links: Links | None = None
    rescored: Mapping[int, float] = field(default_factory=dict)
    aimed: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """What is stored as a whole or not at all.

    `events` go to the log of the current run. `learned` is the policy's state of the polled pages
    only, with all arrays that pages share. `scheduler` is the scheduler's state as a JSON text.
    None: as before. `remembered` has the memories of pages whose masks people changed, by id: they
    are written after the polls, as those do not know of it.

    For a collection: the new pages of `discovered` are written first, so that the rest may refer to
    them. `states` are bytes to keep by name, such as the state of the topic filter; others stay.
    """

    events: tuple[Event, ...] = ()
    polls: tuple[PollResult, ...] = ()
    learned: StateDict | None = None
    scheduler: str | None = None
    discovered: tuple[Discoveries, ...] = ()
    states: Mapping[str, bytes] = field(default_factory=dict)
    remembered: Mapping[int, PageMemory] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClockSetBack:
    """At the time `at` (UTC seconds) the stored times were found to be up to `ahead` seconds in the
    future, as the clock had been ahead: those of `polls` kept polls were set back.
    """

    at: float
    ahead: float
    polls: int


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of the event log, begun at `started_at` with these settings."""

    id: int
    started_at: float
    settings: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A version of a page; `size` is that of its body in bytes, which `Store.body` gives.

    `Store.head` gives the head of the answer.
    """

    seen_at: float
    content_type: str
    body_hash: str
    size: int


class ChangeKind(IntEnum):
    """What happened to a page that had a copy."""

    CHANGED = 0
    GONE = 1
    """The first poll that was told so; those that find it still gone tell nothing new."""
    BACK = 2
    """It was gone, and is as in the latest copy."""
    BACK_CHANGED = 3
    """It was gone, and differs from the latest copy."""

    @property
    def is_of_content(self) -> bool:
        """Whether the content differs from that of the copy before."""
        return self in (ChangeKind.CHANGED, ChangeKind.BACK_CHANGED)


@dataclass(frozen=True, slots=True)
class StoredChange:
    """A change that a poll found at `seen_at` (UTC seconds).

    `before_at` is the time of the copy before, or, of a page that is back, of the latest poll that
    found it gone. `seq` numbers the changes of a database from 1 on, in the order in which they
    were found; no number is given twice. `title` is that of the page at the time; None: not known.
    `items` are the new ones of a feed. `reverted`: back to a version seen before. `tags` and `name`
    (empty: none) are those that the page has now. `read`: somebody has marked it so. `status` is
    the HTTP status by which the page is GONE; None: it is not. `held_back`: by a condition of the
    page, notices do not tell of it.
    """

    seq: int
    page_id: int
    url: str
    seen_at: float
    before_at: float
    reverted: bool
    title: str | None
    items: tuple[FoundItem, ...] = ()
    tags: tuple[str, ...] = ()
    name: str = ""
    read: bool = False
    kind: ChangeKind = ChangeKind.CHANGED
    status: int | None = None
    held_back: bool = False


@dataclass(frozen=True, slots=True)
class StoredReceiver:
    """How far somebody was told of changes, who is called `name`.

    `told_seq` is the number of the latest change that was told, `trying_seq` that of the last one
    in the notice that is under way (0: none is). A notice arrived last at `sent_at` and was last
    tried at `tried_at` (UTC seconds; None: never); since then so many `failures` in a row, the
    latest for the reason `error`, with which it asked to be left alone until `asked_until` (None:
    it did not).
    """

    name: str
    told_seq: int
    trying_seq: int = 0
    sent_at: float | None = None
    tried_at: float | None = None
    failures: int = 0
    error: str | None = None
    asked_until: float | None = None


@dataclass(frozen=True, slots=True)
class StoredSubscription:
    """What a hub is asked for (WebSub): to tell of changes of a page.

    The hub knows the page as `topic`; it calls the URL `callback`, which nobody else knows, and
    signs by `secret`. It is asked next at `due_at` and was asked last at `asked_at` (None: never).
    It has confirmed to tell of changes until `lease_until` (None: it has not). Since it confirmed
    last it was asked so often in vain (`failures`), the latest time for the reason `error` (None:
    not known). Times are UTC seconds.
    """

    page_id: int
    hub: str
    topic: str
    callback: str
    secret: str = field(repr=False)
    due_at: float
    asked_at: float | None = None
    lease_until: float | None = None
    failures: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """What a store holds: the watched pages, their polls, the changes found, and the pages that
    FAILED at their latest poll; all versions, even of removed pages; the size of the database.
    """

    pages: int
    polls: int
    changes: int
    failing: int
    versions: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """What grows with time, in bytes: the lines of the event log, and the bodies of all versions
    as they are stored, each once.
    """

    events: int
    bodies: int


@dataclass(frozen=True, slots=True)
class Lately:
    """What tells how a store has grown since a time.

    `new_bodies` of all `bodies` came with versions since. `log_since` is when the oldest run began
    whose events are kept (None: no events are). `unused_bytes` are free within the file.
    `new_polls` were made since of pages of which all polls are still kept.
    """

    new_bodies: int
    bodies: int
    log_since: float | None
    unused_bytes: int
    new_polls: int


@dataclass(frozen=True, slots=True, eq=False)
class Fetched:
    """A page of the collection as the request controller knew it; see `Store.history`."""

    page_id: int
    relevance: float | None
    links: Links


@dataclass(frozen=True, slots=True)
class Document:
    """A page that was seen, as it is exported.

    Times are UTC seconds; `first_seen_at` is None if no version was kept. `changes` counts as in
    `PageRecord`. `relevance` is None if the page was not collected, `title` and `text` are None if
    they are not known. `duplicate_of` is a URL. `gone`: the latest poll that did not fail found the
    page gone. The last five fields are as in `Page`.
    """

    page_id: int
    url: str
    title: str | None
    text: str | None
    relevance: float | None
    depth: int
    first_seen_at: float | None
    last_seen_at: float
    last_changed_at: float | None
    polls: int
    changes: int
    gone: bool
    duplicate_of: str | None
    name: str = ""
    tags: tuple[str, ...] = ()
    weight: float = 1.0
    longest_interval: float | None = None
    shortest_interval: float | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A page found by `Store.search`.

    `snippet` is the part of the text that matches best, on one line; `marks` are start and end of
    the query's words in it. `bm25` is above 0 and grows with the match of the words, `relevance` (0
    to 1) says how much the page is about the topic, `score` (0 to 1) blends both.
    """

    page_id: int
    url: str
    title: str
    snippet: str
    marks: tuple[tuple[int, int], ...]
    bm25: float
    relevance: float
    score: float
