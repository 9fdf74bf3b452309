"""The demonstration: a year of real pages, watched over HTTP by two schedules side by side.

Both watch the same hosts under the same budget, each with a store, a fetcher and a scheduler of its
own, as in `pollwise watch`. A time-lapse server plays the year, with hosts that are slow, calm or
failing. Time is virtual (`pollwise.live.virtual_clock`): the figures do not depend on how fast or
busy the machine is, and the year takes as long as its polls.
"""

import errno
import multiprocessing
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path

import numpy as np

from pollwise.child_processes import without_interrupts
from pollwise.errors import PollwiseError
from pollwise.live.demo_watcher import Ended, News, Polled, Watch, watch_apart
from pollwise.metrics import Polls
from pollwise.testing.timelapse import TimeLapse

__all__ = ["WATCHERS", "Watcher", "run_demo"]

WATCHERS = ("bayes-index", "uniform")
"""The policies of the two: the default, and every page equally often."""


@dataclass(slots=True)
class Watcher:
    """One of the watchers, and what it has told so far.

    `now`: how far it is (UTC seconds of the time-lapse). `requests`, known at the end, are those on
    the wire, robots.txt and redirects included.
    """

    policy: str
    now: float
    polls: list[Polled] = field(default_factory=list)
    requests: int | None = None

    @property
    def found(self) -> int:
        """The polls so far that found a change."""
        return sum(poll.found for poll in self.polls)

    def answered(self) -> Polls:
        """The polls that got the page, to be scored; pages are numbered as in the time-lapse."""
        answered = [poll for poll in self.polls if poll.has_answer]
        return Polls(
            np.array([poll.page for poll in answered], np.int64),
            np.array([poll.at for poll in answered]),
        )


def run_demo(
    timelapse: TimeLapse,
    on_progress: Callable[[Mapping[str, Watcher]], None],
    *,
    seconds: float | None = None,
) -> list[Watcher]:
    """Let all watch the time-lapse; `on_progress` is told of the watchers, by policy, ever again.

    `seconds`: how long it takes, at least; None: no longer than it must. `PollwiseError` if no port
    can be served, a database cannot be written, or a process is ended.
    """
    speed = None if seconds is None else (timelapse.end - timelapse.start) / seconds
    watchers = {policy: Watcher(policy, timelapse.start) for policy in WATCHERS}
    with tempfile.TemporaryDirectory(prefix="pollwise-demo-") as folder:
        watches = [Watch(policy, timelapse, Path(folder), speed) for policy in WATCHERS]
        with _processes(watches) as connections:
            by_connection = dict(zip(connections, watchers.values(), strict=True))
            while any(watcher.requests is None for watcher in watchers.values()):
                going_on = [c for c, watcher in by_connection.items() if watcher.requests is None]
                for connection in wait(going_on):
                    assert isinstance(connection, Connection)
                    _hear(by_connection[connection], connection)
                on_progress(watchers)
    return list(watchers.values())


def _hear(watcher: Watcher, connection: Connection) -> None:
    """Take in what a watcher tells."""
    try:
        told = connection.recv()
    except EOFError:
        raise PollwiseError(
            f"the process that watched by {watcher.policy} was ended from outside, perhaps for want"
            " of memory: try again"
        ) from None
    match told:
        case News(now, polls):
            watcher.now = now
            watcher.polls += polls
        case Ended(requests):
            watcher.requests = requests
        case PollwiseError() as error:
            raise error
        case OSError() as error:
            if error.errno == errno.ENOSPC:
                raise error
            raise PollwiseError(f"{watcher.policy} could not watch ({error})") from error


@contextmanager
def _processes(watches: Sequence[Watch]) -> Iterator[list[Connection]]:
    """A process for each watch, and the connections by which they tell; all end with it."""
    context = multiprocessing.get_context("spawn")
    connections, processes = [], []
    try:
        for watch in watches:
            ours, theirs = context.Pipe(duplex=False)
            connections.append(ours)
            process = context.Process(target=watch_apart, args=(watch, theirs), daemon=True)
            with theirs, without_interrupts():  # closed here, the pipe breaks when it dies
                process.start()
                processes.append(process)
        yield connections
    finally:
        for process in processes:
            process.kill()
            process.join()
        for connection in connections:
            connection.close()
