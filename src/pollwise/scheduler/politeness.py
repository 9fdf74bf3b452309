"""When a host may be polled again: pure functions of time.

A host, or whatever shares a politeness scope, gets one poll at a time and is left alone after each:
for the crawl delay that every host is due, or its own if that is longer (`Crawl-delay` in
robots.txt, not part of RFC 9309), and until the time that it named itself (Retry-After, RFC 9110
section 10.2.3).

A poll that has its answer may *look* for noise: it waits and fetches its page again. Other polls
may have the host meanwhile, and each fetch of the look takes one turn of it, like a poll.
"""

import math
from typing import NamedTuple

__all__ = [
    "Host",
    "Turn",
    "blocked",
    "free_at",
    "leaves_time",
    "look_begun",
    "look_ended",
    "paced",
    "poll_begun",
    "poll_ended",
    "poll_lost",
    "set_back",
    "turn_of",
    "turned_away",
]

_SHORTEST_WAIT = 0.01
"""Seconds that a page which comes while a poll is under way has to wait at least."""
_LATEST = 1 / 8
"""The weight of the latest answer in the mean time that answers take."""


class Host(NamedTuple):
    """What politeness needs to know of one scope; a new one is free at any time.

    `pace` is the delay in seconds that the host asked for, `blocked_until` the time until which it
    wants to be left alone, `ended_at` the end of its latest poll, `duration` the seconds that its
    latest poll took (at first a guess), `answers_in` what answers take on average lately (0:
    none was measured). `polling_since` is the start of the poll under way (None: there is none),
    `waiting` the number of pages turned away since a poll began or ended. `looks` are under way
    beside that poll, which began `among_looks`: it may have to wait for theirs.
    """

    pace: float = 0.0
    blocked_until: float = -math.inf
    ended_at: float = -math.inf
    duration: float = 1.0
    answers_in: float = 0.0
    polling_since: float | None = None
    waiting: int = 0
    looks: int = 0
    among_looks: bool = False


class Turn(NamedTuple):
    """What a poll takes of a host's time: it `answers_in` so many seconds, then it is left alone
    for a `pause` (seconds).
    """

    pause: float
    answers_in: float

    @property
    def most_polls(self) -> float:
        """The polls a second that it takes at most, one after the other; may be infinite."""
        seconds = self.pause + self.answers_in
        return 1.0 / seconds if seconds > 0 else math.inf


def free_at(host: Host, now: float, crawl_delay: float) -> float:
    """The time from which the host may be polled; a time up to `now` means that it may be now.

    `crawl_delay` is the delay in seconds that every host is due. While a poll is under way the
    time is an estimate, always later than `now`. The poll is expected to take as long as the one
    before; once it has taken longer, twice as long as so far. So a caller that comes back at the
    estimated time does so only a few times, however long the poll lasts.

    >>> host = poll_begun(Host(), 100.0)
    >>> free_at(host, 100.5, crawl_delay=2.0), free_at(host, 130.0, crawl_delay=2.0)
    (103.0, 162.0)
    >>> free_at(poll_ended(host, 130.0), 130.0, crawl_delay=2.0)
    132.0
    """
    pace, blocked_until, ended_at, duration, _, polling_since, _, _, _ = host
    delay = pace if pace > crawl_delay else crawl_delay
    if polling_since is None:
        free = ended_at + delay
    else:
        # Without `max`: this is asked for each host under way whenever the state is written.
        expected, longer = polling_since + duration, now + (now - polling_since)
        free = (expected if expected > longer else longer) + delay
        soonest = now + _SHORTEST_WAIT
        free = free if free > soonest else soonest
    return blocked_until if blocked_until > free else free


def turn_of(host: Host, crawl_delay: float) -> Turn:
    """What a poll of the host takes of its time.

    >>> host = poll_ended(poll_begun(Host(ended_at=90.0), 100.0), 103.0)
    >>> turn_of(host, crawl_delay=2.0), turn_of(host, crawl_delay=2.0).most_polls
    (Turn(pause=2.0, answers_in=3.0), 0.2)
    """
    return Turn(_delay(host, crawl_delay), host.answers_in)


def turned_away(host: Host, now: float, crawl_delay: float) -> tuple[Host, float]:
    """The host after a page had to be turned away, and when that page may come again.

    The pages turned away between two polls get one turn each, so that they do not all come back
    whenever a busy host is free. Of n pages that wait for it, about √(2n) come at a free moment,
    and the policy chooses among them. A turn is what answers take on average: one slow answer must
    not send all others away for as long.

    >>> host = poll_ended(poll_begun(Host(), 99.0), 100.0)
    >>> host, first = turned_away(host, 100.0, crawl_delay=2.0)
    >>> host, second = turned_away(host, 100.0, crawl_delay=2.0)
    >>> first, second
    (102.0, 105.0)
    """
    free = free_at(host, now, crawl_delay)
    if host.polling_since is not None and now > host.polling_since + host.duration:
        # A page that comes back again and again while a poll is late must not lose its turn.
        return host, free
    turn = max(_delay(host, crawl_delay) + (host.answers_in or host.duration), _SHORTEST_WAIT)
    return host._replace(waiting=host.waiting + 1), free + host.waiting * turn


def poll_begun(host: Host, now: float) -> Host:
    """The host with a poll under way."""
    # Not by `_replace`, which takes three times as long: each poll begins and ends.
    pace, blocked_until, ended_at, duration, answers_in, _, _, looks, _ = host
    among_looks = looks > 0
    return Host(pace, blocked_until, ended_at, duration, answers_in, now, 0, looks, among_looks)


def poll_ended(host: Host, now: float, *, is_timed: bool = True) -> Host:
    """The host after its poll has ended.

    `is_timed`: it took the time of an answer, unless it began among looks.
    """
    if host.polling_since is None:
        return host._replace(ended_at=now, waiting=0)
    took, usual = now - host.polling_since, host.answers_in
    # The first poll reads robots.txt as well.
    if host.ended_at > -math.inf and is_timed and not host.among_looks:
        usual = usual + _LATEST * (took - usual) if usual > 0 else took
    return Host(
        host.pace, host.blocked_until, now, took, usual, None, 0, host.looks, host.among_looks
    )


def look_begun(host: Host, now: float) -> Host:
    """The host after its poll was answered and lets others have it while it looks for noise."""
    host = poll_ended(host, now)
    return host._replace(looks=host.looks + 1)


def leaves_time(host: Host, seconds: float, crawl_delay: float) -> bool:
    """Whether the looks under way, which take a turn of the host each within so many seconds, leave
    others any.

    >>> [leaves_time(Host(looks=looks), 1.1, crawl_delay=0.5) for looks in (1, 2, 3)]
    [True, True, False]
    """
    pause, answers_in = turn_of(host, crawl_delay)
    return host.looks * (pause + answers_in) <= seconds


def look_ended(host: Host, now: float) -> Host:
    """The host after a look, whose latest fetch has just ended unless a poll is under way."""
    host = host._replace(looks=host.looks - 1)
    return host if host.polling_since is not None else host._replace(ended_at=now)


def poll_lost(host: Host, now: float) -> Host:
    """The host after its poll was given up; how long its answers take is not known from that."""
    return host._replace(polling_since=None, ended_at=now, waiting=0)


def blocked(host: Host, until: float) -> Host:
    """The host left alone until a time, or longer if it was blocked for longer."""
    return host._replace(blocked_until=max(host.blocked_until, until))


def paced(host: Host, delay: float) -> Host:
    """The host with the delay in seconds that it asks for now."""
    return host._replace(pace=delay)


def set_back(host: Host, seconds: float) -> Host:
    """The host, to which no poll is under way, with all its times so much earlier."""
    return host._replace(
        blocked_until=host.blocked_until - seconds, ended_at=host.ended_at - seconds
    )


def _delay(host: Host, crawl_delay: float) -> float:
    return max(crawl_delay, host.pace)
