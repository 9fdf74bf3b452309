"""What a chart of a page over time shows: its polls, changes and versions."""

from dataclasses import dataclass

from pollwise.errors import InputError
from pollwise.store.base import StoreReader
from pollwise.store.records import ChangeKind
from pollwise.types import Outcome
from pollwise.web.urls import canonical

__all__ = ["TimeLine", "TimedChange", "TimedPoll", "TimedVersion", "timeline_of"]

_POLLS = 50
"""As many as a store keeps of a page."""
_CHANGES = 200


@dataclass(frozen=True, slots=True)
class TimedPoll:
    """A poll that is kept; see `RecentPoll`."""

    polled_at: float
    outcome: Outcome
    reverted: bool
    first_copy: bool


@dataclass(frozen=True, slots=True)
class TimedChange:
    """A change that a poll found at `seen_at`; it happened after `before_at` (UTC seconds).

    See `ListedChange`. `version` is the number of the version that it brought,
    as in the history of the page; None: that is not kept.
    """

    seq: int
    seen_at: float
    before_at: float
    reverted: bool
    version: int | None
    kind: ChangeKind = ChangeKind.CHANGED


@dataclass(frozen=True, slots=True)
class TimedVersion:
    """A version that is kept, by its number in the history of the page, with its size."""

    version: int
    seen_at: float
    bytes: int


@dataclass(frozen=True, slots=True)
class TimeLine:
    """The time line of a page, everything oldest first; times are UTC seconds.

    `added_at` is when it was added, `first_seen_at` when its first copy was made (None: not yet).
    The `polls` are the latest 50; the `changes` the latest 200, and so many older ones are
    `left_out`; the `versions` all that are kept. It reaches from `begin`, the first of all these
    times but `added_at` (None: there is nothing yet), to `end`, the last of them.
    """

    url: str
    added_at: float
    first_seen_at: float | None
    begin: float | None
    end: float | None
    polls: tuple[TimedPoll, ...]
    changes: tuple[TimedChange, ...]
    left_out: int
    versions: tuple[TimedVersion, ...]


def timeline_of(store: StoreReader, url: str) -> TimeLine:
    """The time line of a page that is watched; `InputError` if it is not."""
    address = canonical(url)
    record = store.find_page(address)
    if record is None:
        raise InputError(f"{address} is not watched in {store.path}: check its spelling")
    page_id = record.page.id
    # Numbered as in the history, which has earlier pages of the same URL, too.
    kept = sorted(
        (version.seen_at, page, version.size)
        for page in store.page_ids(address)
        for version in store.versions(page)
    )
    versions = [
        TimedVersion(number, seen_at, size)
        for number, (seen_at, page, size) in enumerate(kept, start=1)
        if page == page_id
    ]
    numbers = {version.seen_at: version.version for version in versions}
    polls = [
        TimedPoll(one.polled_at, one.outcome, one.reverted, one.polled_at == record.first_seen_at)
        for one in reversed(store.recent_outcomes(page_id, _POLLS))
    ]
    changes = [
        TimedChange(
            one.seq,
            one.seen_at,
            one.before_at,
            one.reverted,
            numbers.get(one.seen_at),
            one.kind,
        )
        for one in store.changes(page_id=page_id)
    ]
    shown = changes[-_CHANGES:]
    times = [
        *(poll.polled_at for poll in polls),
        *(version.seen_at for version in versions),
        *(time for change in shown for time in (change.before_at, change.seen_at)),
    ]
    return TimeLine(
        url=address,
        added_at=record.added_at,
        first_seen_at=record.first_seen_at,
        begin=min(times, default=None),
        end=max(times, default=None),
        polls=tuple(polls),
        changes=tuple(shown),
        left_out=len(changes) - len(shown),
        versions=tuple(versions),
    )
