"""The hosts of a watch: how politeness treats them, and how their pages stand."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from pollwise.insight.page_list import sought
from pollwise.insight.page_table import PageTable
from pollwise.store.records import PageRecord
from pollwise.types import Outcome
from pollwise.web.stops import is_stop

__all__ = ["HostColumn", "HostList", "HostTable", "ListedHost", "stopped_by"]


class HostColumn(StrEnum):
    """By what hosts are sorted; `host` and `due` ascend unless told otherwise."""

    host = "host"
    due = "due"
    """When a page of it may be polled next."""
    pages = "pages"
    polls = "polls"
    changes = "changes"
    failing = "failing"
    free = "free"
    """Until when it is left alone."""
    delay = "delay"
    price = "price"

    @property
    def descends(self) -> bool:
        """Whether the largest comes first unless somebody says otherwise."""
        return self not in (HostColumn.host, HostColumn.due)


@dataclass(frozen=True, slots=True)
class ListedHost:
    """A politeness scope: a host, or several that share one.

    `polls` and `changes` are those of its `pages`, ever; `failing` counts those whose latest poll
    failed, `error` is the latest of their errors, of a poll at `error_at`. Times are UTC seconds.
    It may be polled from `free_at` on (None: now), is left alone until `blocked_until` as it asked
    for that (None: it does not), and its limit allows the next poll at `limited_until` (None: now);
    `limit` is as it was given (None: it has none). `delay` is the seconds that it is left alone
    after each poll (None: there was no run), `asked_delay` what it asked for (None: nothing, as far
    as is known). `price` is the factor on the price of its polls as it cannot keep up with its
    pages; None: it can, or there was no run. `polled_at` is the time of its latest poll,
    `next_poll_at` when nothing but the budget holds a page of it back any more.
    """

    host: str
    pages: int
    polls: int
    changes: int
    failing: int
    error: str | None
    error_at: float | None
    free_at: float | None
    blocked_until: float | None
    limited_until: float | None
    limit: str | None
    delay: float | None
    asked_delay: float | None
    price: float | None
    polled_at: float | None
    next_poll_at: float | None


@dataclass(frozen=True, slots=True)
class HostList:
    """Some of the `found` hosts that fit, from the `offset`-th (from 0) on, of `hosts` in all."""

    database: str
    hosts: int
    found: int
    offset: int
    results: tuple[ListedHost, ...]


class HostTable:
    """The hosts of the pages of a table; without a watch, only what their polls told is known."""

    def __init__(self, table: PageTable) -> None:
        self._table = table

    def rows(
        self,
        *,
        text: str | None = None,
        order: HostColumn = HostColumn.host,
        descending: bool | None = None,
        offset: int = 0,
        limit: int | None = 50,
    ) -> HostList:
        """The hosts with this text in their name or latest error (None: any; see `sought`), sorted.

        Those that have nothing to be sorted by come last; `descending` None: as is usual.
        """
        wanted = "" if text is None else sought(text)
        found = [host for host in self._hosts if wanted in f"{host.host} {host.error}".lower()]
        known = [host for host in found if _KEYS[order](host) is not None]
        missing = [host for host in found if _KEYS[order](host) is None]
        known.sort(key=_KEYS[order], reverse=order.descends if descending is None else descending)
        ordered = [*known, *missing]
        shown = ordered[offset:] if limit is None else ordered[offset : offset + limit]
        return HostList(
            str(self._table.database), len(self._hosts), len(found), offset, tuple(shown)
        )

    def host(self, name: str) -> ListedHost | None:
        """One host; None: no page is of it."""
        return next((host for host in self._hosts if host.host == name), None)

    @cached_property
    def _hosts(self) -> list[ListedHost]:
        places: dict[str, list[int]] = {}
        for place, host in enumerate(self._table.hosts):
            places.setdefault(host, []).append(place)
        return [self._listed(host, places[host]) for host in sorted(places)]

    def _listed(self, host: str, places: list[int]) -> ListedHost:
        records = [self._table.records[place] for place in places]
        failed = [record for record in records if record.outcome is Outcome.FAILED]
        latest = max(failed, key=lambda record: record.polled_at or 0.0, default=None)
        next_polls = (
            [at for place in places if (at := self._table.next_poll_at[place]) is not None]
            if self._table.known is not None
            else []
        )
        return ListedHost(
            host=host,
            pages=len(records),
            polls=sum(record.polls for record in records),
            changes=sum(record.changes for record in records),
            failing=len(failed),
            error=None if latest is None else latest.error,
            error_at=None if latest is None else latest.polled_at,
            polled_at=max(
                (record.polled_at for record in records if record.polled_at is not None),
                default=None,
            ),
            next_poll_at=min(next_polls, default=None),
            **self._politeness(host, asked_for_rest=stopped_by(records) is not None),
        )

    def _politeness(self, host: str, *, asked_for_rest: bool) -> dict[str, Any]:
        """What the scheduler of a watch knows of a host; of a collection, nothing."""
        known = self._table.known
        if known is None:
            return dict.fromkeys(_OF_A_WATCH)
        scheduler, now = known.scheduler, known.now
        asked = scheduler.host_pace(host)
        # What is stored does not tell a rest that was asked for from the delay after a poll.
        rests_until = scheduler.host_blocked_until(host) if asked_for_rest else now
        return {
            "free_at": _later(scheduler.host_free_at(host, now), now),
            "blocked_until": _later(rests_until, now),
            "limited_until": _later(scheduler.host_limited_until(host), now),
            "limit": self._limits.get(host),
            "delay": max(known.settings.crawl_delay, asked) if host else 0.0,
            "asked_delay": asked if asked > 0 else None,
            "price": known.policy.host_price(host),
        }

    @cached_property
    def _limits(self) -> dict[str, str]:
        known = self._table.known
        return {} if known is None else known.settings.limit_texts()


def stopped_by(records: Iterable[PageRecord]) -> PageRecord | None:
    """Of the pages of a host the one by whose poll it may have asked to be left alone.

    None: its latest poll told nothing of that, and would not have been made before such a rest was
    over.
    """
    latest = max(records, key=lambda record: record.polled_at or 0.0, default=None)
    if latest is None or latest.outcome is not Outcome.FAILED:
        return None
    return latest if is_stop(latest.error or "") else None


def _later(time: float, now: float) -> float | None:
    return time if time > now else None


_KEYS: dict[HostColumn, Callable[[ListedHost], Any]] = {
    HostColumn.host: lambda host: host.host,
    HostColumn.due: lambda host: host.next_poll_at,
    HostColumn.pages: lambda host: host.pages,
    HostColumn.polls: lambda host: host.polls,
    HostColumn.changes: lambda host: host.changes,
    HostColumn.failing: lambda host: host.failing,
    HostColumn.free: lambda host: host.free_at,
    HostColumn.delay: lambda host: host.delay,
    HostColumn.price: lambda host: host.price,
}
_OF_A_WATCH = (
    *("free_at", "blocked_until", "limited_until", "limit"),
    *("delay", "asked_delay", "price"),
)
