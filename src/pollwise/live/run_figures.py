"""A run in figures: what a process that polls tells of itself, at any moment and at once."""

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sized
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, dataclass, field, fields
from time import monotonic
from typing import Any

from pollwise.boot_clock import seconds_since_boot
from pollwise.checks import read_json
from pollwise.errors import InputError
from pollwise.insight.words import count, number
from pollwise.live.clock import Clock
from pollwise.live.progress import Progress
from pollwise.policies.awaited import AwaitedPolicy
from pollwise.scheduler.scheduler import Scheduler
from pollwise.types import Outcome
from pollwise.units import HOUR
from pollwise.web.traffic import ANSWERS, Traffic

__all__ = ["BesideRun", "RunFigures", "RunMeter", "decode", "encode"]

_NAP = 0.5
"""Seconds between two looks at how late the event loop is."""


@dataclass(frozen=True, slots=True)
class RunFigures:
    """How a run stands at the time `at` (UTC seconds); it began at `started_at`.

    That is by the clock of the run. `uptime` is the same moment in seconds since this machine was
    started, by which another process can tell how old the figures are though its clock was set.

    Counted since it began: the `polls` by outcome (changed, unchanged, gone, failed, postponed) and
    the `changes` among them, which are no first copies; `spent` cost units, and what the budget
    `allowed` (none in quiet hours); and what went over the wire: see `Traffic` (`wait_seconds` and
    `longest_wait` are its seconds).

    At this moment: polls `under_way`, watched `pages`, those that wait for their `first_copies`,
    politeness scopes `hosts` that were polled or wanted something, and `hosts_in_line` with pages
    that wait for them; the budget `rate` in cost units a second; the `price` that the policy
    reached (None: it has none); `next_poll_at`, before which the budget allows no poll (None: it
    never polled); seconds by which the latest nap of the event loop was too long (`loop_lag`) and
    that the latest commit took (`commit_seconds`); whether it is `compiling`, and `quiet`: no poll
    may begin.
    """

    started_at: float
    at: float
    uptime: float
    polls: Mapping[str, int]
    changes: int
    spent: float
    allowed: float
    requests: int
    answers: Mapping[str, int]
    bytes_received: int
    wait_seconds: float
    longest_wait: float
    under_way: int
    pages: int
    first_copies: int
    hosts: int
    hosts_in_line: int
    rate: float
    price: float | None
    next_poll_at: float | None
    loop_lag: float
    commit_seconds: float
    compiling: bool
    quiet: bool


BesideRun = Callable[[Callable[[], RunFigures]], AbstractAsyncContextManager[None]]
"""Gives a context for a run, from what gives its figures."""


def encode(figures: RunFigures) -> str:
    """The figures in JSON, on one line; `decode` gives the equal ones back."""
    return json.dumps(asdict(figures), separators=(",", ":"), allow_nan=False)


def decode(text: str) -> RunFigures:
    """The figures of a text; `InputError` if it has none."""
    try:
        told = read_json(text)
        polls = {one.name.lower(): told["polls"][one.name.lower()] for one in Outcome}
        answers = {one: told["answers"][one] for one in ANSWERS}
        figures = RunFigures(**{**told, "polls": polls, "answers": answers})
        for one in fields(RunFigures):
            _require_type(getattr(figures, one.name), one.type)
        for count in (*polls.values(), *answers.values()):
            _require_type(count, int)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"no figures of a run: {text[:80]!r} ({error})") from error
    return figures


def _require_type(value: object, kind: Any) -> None:
    is_whole = type(value) is int
    fits = {
        int: is_whole,
        float: is_whole or type(value) is float,
        bool: type(value) is bool,
        float | None: value is None or is_whole or type(value) is float,
    }
    if not fits.get(kind, True):
        raise TypeError(f"{value!r} for {kind}")


@dataclass(slots=True)
class RunMeter:
    """Counts what happens in a run; `figures` takes the same short time whatever has happened.

    `pages` are those watched. `commit_seconds` tells what the latest commit took, and `is_quiet`
    whether no poll may begin.
    """

    scheduler: Scheduler
    clock: Clock
    pages: Sized
    traffic: Traffic
    commit_seconds: Callable[[], float]
    is_quiet: Callable[[], bool]
    started_at: float = field(init=False)
    _polls: dict[Outcome, int] = field(init=False)
    _changes: int = 0
    _spent: float = 0.0
    _allowed: float = 0.0
    _looked_at: float = field(init=False)
    _loop_lag: float = 0.0

    def __post_init__(self) -> None:
        self.started_at = self._looked_at = self.clock()
        self._polls = dict.fromkeys(Outcome, 0)

    def note(self, progress: Progress) -> None:
        """Count a turn of the loop."""
        for outcome, polls in progress.outcomes.items():
            self._polls[outcome] += polls
        self._spent += progress.cost
        self._changes += progress.changes

    def in_words(self) -> str:
        """How the run stands, on one line."""
        rate, polls = self.scheduler.budget.rate, sum(self._polls.values())
        return (
            f"{count(len(self.pages), 'page')}, {number(rate * HOUR)} an hour;"
            f" since the start {count(polls, 'poll')}, {count(self._changes, 'change')}"
        )

    @asynccontextmanager
    async def minding(self) -> AsyncIterator[None]:
        """A context in which the lag of the event loop is measured."""
        looking = asyncio.ensure_future(self._look())
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.wait([looking])

    async def _look(self) -> None:
        while True:
            begun_at = monotonic()
            await asyncio.sleep(_NAP)
            self._loop_lag = max(monotonic() - begun_at - _NAP, 0.0)

    def figures(self) -> RunFigures:
        """How the run stands now; what was allowed is added up from one call to the next."""
        scheduler, traffic = self.scheduler, self.traffic
        now = self.clock()
        if not self.is_quiet():
            self._allowed += scheduler.budget.rate * (now - self._looked_at)
        self._looked_at = now
        hosts, hosts_in_line = scheduler.count_hosts()
        free_at = scheduler.budget_free_at
        return RunFigures(
            started_at=self.started_at,
            at=now,
            uptime=seconds_since_boot(),
            polls={outcome.name.lower(): number for outcome, number in self._polls.items()},
            changes=self._changes,
            spent=self._spent,
            allowed=self._allowed,
            requests=traffic.requests,
            answers=dict(traffic.answers),
            bytes_received=traffic.bytes_received,
            wait_seconds=traffic.waited,
            longest_wait=traffic.longest_wait,
            under_way=scheduler.in_flight,
            pages=len(self.pages),
            first_copies=scheduler.first_copies_left,
            hosts=hosts,
            hosts_in_line=hosts_in_line,
            rate=scheduler.budget.rate,
            price=scheduler.price,
            next_poll_at=free_at if math.isfinite(free_at) else None,
            loop_lag=self._loop_lag,
            commit_seconds=self.commit_seconds(),
            compiling=isinstance(scheduler.policy, AwaitedPolicy),
            quiet=self.is_quiet(),
        )
