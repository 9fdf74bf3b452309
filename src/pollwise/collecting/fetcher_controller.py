"""How many polls may be under way at a time: the fetcher controller of a topic-specific robot.

The response processor is the bottleneck of a crawl, so it should never wait; but the longer its
queue of responses, the older the choices that led to them. To keep one worker busy that needs p
seconds for a page while a fetch takes l seconds, m = l / p pages must be under way in fetches on
average. Their number varies as in a system with infinitely many servers, by about √m. So with

    polls under way = m + z √m + workers

(fetched, queued and processed together) about z √m responses wait in the queue, and it runs empty
as rarely as a normal variable exceeds z: the square-root staffing rule. It assumes independent
arrivals, but polls end in bursts, once a turn of the loop; so z is raised while the processor is
still idle, and lowered while it is not.

Sources: S. Halfin, W. Whitt: Heavy-traffic limits for queues with many exponential servers,
Operations Research 29(3), 1981, the rule; T. O'Meara, A. Patel: A topic-specific Web robot model
based on restless bandits, IEEE Internet Computing 5(2), 2001, the controller's task.
"""

import math

from pollwise.errors import InputError

__all__ = ["FetcherController"]

_MEMORY = 200
"""Pages over which the measured times are averaged, exponentially weighted."""
_IDLE_TARGET = 0.005
_LEAST_SAFETY, _MOST_SAFETY = 1.0, 10.0
_RAISE, _LOWER = 1.1, 0.98
"""Factors of the safety; it is raised in about one of six periods."""
_FIRST_STAFF = 8
"""Polls under way before anything is measured."""


class FetcherController:
    """Staffs the document fetchers by the square-root rule and measured times.

    `workers` is the number of response processors, `safety` the first z of the rule, `most_polls` a
    bound on the answer. `InputError` for values out of range.

    >>> controller = FetcherController()
    >>> controller.fetched(1.6)
    >>> controller.processed(0.016)
    >>> controller.staff(hosts_ready=1000)
    121
    >>> controller.staff(hosts_ready=35)
    35
    """

    def __init__(self, *, workers: int = 1, safety: float = 2.0, most_polls: int = 1000) -> None:
        for name, value in (("workers", workers), ("most_polls", most_polls)):
            if value < 1:
                raise InputError(f"FetcherController: {name}={value} must be at least 1")
        if not 0 <= safety < math.inf:
            raise InputError(f"FetcherController: safety={safety} must be finite and at least 0")
        self._workers = workers
        self._safety = safety
        self._most_polls = most_polls
        self._capped = False
        self._latency = _Average()
        self._processing_time = _Average()

    def fetched(self, seconds: float) -> None:
        """A poll took so long, without its time in the response queue and the processor."""
        self._latency.add(seconds)

    def processed(self, seconds: float) -> None:
        """The response processor worked so long on a page."""
        self._processing_time.add(seconds)

    def idled(self, share: float) -> None:
        """The response processors were idle for this share of the latest second or so.

        Ignored when too few hosts, not too few polls, are the reason.
        """
        if share <= _IDLE_TARGET:
            self._safety = max(self._safety * _LOWER, _LEAST_SAFETY)
        elif not self._capped:
            self._safety = min(self._safety * _RAISE, _MOST_SAFETY)

    @property
    def latency(self) -> float:
        """How long polls take on average, in seconds; 0: none has ended."""
        return 0.0 if math.isnan(self._latency.mean) else self._latency.mean

    def staff(self, hosts_ready: int, slow: int = 0) -> int:
        """The number of polls that may be under way, at least 1.

        `hosts_ready`: the number of hosts with pages to poll, which bounds it as each host gets one
        poll at a time. `slow`: the polls under way that have taken far too long; they come on top.
        """
        fetchers = self._latency.mean / max(self._processing_time.mean, 1e-9) * self._workers
        if math.isnan(fetchers):
            wanted = _FIRST_STAFF
        else:
            fetchers = min(fetchers, self._most_polls)
            wanted = math.ceil(fetchers + self._safety * math.sqrt(fetchers) + self._workers)
        self._capped = wanted + slow > hosts_ready
        return max(1, min(wanted + slow, hosts_ready, self._most_polls))


class _Average:
    """A mean of the latest values: exact while they are few, exponentially weighted later."""

    def __init__(self) -> None:
        self.mean = math.nan
        self._count = 0

    def add(self, value: float) -> None:
        self._count = min(self._count + 1, _MEMORY)
        self.mean = value if self._count == 1 else self.mean + (value - self.mean) / self._count
