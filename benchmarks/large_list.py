"""How `pollwise watch` copes with a long list: how soon it polls, what it takes, how it ends.

    python benchmarks/large_list.py [--hosts 1000] [--pages 1000] [--budget 500/second]
        [--seconds 20] [--json]

So many hosts on loopback addresses, with so many pages each, are watched from a list in a file:
first with a new database, then again with the one that this has made, then with that one alone and
no list. The time until the first request is that by the clock; then it polls for --seconds more,
and is ended by SIGINT. The CPU time is that of the process, and of those that it began and that
have ended, when the database has the first poll, looked at once a second (Linux only).
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from served import Log, serving
from watches import memory, started

from pollwise.errors import StoreError
from pollwise.events import Polled, Together
from pollwise.store import Store

_LOOK_EVERY = 1.0
_TOO_LONG = 1800.0


@dataclass(frozen=True)
class Start:
    """What one start was like: seconds, polls a second from the first request on, megabytes."""

    pages: int
    database: str
    until_first_request: float
    cpu_until_first_poll: float
    polls_per_second: float
    memory: float
    on_disk: float
    until_ended: float


def run(
    urls: list[str], budget: str, place: Path, seconds: float
) -> tuple[float, float, float, float]:
    """Watch pages until they have been polled for so long; when it began and was told to end, the
    memory it had then, and the CPU seconds until the first poll.
    """
    before, begun_at = latest_run(place), time.monotonic()
    process = started(urls, budget, place)
    while latest_run(place) == before or not has_polled(place):
        if process.poll() is not None or time.monotonic() > begun_at + _TOO_LONG:
            sys.exit(f"no poll: {(place / 'watch.log').read_text()}")
        time.sleep(_LOOK_EVERY)
    cpu = cpu_seconds(process.pid)
    time.sleep(seconds)
    ended_at, most = time.monotonic(), memory(process.pid, at_most=False)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=600)
    return begun_at, ended_at, most, cpu


def cpu_seconds(process: int) -> float:
    """Those of a process and of its children that have ended."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def latest_run(place: Path) -> int | None:
    """The number of the latest run that the database has; None: there is none."""
    with suppress(StoreError), Store.open_readonly(place / "watch.db") as store:
        return max((run.id for run in store.runs()), default=None)
    return None


def has_polled(place: Path) -> bool:
    """Whether the latest run has polled.

    To count the polls would keep a core busy that the watch could use.
    """
    with Store.open_readonly(place / "watch.db") as store:
        for event in store.events(store.runs()[-1].id):
            together = event.events if isinstance(event, Together) else (event,)
            if any(isinstance(one, Polled) for one in together):
                return True
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--budget", default="500/second")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        words = ["plain", "--hosts", str(asked.hosts), "--pages", str(asked.pages), "--steady"]
        with serving(place / "log.npz", *words) as urls:
            for database, listed in (("new", urls), ("known", urls), ("known, unlisted", [])):
                begun_at, ended_at, most, cpu = run(listed, asked.budget, place, asked.seconds)
                over_after = time.monotonic() - ended_at
                on_disk = (place / "watch.db").stat().st_size / 1e6
                runs.append((database, begun_at, ended_at, most, cpu, on_disk, over_after))
        log = Log.read(place / "log.npz")
    of_pages = np.sort(log.begun_at[log.page != -1])
    starts = []
    for database, begun_at, ended_at, most, cpu, on_disk, over_after in runs:
        times = of_pages[(of_pages >= begun_at) & (of_pages < ended_at)]
        first = float(times[0])
        rate = len(times) / (ended_at - first)
        until = first - begun_at
        starts.append(Start(len(urls), database, until, cpu, rate, most, on_disk, over_after))
    if asked.json:
        print(json.dumps([asdict(start) for start in starts], indent=2))
        return 0
    for start in starts:
        print(
            f"{start.pages:,} pages, database {start.database}: first request after"
            f" {start.until_first_request:.1f} s ({start.cpu_until_first_poll:.1f} s of CPU),"
            f" then {start.polls_per_second:.0f} polls a second;"
            f" {start.memory:.0f} MB, {start.on_disk:.0f} MB on disk; ended in"
            f" {start.until_ended:.1f} s"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
