"""What one receiver is still to be told, and when: it knows no clock and no network.

Each change reaches a receiver at least once, always under the same id. Before a notice is sent, the
store is told which changes it has, so that it is the same notice if it must be sent again; when it
has arrived, that these were told.
"""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4, uuid5

from pollwise.insight.changes import ListedChange, listed_change
from pollwise.insight.receivers import rests_until
from pollwise.insight.words import duration
from pollwise.notify.notice import Notice
from pollwise.notify.receivers import Channel, Receiver
from pollwise.notify.wording import MOST_IN_FULL, text_of, title_of_all
from pollwise.store.base import StoreReader
from pollwise.store.place import DEFAULT
from pollwise.store.records import StoredChange, StoredReceiver
from pollwise.units import HOUR

__all__ = ["Delivery", "trial_notice"]

_MOST_CHANGES = 200
"""Of a notice."""
_MOST_IN_FEED = 100
_LATELY = 20_000
"""Changes among which those for a feed are looked for."""
_MOST_CHARACTERS = 300
"""Of an error."""


def trial_notice(now: float) -> Notice:
    """A notice of a change that never was, to try a receiver."""
    trial = ListedChange(
        id=uuid4().urn,
        seq=0,
        url="https://example.org/",
        title="A notice to try this receiver",
        tags=(),
        seen_at=now,
        before_at=now - HOUR,
        reverted=False,
        removed="what went",
        added="what came",
        items=(),
    )
    text = text_of([trial], now, DEFAULT)
    return Notice(trial.id, uuid4().urn, now, title_of_all([trial]), text, (trial,))


class Delivery:
    """What is told to a receiver; `state` is what the store is to keep of it."""

    def __init__(self, receiver: Receiver, state: StoredReceiver) -> None:
        self.receiver = receiver
        self.state = state

    def due_at(self, store: StoreReader, now: float) -> float:
        """When the next notice is to be sent (UTC seconds); infinite: there is nothing to tell.

        `now` is the time: times of a clock that was ahead count as now.
        """
        first = next(self._waiting(store), None)
        if first is None or first.seq > self.state.trying_seq > 0:
            # Nobody wants any more what was to be sent.
            self.state = replace(self.state, trying_seq=0)
        if first is None:
            return math.inf
        return max(self._holds(first.seen_at, now))[0]

    def held_by(self, store: StoreReader, now: float) -> str:
        """What keeps from it what it is still to be told, in words; empty: nothing."""
        first = next(self._waiting(store), None)
        if first is None:
            return ""
        until, why = max(self._holds(first.seen_at, now))
        return why if until > now else ""

    def _holds(self, seen_at: float, now: float) -> Iterator[tuple[float, str]]:
        """What holds a change back that was seen then: until when, and in words."""
        receiver, sent_at = self.receiver, self.state.sent_at
        yield (
            min(seen_at, now) + receiver.digest,
            f"a digest after {duration(receiver.digest)}" if receiver.digest else "",
        )
        if sent_at is not None:
            spacing = f"one notice in {duration(receiver.spacing)} at most"
            yield min(sent_at, now) + receiver.spacing, spacing
        if (rest := rests_until(self.state, now)) is not None:
            yield rest, f"it failed: {self.state.error}"

    def count_waiting(self, store: StoreReader, now: float) -> int:
        """How many changes it is still to be told."""
        after, tags = self.state.told_seq, self.receiver.tags
        return store.count_changes(after=after, tags=tags, to_tell=True)[0]

    def begin(self, store: StoreReader, now: float) -> Notice | None:
        """The notice to send now, when something is due; `state` is to be kept before that.

        None: what was due is not for it any more.
        """
        changes: list[StoredChange] = []
        for change in self._waiting(store):
            if 0 < self.state.trying_seq < change.seq or len(changes) == _MOST_CHANGES:
                break
            changes.append(change)
        if not changes:
            return None
        last = self.state.trying_seq or changes[-1].seq
        self.state = replace(self.state, trying_seq=last)
        if self.receiver.channel is Channel.ATOM:  # a feed has what was told before, too
            changes = self._newest(store, last)
        listed = tuple(
            listed_change(store, _to_tell(change), compared=number < MOST_IN_FULL)
            for number, change in enumerate(changes)
        )
        database = store.database_id()
        return Notice(
            id=uuid5(database, f"notice {self.receiver.name} {last}").urn,
            database=database.urn,
            made_at=now,
            title=title_of_all(listed),
            text=text_of(listed, now, store.path),
            changes=listed,
        )

    def arrived(self, now: float) -> None:
        """The notice that was begun has arrived."""
        self.state = StoredReceiver(self.receiver.name, self.state.trying_seq, 0, now, now)

    def failed(self, now: float, error: str, retry_after: float | None = None) -> None:
        """The notice that was begun did not arrive, or may not have.

        `retry_after`: the seconds for which the receiver asked to be left alone.
        """
        self.state = replace(
            self.state,
            tried_at=now,
            failures=self.state.failures + 1,
            error=error[:_MOST_CHARACTERS],
            asked_until=None if retry_after is None else now + retry_after,
        )

    def _waiting(self, store: StoreReader) -> Iterator[StoredChange]:
        """What it has not been told, oldest first; what is not for it counts as told."""
        is_first = True
        for change in store.changes(after=self.state.told_seq):
            if self._is_for_it(change):
                is_first = False
                yield change
            elif is_first:
                self.state = replace(self.state, told_seq=change.seq)

    def _newest(self, store: StoreReader, last: int) -> list[StoredChange]:
        newest: deque[StoredChange] = deque(maxlen=_MOST_IN_FEED)
        for change in store.changes(after=max(last - _LATELY, 0)):
            if change.seq > last:
                break
            if self._is_for_it(change):
                newest.append(change)
        return list(newest)

    def _is_for_it(self, change: StoredChange) -> bool:
        wanted = self.receiver.tags
        is_wanted = not wanted or not set(wanted).isdisjoint(change.tags)
        return is_wanted and not change.held_back


def _to_tell(change: StoredChange) -> StoredChange:
    """A change with the new items that conditions do not hold back, unless that is all of them."""
    told = tuple(item for item in change.items if not item.held_back)
    return replace(change, items=told) if told else change
