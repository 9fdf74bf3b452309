"""CPU seconds of `pollwise watch` until its first request, with 10,000 pages known.

    python benchmarks/start_up.py [--hosts 1000] [--pages 10] [--times 5] [--json]

The database is that of a watch that has polled every page; machine code and byte code are on the
disk. All figures are the least of several: also those of the commands that read that database, and
of importing what they need. They need Linux, which tells the CPU time of another process.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from served import Log, serving
from watches import ENVIRONMENT, POLLWISE, polls_kept, watching

from pollwise.live.compiling import rehearse
from pollwise.settings import WatchSettings

BUDGET = "1000/second"
"""So much that a page is due at once."""
LONGEST = 5.0
"""Seconds after which a watch has long made its first request."""
COMMANDS = ("status", "list", "changes", "plan")
IMPORTED = {
    "pollwise watch": "pollwise.cli, pollwise.console.watching, pollwise.live.watching",
    "pollwise status": "pollwise.cli, pollwise.console.status, pollwise.insight.status",
    "the policy": "pollwise.policies.index.bayes_index",
}
Looks = list[tuple[float, float]]
"""At a process: times of `time.monotonic`, and the CPU seconds that it had used by then."""


def looks_at_start(place: Path) -> Looks:
    """Look at a watch while it starts, then end it."""
    words = [*POLLWISE, "watch", "--budget", BUDGET, "--db", str(place / "watch.db")]
    with (place / "watch.log").open("ab") as said:
        process = subprocess.Popen(words, env=ENVIRONMENT, stderr=said, stdout=said)
    clock = (~process.pid << 3) | 2  # as `clock_getcpuclockid` has it
    looks = []
    end = time.monotonic() + LONGEST
    while (now := time.monotonic()) < end:
        looks.append((now, time.clock_gettime(clock)))
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=120)
    return looks


def until_first_request(looks: Looks, log: Log) -> float:
    times, seconds = np.array(looks).T
    first = np.min(log.begun_at[log.begun_at > times[0]], initial=np.inf)
    assert first < times[-1], f"no request within {LONGEST} seconds"
    return float(seconds[np.searchsorted(times, first)])


def starts(hosts: int, pages: int, times: int, place: Path) -> list[float]:
    """The CPU seconds until the first request of so many starts; the database stays in `place`."""
    rehearse(WatchSettings(), pages)
    log = place / "log.npz"
    all_looks = []
    with serving(log, "plain", "--hosts", str(hosts), "--pages", str(pages)) as urls:
        with watching(urls, BUDGET, place):
            while not (place / "watch.db").exists() or min_polls(place, len(urls)) < 1:
                time.sleep(1.0)
        # The first start writes byte code, where there was none.
        for _ in range(times + 1):
            all_looks.append(looks_at_start(place))
    exchanges = Log.read(log)
    return [until_first_request(looks, exchanges) for looks in all_looks[1:]]


def min_polls(place: Path, pages: int) -> int:
    polls = polls_kept(place / "watch.db")
    return min(polls.values()) if len(polls) == pages else 0


def least(words: list[str], times: int) -> float:
    """The least CPU seconds of a program, of so many runs."""
    spent = []
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(words, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(spent)


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--pages", type=int, default=10)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        first = min(starts(asked.hosts, asked.pages, asked.times, place))
        database = os.fspath(place / "watch.db")
        results = {
            "pages": asked.hosts * asked.pages,
            "until_first_request": first,
            "commands": {
                command: least([*POLLWISE, command, "--db", database], asked.times)
                for command in COMMANDS
            },
            "imports": {
                name: least([sys.executable, "-c", f"import {modules}"], asked.times)
                for name, modules in IMPORTED.items()
            },
        }
    if asked.json:
        print(json.dumps(results, indent=2))
        return 0
    print(f"{results['pages']:,} pages: {first:.2f} CPU s until a watch makes its first request")
    for command, seconds in results["commands"].items():
        print(f"pollwise {command}: {seconds:.2f} CPU s")
    for name, seconds in results["imports"].items():
        print(f"to import what {name} needs: {seconds:.2f} CPU s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
