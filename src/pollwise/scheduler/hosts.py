"""When the hosts of pages may be polled, and which pages wait for them."""

from collections.abc import Sequence
from typing import Any

from pollwise.scheduler import politeness
from pollwise.scheduler.host_queues import HostQueues
from pollwise.scheduler.politeness import Host

__all__ = ["Hosts"]

_NEW = Host()


class Hosts:
    """What politeness knows of all scopes; the scope "" is of pages that are free at any time.

    `crawl_delay` is the delay in seconds that every host is due, `longest_pace` the longest that
    a host can ask for. `line` pages may wait for one host.
    """

    def __init__(self, *, crawl_delay: float, longest_pace: float, line: int) -> None:
        self._crawl_delay = crawl_delay
        self._longest_pace = longest_pace
        self._hosts: dict[str, Host] = {}
        self._queues = HostQueues(places=line)

    def free_at(self, scope: str, now: float) -> float:
        """From when on pages of a scope may be polled."""
        return politeness.free_at(self._host(scope), now, self._crawl_delay) if scope else now

    def block(self, scope: str, until: float) -> None:
        """A host wants to be left alone until a time."""
        self._hosts[scope] = politeness.blocked(self._host(scope), until)

    def pace(self, scope: str, delay: float) -> None:
        """A host asks for so many seconds between polls."""
        self._hosts[scope] = politeness.paced(self._host(scope), min(delay, self._longest_pace))

    def poll_begun(self, scope: str, now: float) -> None:
        """A poll of this scope has begun."""
        self._note(scope, politeness.poll_begun(self._host(scope), now), now)

    def poll_ended(self, scope: str, now: float) -> None:
        """The poll of this scope was answered."""
        self._note(scope, politeness.poll_ended(self._host(scope), now), now)

    def poll_lost(self, scope: str, now: float) -> None:
        """The poll of this scope was given up."""
        self._note(scope, politeness.poll_lost(self._host(scope), now), now)

    def waits(self, page_id: int) -> bool:
        """Whether a page waits in line for its host."""
        return page_id in self._queues

    def join(self, scope: str, page_id: int, free_at: float) -> bool:
        """Let a page wait for its host, free at the time given; whether there was room."""
        return self._queues.join(scope, page_id, free_at)

    def turn_away(self, scope: str, now: float) -> float:
        """When a page may come again for which there was no room."""
        self._hosts[scope], until = politeness.turned_away(
            self._host(scope), now, self._crawl_delay
        )
        return until

    def next_page(self, now: float) -> int | None:
        """Take the first page that waits for a host which is free now."""
        return self._queues.next_page(now, lambda scope: self.free_at(scope, now))

    @property
    def first_free(self) -> float:
        """When the first host with a line is expected to be free; infinite: none."""
        return self._queues.first_free

    def state(self, now: float) -> list[tuple[str, float, float]]:
        """Rows for a JSON text: scope, pace, and from when on it may be polled."""
        rows = []
        for scope, host in self._hosts.items():
            free = politeness.free_at(host, now, self._crawl_delay)
            if host.pace > 0 or free > now:
                rows.append((scope, host.pace, free))
        return rows

    def load(self, rows: Sequence[Sequence[Any]]) -> None:
        """Put the rows of `state` back; errors of many kinds where they are none."""
        self._hosts = {
            str(scope): Host(pace=float(pace), blocked_until=float(free))
            for scope, pace, free in rows
        }

    def _note(self, scope: str, host: Host, now: float) -> None:
        if scope:
            self._hosts[scope] = host
            self._queues.expect(scope, self.free_at(scope, now))

    def _host(self, scope: str) -> Host:
        return self._hosts.get(scope, _NEW)
