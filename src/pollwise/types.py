"""The values that pass between policy, scheduler and world: frozen, without behaviour.

Times are float seconds of UTC since 1970 (in the papers' worlds one time step is one second).
"""

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, make_dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Budget",
    "Item",
    "LikelyLink",
    "Links",
    "Mask",
    "MaskState",
    "Noise",
    "NumberTold",
    "Observation",
    "Outcome",
    "Page",
    "PageMemory",
    "Selection",
    "StateDict",
    "Version",
    "discovered_page",
    "has_same_parts",
    "plain_observation",
    "seen_page",
]

StateDict = dict[str, NDArray[np.generic]]
"""What a policy learned: arrays by name. Those named `page.*` have one row per page, in the order
of the array `page_ids`; the others hold what all pages share. Those named `*_at` are times."""


class Outcome(enum.IntEnum):
    """What a poll found, compared with the latest copy."""

    UNCHANGED = 0
    CHANGED = 1
    GONE = 2
    """The server says there is no such page (404, 410); it is asked again ever more rarely."""
    FAILED = 3
    """No answer about the page: time-out, 5xx, 429, refused by robots.txt."""
    POSTPONED = 4
    """The page was not asked for, through no fault of its own: we lacked a connection or memory, or
    a host on the way was busy. No policy learns of it; the page is given back, for later."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page to watch.

    *What never changes*: `id` is a dense integer (0, 1, 2, ...), never used again for another
    page. `scope` is the politeness scope (usually the host) whose crawl delay the page shares.
    Pages of one `site`, and those of one `kind` (a path pattern or a tag) within it, are likely
    to change alike and together.

    *What users want*: `weight` says what a change of this page is worth, `cost` what a poll takes
    from the budget. `longest_interval` and `shortest_interval` are the most and the least seconds
    between two polls of it; None: as for all pages. While it is `paused` it is not polled. `tags`
    are words by which pages are grouped. `select` names the parts of the page that count (none:
    the whole page), `ignore` parts of these that do not: see `pollwise.sources`. `name` is what
    somebody calls the page (empty: nobody does); it is shown where its title would be. With
    `render` a browser runs the scripts of the page before it is read. `notify_when` are conditions,
    one of which a change meets of which notices tell (none: all changes): see
    `pollwise.sources.conditions`.

    *What changes with polls*: `seen_at` is the time of the latest copy; None: there is no copy yet,
    so the first poll tells nothing of change. `changes_in_a_row` is that of its `Noise`. The
    current page is in the store and, during a run, in `pollwise.watched_pages`; others,
    such as the scheduler, keep only the fields they need.
    """

    id: int
    url: str = ""
    scope: str = ""
    weight: float = 1.0
    cost: float = 1.0
    seen_at: float | None = None
    site: str = ""
    kind: str = ""
    longest_interval: float | None = None
    shortest_interval: float | None = None
    changes_in_a_row: int = 0
    paused: bool = False
    tags: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    name: str = ""
    render: bool = False
    notify_when: tuple[str, ...] = ()


def seen_page(page: Page, at: float, changes_in_a_row: int) -> Page:
    """The page once its latest copy is of the time `at`.

    As `replace` gives it, which takes thirty times as long: that is so at every poll.
    """
    made: Page = _PageDraft(
        page.id,
        page.url,
        page.scope,
        page.weight,
        page.cost,
        at,
        page.site,
        page.kind,
        page.longest_interval,
        page.shortest_interval,
        changes_in_a_row,
        page.paused,
        page.tags,
        page.select,
        page.ignore,
        page.name,
        page.render,
        page.notify_when,
    )
    made.__class__ = Page
    return made


def discovered_page(page_id: int, url: str, scope: str, kind: str) -> Page:
    """A page that a crawl found by a link, of which nobody wants anything special yet.

    As `Page` gives it, in a third of the time: a page may have a hundred new links.
    """
    plain = (None, None, 0, False, (), (), (), "", False, ())
    made: Page = _PageDraft(page_id, url, scope, 1.0, 1.0, None, scope, kind, *plain)
    made.__class__ = Page
    return made


def has_same_parts(page: Page, other: Page) -> bool:
    """Whether the same parts of a page count, rendered or not; else copies of the two cannot be
    compared."""
    return _parts(page) == _parts(other)


def _parts(page: Page) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    return page.select, page.ignore, page.render


@dataclass(frozen=True, slots=True)
class Item:
    """A new item of a feed or list, brought by a poll.

    `value` is what it is worth when it is fetched: where values fade, less than when it was
    published. `published_at` is when that was; None: not told.
    """

    value: float = 1.0
    published_at: float | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """What one poll told.

    `polled_at` is the time at which the server's answer was current; `last_changed_at` the time
    of the latest change, if the server tells it (where a poll finds no change it may be later than
    the copy: then the server tells something else); `n_items` the number of new items of a feed;
    `cost` the cost units that the poll really took. `reverted`: the page changed back to a version
    seen before. `items` are the new items themselves, if they are known one by one. `relevance` (0
    to 1) says how much the content is about the topic of a collection; None: it was not judged, or
    there was no content.
    """

    page_id: int
    polled_at: float
    outcome: Outcome
    last_changed_at: float | None = None
    n_items: int | None = None
    cost: float = 1.0
    reverted: bool = False
    items: tuple[Item, ...] | None = None
    relevance: float | None = None


def _draft_of(kind: type) -> Any:
    """A class with the slots of a frozen one, whose objects become of that by their `__class__`.

    To set a field of a frozen object, as its own `__init__` does, takes ten times as long.
    """
    return make_dataclass(f"{kind.__name__}Draft", [one.name for one in fields(kind)], slots=True)


_PageDraft, _ObservationDraft = _draft_of(Page), _draft_of(Observation)


def plain_observation(
    page_id: int, polled_at: float, outcome: Outcome, last_changed_at: float | None, cost: float
) -> Observation:
    """An observation that tells no more than this, made in a sixth of the time."""
    made: Observation = _ObservationDraft(
        page_id, polled_at, outcome, last_changed_at, None, cost, False, None, None
    )
    made.__class__ = Observation
    return made


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """The links of one fetched page in document order, each target once.

    `targets` are page ids. `anchors` are the visible texts of the links, one for each target.
    `places` say where in the document they stand (tag paths such as `body/nav/ul/li/a`), and
    `around` what is said beside them, empty for most: one for each target, or none at all if they
    are not known.
    """

    targets: NDArray[np.int64]
    anchors: Sequence[str]
    places: Sequence[str] = ()
    around: Sequence[str] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Links):
            return NotImplemented
        return (
            np.array_equal(self.targets, other.targets)
            and list(self.anchors) == list(other.anchors)
            and list(self.places) == list(other.places)
            and list(self.around) == list(other.around)
        )

    __hash__ = None  # type: ignore[assignment]


class LikelyLink(NamedTuple):
    """A page known by links only: the relevance per request that it is expected to bring, and the
    text of the link that was found last (empty: there is none, or it has no text).
    """

    page_id: int
    value: float
    anchor: str


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Pages to poll now, best first, and when the policy next wants to be asked.

    `wake_at` matters only if fewer pages than the limit were selected; infinite: not before the
    next observation or new page.
    """

    page_ids: NDArray[np.int64]
    wake_at: float = math.inf


@dataclass(frozen=True, slots=True)
class Budget:
    """`rate` cost units per second on average; at most `burst` cost units at once."""

    rate: float
    burst: float = 1.0


class MaskState(enum.IntEnum):
    """Whether a mask hides what it covers."""

    SET = 0
    ENDING = 1
    """Somebody wants to see it: it still hides it from the comparison with the latest copy, and no
    more from then on."""
    REFUSED = 2
    """It hides nothing, and what it covers is not masked again."""
    BEGINNING = 3
    """Somebody wants it hidden: it is not yet in the comparison with the latest copy, and hides it
    from then on."""


@dataclass(frozen=True, slots=True)
class Mask:
    """A part of a page that differs between fetches without being news: a clock, a counter, an ad.

    `before` and `after` are the beginnings of the two blocks on either side, the nearer one inside.
    It covers `least` to `most` blocks between them, of `room` characters together; with a `shape`
    exactly `most`, which differ in nothing but numbers, dates and the like, and of these only those
    with the numbers `varying`, from 0, are left out. `sample` is what
    stood there when it was found, `value` the hash of what stood there last, `quiet` the number of
    polls in a row that found it the same. One that somebody set `by_hand` does not end by itself.
    See `pollwise.web.noise.masks`.
    """

    before: tuple[str, str]
    after: tuple[str, str]
    shape: str
    least: int
    most: int
    room: int
    sample: str
    value: str = ""
    quiet: int = 0
    state: MaskState = MaskState.SET
    varying: tuple[int, ...] = ()
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class Noise:
    """What is known of a page's noise: its `masks`, and the evidence for more.

    `changes_in_a_row` counts the latest polls that found a change, one after the other. After
    `gap` changes the page is looked at for noise; `since_look` counts those since the last look.
    """

    masks: tuple[Mask, ...] = ()
    changes_in_a_row: int = 0
    since_look: int = 0
    gap: int = 1


@dataclass(frozen=True, slots=True)
class NumberTold:
    """The number of a page that somebody was `told` last, from which the next steps are measured;
    the first one, if nobody was told any. `latest` is that of the latest copy (None: it has none).
    """

    told: Decimal
    latest: Decimal | None


@dataclass(frozen=True, slots=True)
class PageMemory:
    """What is remembered of a page from one poll to the next.

    The validators that its server sent (`etag`, `last_modified`: header values, verbatim) and the
    hexadecimal hashes of body and visible text of the latest copy. All None: there is no copy yet.
    `earlier_hashes` are the text hashes of other versions seen before, oldest first, each once.
    Text hashes are those of the page without its `noise`. `items` are hashes of the items of a feed
    or list that were seen, oldest first. `told_number` is there if conditions are measured from it.
    """

    etag: str | None = None
    last_modified: str | None = None
    body_hash: str | None = None
    text_hash: str | None = None
    earlier_hashes: tuple[str, ...] = ()
    noise: Noise = Noise()
    items: tuple[str, ...] = ()
    told_number: NumberTold | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """A new version of a page, as fetched at `seen_at` (body decompressed).

    `head` has the status line and headers of the answer, with CRLF between them and without what is
    private; empty: not known.
    """

    page_id: int
    seen_at: float
    content_type: str
    body: bytes
    body_hash: str
    head: bytes = b""
