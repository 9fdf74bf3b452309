"""When the hosts of pages may be polled, and which pages wait in line for them."""

import heapq
import json
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from pollwise.scheduler import politeness
from pollwise.scheduler.cell_rate import CellRate
from pollwise.scheduler.politeness import Host, Turn
from pollwise.types import Budget

__all__ = ["Hosts", "hosts_of"]

_LATE = 60.0
"""Seconds by which a poll may end later than expected."""
_MOST_MEASURED = 1000
"""Hosts whose answering times are kept: the slowest matter most."""
_SHORTEST_MEASURED = 0.001
_TOLD_AGAIN = 0.01
_LONGEST_TOLD_AGAIN = 60.0
"""Seconds, for each host and at most, for which their text is kept: to make it takes longer than
all else that is saved, and the times are averages."""


class Hosts:
    """The hosts by politeness scope, each with a line of pages that wait until it is free.

    The scope "" is of pages that are free at any time. `crawl_delay` is the delay in seconds that
    every host is due, `longest_pace` the longest that a host can ask for. At most `line` pages wait
    for one host: not any number, because what is worth most may change while a page waits; but
    enough that a page which has to come back later finds a place at a host in steady demand.
    `limits` has the most polls a second that a scope may get, which are that far apart, too.
    `choose` says which of the pages of a line is polled at a time when the host is free; by
    default it is the one that came first.

    >>> hosts = Hosts(crawl_delay=2.0, longest_pace=60.0, line=1)
    >>> hosts.block("a", until=5.0)
    >>> hosts.join("a", 7, hosts.free_at("a", 3.0)), hosts.join("a", 8, hosts.free_at("a", 3.0))
    (True, False)
    >>> hosts.next_page(4.0) is None, hosts.first_free
    (True, 5.0)
    >>> hosts.next_page(5.0)
    7
    """

    def __init__(
        self,
        *,
        crawl_delay: float,
        longest_pace: float,
        line: int,
        limits: Mapping[str, float] = MappingProxyType({}),
        choose: Callable[[Sequence[int], float], int] = lambda page_ids, now: page_ids[0],
    ) -> None:
        self._choose = choose
        self._crawl_delay = crawl_delay
        self._longest_pace = longest_pace
        self._places = line
        self._limits = {
            scope: CellRate(Budget(rate, burst=max(1.0, rate))) for scope, rate in limits.items()
        }
        self._hosts: dict[str, Host] = {}
        self._new = Host()
        """A host of which nothing is known."""
        self._asked_until = -math.inf
        self._busy: dict[str, None] = {}
        """The scopes that `state` may have to tell of, in an order that is always the same."""
        self._lines: dict[str, deque[int]] = {}
        self._waiting: set[int] = set()
        # When a host with a line is expected to be free; and a heap of the same, from which
        # outdated times are dropped late.
        self._expected: dict[str, float] = {}
        self._free: list[tuple[float, str]] = []
        self._answers = (-math.inf, "")
        """When `answers_text` was made last, and what it was."""
        # So many are kept at most twice over: to look at a million hosts would hold up polls.
        self._slowest: dict[str, float] = {}
        """The seconds that answers take of the hosts that are slowest."""
        self._slow = _SHORTEST_MEASURED
        """Those of the fastest host that may be one of them."""

    def free_at(self, scope: str, now: float) -> float:
        """From when on pages of a scope may be polled."""
        if not scope:
            return now
        free = politeness.free_at(self._hosts.get(scope, self._new), now, self._crawl_delay)
        return max(free, self.limited_until(scope)) if scope in self._limits else free

    def limited_until(self, scope: str) -> float:
        """Until when the limit of a scope allows no other poll; -inf: it has none."""
        limit = self._limits.get(scope)
        return -math.inf if limit is None else limit.next_at

    def blocked_until(self, scope: str) -> float:
        """Until when a host wants to be left alone, whether it is being polled or not."""
        return self._host(scope).blocked_until if scope else -math.inf

    def block(self, scope: str, until: float) -> None:
        """A host wants to be left alone until a time."""
        self._put(scope, politeness.blocked(self._host(scope), until))

    def pace(self, scope: str, delay: float, now: float) -> None:
        """A host asks for so many seconds between polls."""
        host = politeness.paced(self._host(scope), min(delay, self._longest_pace))
        # With a shorter delay it is free sooner than its line expects.
        self._note(scope, host, now)

    def pace_of(self, scope: str) -> float:
        """The seconds between polls that a host asked for; 0: it did not."""
        return self._host(scope).pace

    def turn_of(self, scope: str) -> Turn:
        """What a poll takes of the time of a scope, by its delay, its limit, and its answers as far
        as they were measured.
        """
        if not scope:
            return Turn(0.0, 0.0)
        turn = politeness.turn_of(self._host(scope), self._crawl_delay)
        limit = self._limits.get(scope)
        if limit is None:
            return turn
        return turn._replace(pause=max(turn.pause, 1.0 / limit.budget.rate - turn.answers_in))

    def poll_begun(self, scope: str, now: float) -> None:
        """A poll of this scope has begun."""
        if scope in self._limits:
            self._limits[scope].spend(1.0, now)
        self._note(scope, politeness.poll_begun(self._hosts.get(scope, self._new), now), now)

    def fetched_more(self, scope: str, polls: float, now: float) -> None:
        """A poll of this scope took as much as so many polls more, which its limit counts."""
        if scope in self._limits:
            self._limits[scope].correct(polls, now)

    def poll_ended(self, scope: str, now: float, *, is_timed: bool = True) -> None:
        """The poll of this scope has ended; `is_timed`: it took the time of an answer."""
        host = politeness.poll_ended(self._hosts.get(scope, self._new), now, is_timed=is_timed)
        self._note(scope, host, now)

    def look_begun(self, scope: str, seconds: float, now: float) -> bool:
        """The poll of this scope was answered, and fetches its page again after so many seconds.

        Whether others have time until then; else the poll goes on.
        """
        host = politeness.look_begun(self._host(scope), now)
        if not scope or not politeness.leaves_time(host, seconds, self._crawl_delay):
            return False
        self._note(scope, host, now)
        return True

    def look_ended(self, scope: str, now: float) -> None:
        """The poll of this scope that looked while others had the host has ended."""
        self._note(scope, politeness.look_ended(self._host(scope), now), now)

    def poll_lost(self, scope: str, now: float) -> None:
        """The poll of this scope was given up."""
        self._note(scope, politeness.poll_lost(self._host(scope), now), now)

    def is_polled(self, scope: str) -> bool:
        """Whether a poll of this scope is under way."""
        return self._host(scope).polling_since is not None

    def waits(self, page_id: int) -> bool:
        """Whether a page waits in line for its host."""
        return page_id in self._waiting

    def join(self, scope: str, page_id: int, free_at: float) -> bool:
        """Let a page wait for its host, free at the time given; whether there was room."""
        if len(self._lines.get(scope, ())) >= self._places:
            return False
        self._lines.setdefault(scope, deque()).append(page_id)
        self._waiting.add(page_id)
        self._expect(scope, free_at)
        return True

    def leave(self, scope: str, page_id: int) -> bool:
        """Take a page out of the line for its host; whether it was in it."""
        if page_id not in self._waiting:
            return False
        line = self._lines[scope]
        line.remove(page_id)
        self._waiting.remove(page_id)
        if not line:
            del self._lines[scope], self._expected[scope]
        return True

    def turn_away(self, scope: str, now: float) -> float:
        """When a page that found no room in line may come again."""
        host, until = politeness.turned_away(self._host(scope), now, self._crawl_delay)
        self._put(scope, host)
        return max(until, self.limited_until(scope))

    def next_page(self, now: float) -> int | None:
        """Take a page out of the line for a host that is free now."""
        while self._free and self._free[0][0] <= now:
            time, scope = heapq.heappop(self._free)
            if self._expected.get(scope) != time:
                continue
            free = self.free_at(scope, now)
            if free > now:
                self._expect(scope, free)
                continue
            line = self._lines[scope]
            chosen = line[0] if len(line) == 1 else self._choose(line, now)
            self.leave(scope, chosen)
            if line:
                self._expect(scope, now)
            return chosen
        return None

    def count(self) -> tuple[int, int]:
        """How many hosts are known, and how many of them have a line."""
        return len(self._hosts), len(self._lines)

    @property
    def first_free(self) -> float:
        """When the first host with a line is expected to be free; infinite: there is no line."""
        return self._free[0][0] if self._free else math.inf

    def next_in_line(self) -> tuple[float, int] | None:
        """When the first host with a line is expected to be free, and its first page; or None.

        Takes time in proportion to the lines.
        """
        lines = self._lines
        expected = self._expected.items()
        return min(((time, lines[scope][0]) for scope, time in expected), default=None)

    def state(self, now: float) -> list[tuple[str, float, float]]:
        """Rows for a JSON text: scope, pace, and from when on it may be polled."""
        rows = []
        for scope in self._busy:
            host = self._hosts[scope]
            free = politeness.free_at(host, now, self._crawl_delay)
            if host.pace > 0 or free > now:
                rows.append((scope, host.pace, free))
        # The others are free for good, until they are polled again: time never falls.
        self._busy = {scope: None for scope, _, _ in rows}
        return rows

    def asked_until(self, now: float) -> float | None:
        """The time that `leave_alone` was told; None: none, or no host rests for it any more."""
        rested_at = self._asked_until + max(self._crawl_delay, self._longest_pace)
        return self._asked_until if rested_at > now else None

    def leave_alone(self, since: float) -> None:
        """Leave each host alone for its delay from a time on: any may have been asked until then.

        For after `load`, and before anything else.
        """
        self._asked_until = since
        self._new = self._left_alone(Host())
        self._hosts = {scope: self._left_alone(host) for scope, host in self._hosts.items()}

    def _left_alone(self, host: Host) -> Host:
        since, delay = self._asked_until, politeness.turn_of(host, self._crawl_delay).pause
        if host.blocked_until > since:
            # It was asked by nothing but a poll that was under way and took longer than expected.
            # Without a bound it might wait for ever, if a run is killed more often than it delays.
            delay = min(delay, _LATE)
        return politeness.blocked(host, since + delay)

    def limits_state(self) -> dict[str, tuple[float, float]]:
        """For a JSON text, by scope: its limit in polls a second, and until when it allows none."""
        return {
            scope: (limit.budget.rate, limit.next_at)
            for scope, limit in self._limits.items()
            if math.isfinite(limit.next_at)
        }

    def answers_text(self, now: float) -> str:
        """A JSON text, by scope: the seconds that answers take, of the slowest hosts.

        It may be a minute old where there are thousands of hosts.
        """
        made_at, text = self._answers
        kept_for = min(_TOLD_AGAIN * len(self._hosts), _LONGEST_TOLD_AGAIN)
        if not made_at <= now < made_at + kept_for:
            self._keep_slowest()
            measured = self._slowest.items()
            told = {one: round(time, 3) for one, time in measured if time >= _SHORTEST_MEASURED}
            text = json.dumps(told)
            self._answers = now, text
        return text

    def load(
        self,
        hosts: dict[str, Host],
        limits: Mapping[str, tuple[float, float]],
        answers: Mapping[str, float],
    ) -> None:
        """Put the hosts back that `hosts_of` read, the limits that have the same rates, and the
        seconds that answers take.
        """
        self._hosts = hosts
        self._busy = dict.fromkeys(hosts)
        self._answers = (-math.inf, "")
        self._slowest, self._slow = {}, _SHORTEST_MEASURED
        for scope, seconds in answers.items():
            self._put(scope, self._host(scope)._replace(answers_in=seconds))
        for scope, (rate, next_at) in limits.items():
            if scope in self._limits and self._limits[scope].budget.rate == rate:
                self._limits[scope].next_at = next_at

    def set_back(self, seconds: float) -> None:
        """Set all times that were put back by so much."""
        self._hosts = {
            scope: politeness.set_back(host, seconds) for scope, host in self._hosts.items()
        }
        self._new = politeness.set_back(self._new, seconds)
        self._asked_until -= seconds
        for limit in self._limits.values():
            limit.next_at -= seconds

    def _note(self, scope: str, host: Host, now: float) -> None:
        if scope:
            self._put(scope, host)
            if scope in self._lines:
                self._expect(scope, self.free_at(scope, now))

    def _put(self, scope: str, host: Host) -> None:
        self._hosts[scope] = host
        self._busy[scope] = None
        if host.answers_in >= self._slow or scope in self._slowest:
            self._slowest[scope] = host.answers_in
            if len(self._slowest) > 2 * _MOST_MEASURED:
                self._keep_slowest()

    def _keep_slowest(self) -> None:
        self._slow = _SHORTEST_MEASURED
        if len(self._slowest) >= _MOST_MEASURED:
            slowest = heapq.nlargest(_MOST_MEASURED, self._slowest.items(), key=itemgetter(1))
            self._slowest = dict(slowest)
            self._slow = max(slowest[-1][1], _SHORTEST_MEASURED)

    def _expect(self, scope: str, free_at: float) -> None:
        """Expect a host with a line to be free at this time, instead of at an earlier guess."""
        self._expected[scope] = free_at
        heapq.heappush(self._free, (free_at, scope))

    def _host(self, scope: str) -> Host:
        return self._hosts.get(scope, self._new)


def hosts_of(rows: Sequence[Sequence[Any]]) -> dict[str, Host]:
    """The hosts of the rows that `Hosts.state` gives; errors of many kinds where they are none."""
    return {
        str(scope): Host(pace=float(pace), blocked_until=float(free)) for scope, pace, free in rows
    }
