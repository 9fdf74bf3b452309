"""When a host may be polled again: pure functions of time.

A host, or whatever shares a politeness scope, is polled by one poll at a time, and after each poll
it is left alone for a while: for the crawl delay that everybody is due, or for its own if that is
longer (`Crawl-delay` of robots.txt, which RFC 9309 leaves to custom), and until the time that it
named itself (Retry-After, RFC 9110 section 10.2.3).
"""

import math
from dataclasses import dataclass, replace

__all__ = ["LONGEST_PACE", "Host", "blocked", "free_at", "paced", "poll_begun", "poll_ended"]

LONGEST_PACE = 3600.0
"""A host that asks for a longer delay between polls (seconds) gets this one."""

_SHORTEST_WAIT = 1.0
"""What a poll under way is expected to take at least, in seconds."""


@dataclass(frozen=True, slots=True)
class Host:
    """What politeness needs to know of one scope; a new one is free at any time.

    `pace` is the delay in seconds that the host asked for, `blocked_until` the time until which it
    wants to be left alone, `ended_at` the end of its latest poll, and `polling_since` the start of
    the poll under way (None: there is none).
    """

    pace: float = 0.0
    blocked_until: float = -math.inf
    ended_at: float = -math.inf
    polling_since: float | None = None


def free_at(host: Host, now: float, crawl_delay: float) -> float:
    """The time from which the host may be polled: not later than `now` if that is so already.

    `crawl_delay` is the delay in seconds that every host is due. While a poll is under way the
    time is an estimate, always later than `now`: nobody knows when the answer comes. One that has
    taken long may take long again, so the poll is expected to last as long as it did so far, and
    whoever comes back at the estimated time asks a number of times that grows only with the
    logarithm of the duration, on any scale of time.

    >>> host = poll_begun(Host(), 100.0)
    >>> free_at(host, 100.5, crawl_delay=2.0), free_at(host, 130.0, crawl_delay=2.0)
    (102.5, 160.0)
    >>> free_at(poll_ended(host, 130.0), 130.0, crawl_delay=2.0)
    132.0
    """
    delay = max(crawl_delay, min(host.pace, LONGEST_PACE))
    if host.polling_since is None:
        free = host.ended_at + delay
    else:
        free = now + max(delay, now - host.polling_since, _SHORTEST_WAIT)
    return max(free, host.blocked_until)


def poll_begun(host: Host, now: float) -> Host:
    """The host with a poll under way."""
    return replace(host, polling_since=now)


def poll_ended(host: Host, now: float) -> Host:
    """The host after its poll has ended, or was given up."""
    return replace(host, polling_since=None, ended_at=now)


def blocked(host: Host, until: float) -> Host:
    """The host left alone until a time; it does not shorten a longer block."""
    return replace(host, blocked_until=max(host.blocked_until, until))


def paced(host: Host, delay: float) -> Host:
    """The host with the delay in seconds that it asks for now, instead of an earlier one."""
    return replace(host, pace=delay)
