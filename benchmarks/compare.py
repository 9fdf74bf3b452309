"""What polls and decisions cost, and what Scrapy and crawlee pay for the same, all in one run.

    python benchmarks/compare.py [--rate 300 1500] [--pages 12000] [--seconds 20]
        [--scrapy PYTHON] [--crawlee PYTHON] [--json | --out docs/performance.md]

All pages are served by another process from loopback addresses: 1,000 hosts, or as many as the rate
needs with a request a second to each. Three jobs:

- *Again*: the pages are small and never change, so that every poll but the first is answered 304.
  `pollwise watch` polls at each rate and keeps everything in its database.
- *Read*: pages in full, 43 kB with 100 links, without validators. They never change, or each every
  one to two minutes.
- *Crawl*: the same pages, found by their links. `pollwise collect` keeps them, judges them, and can
  search them.

When all pages of a watch have a copy and have been polled again (a change is found by the poll
after the first), the CPU time of its process and of those that it has begun is taken over --seconds
and divided by the requests that the server answered meanwhile. PYTHON is an interpreter that has
Scrapy, or crawlee: it asks for a page of each host, with its validator or in full, as fast as it
can, or follows all links; it keeps nothing. --json and --out also have the figures of `engine.py`
and `learners.py`.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from engine import all_decisions, all_growth, simulated_polls_per_second
from learners import nanoseconds
from performance_document import document
from served import Log, serving
from watches import ENVIRONMENT, POLLWISE, memory, polls_kept, watching

import pollwise

CRAWLERS = {
    "Scrapy": Path(__file__).with_name("compare_spider.py"),
    "crawlee": Path(__file__).with_name("compare_crawler.py"),
}
"""Programs by the names of the libraries that they use."""
Crawlers = Mapping[str, Path]
"""Interpreters by the names of the libraries that they have."""
_TICKS = 100.0  # a second, of /proc
_HOSTS = 1_000
_HOSTS_PER_RATE = 1.3
_MOST_WARMING = 240.0
_BEGINS = 5.0
_CRAWLER_WARMING = 15.0
_READ_RATES = {True: 100, False: 10}
"""Polls a second of pages in full: those that never change, and those that mostly have."""
_CRAWLED = 100_000
_CRAWL_BUDGET = "1000/second"
LEARNED = tuple((name, pages) for name in ("lakg", "htraa") for pages in (500, 32_768))
POLLS = 2_000_000


@dataclass(frozen=True)
class Cost:
    """What polls cost a program: CPU in microseconds of one core each, memory in MB.

    `asked` says what it was asked for.
    """

    program: str
    asked: str
    polls_per_second: float
    microseconds: float
    memory: float


@dataclass(frozen=True)
class Stretch:
    """A stretch of time, the CPU seconds spent in it, and the MB of memory after it."""

    begun_at: float
    ended_at: float
    spent: float
    memory: float


def family(process: int) -> list[int]:
    """A process and those that it and its own have begun."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            parents[int(folder.name)] = int(fields[1])
    found = [process]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def cpu(process: int) -> float:
    """The CPU seconds of a process so far, all its threads, without its children."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def measured(process: int, seconds: float) -> Stretch:
    """What a process and its children spend in a stretch of time."""
    processes = family(process)
    begun_at, begun = time.monotonic(), sum(map(cpu, processes))
    time.sleep(seconds)
    spent = sum(map(cpu, processes)) - begun
    return Stretch(begun_at, time.monotonic(), spent, sum(map(memory, processes)))


def cost(program: str, asked: str, log: Log, stretch: Stretch) -> Cost:
    within = (log.ended_at >= stretch.begun_at) & (log.ended_at < stretch.ended_at)
    polls = int(np.sum((log.page != -1) & within))
    rate = polls / (stretch.ended_at - stretch.begun_at)
    return Cost(program, asked, rate, stretch.spent / max(polls, 1) * 1e6, stretch.memory)


def served_words(pages: int, hosts: int, *more: str) -> list[str]:
    """So many pages of so many hosts."""
    each = max(round(pages / hosts), 1)
    return ["plain", "--hosts", str(hosts), "--pages", str(each), *more]


def _await_polls(database: Path, polls: int, program: str) -> None:
    """Wait until a program that has begun just now has kept so many polls."""
    time.sleep(_BEGINS)
    given_up_at = time.monotonic() + _MOST_WARMING
    while not database.exists() or sum(polls_kept(database).values()) < polls:
        if time.monotonic() > given_up_at:
            sys.exit(f"{program}: fewer than {polls} polls within {_MOST_WARMING:.0f} seconds")
        time.sleep(3.0)


def of_watch(rate: int, asked: str, times: int, words: Sequence[str], seconds: float) -> Cost:
    """`pollwise watch` of what is served by these words, once all was polled so many times."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        log_file = place / "log.npz"
        with (
            serving(log_file, *words) as urls,
            watching(urls, f"{rate}/second", place) as process,
        ):
            _await_polls(place / "watch.db", times * len(urls), f"watch, {rate}/second")
            stretch = measured(process.pid, seconds)
        return cost("pollwise", asked, Log.read(log_file), stretch)


def of_crawler(library: str, python: Path, job: str, words: Sequence[str], seconds: float) -> Cost:
    """A crawler at its job, with what is served by these words."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        log_file, listed = place / "log.npz", place / "urls.txt"
        with serving(log_file, *words) as urls:
            listed.write_text("\n".join(urls[:_HOSTS]))
            command = [str(python), str(CRAWLERS[library]), job, str(listed)]
            with subprocess.Popen(command) as process:
                time.sleep(_CRAWLER_WARMING)
                if process.poll() is not None:
                    sys.exit(f"{library} ended with status {process.returncode}: it must run on")
                stretch = measured(process.pid, seconds)
                process.terminate()
        return cost(library, "all it can", Log.read(log_file), stretch)


def of_collect(words: Sequence[str], seconds: float) -> Cost:
    """`pollwise collect` from a page of each host on, without a pause between two requests."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        log_file = place / "log.npz"
        with serving(log_file, *words) as urls:
            told = ["--topic", "edition page", "--budget", _CRAWL_BUDGET, "--crawl-delay", "0"]
            told += ["--allow", "^http://127", "--db", str(place / "collection.db")]
            told += [word for url in urls[:_HOSTS] for word in ("--seed", url)]
            with (
                (place / "said").open("w") as said,
                subprocess.Popen(
                    [*POLLWISE, "collect", *told], env=ENVIRONMENT, stdout=said, stderr=said
                ) as process,
            ):
                # It may have to compile first.
                _await_polls(place / "collection.db", _HOSTS, "collect")
                stretch = measured(process.pid, seconds)
                process.send_signal(signal.SIGINT)
        return cost("pollwise", "all it can", Log.read(log_file), stretch)


def again(rates: Sequence[int], pages: int, crawlers: Crawlers, seconds: float) -> list[Cost]:
    """What polls cost that are answered 304."""
    few = served_words(_HOSTS, _HOSTS, "--steady")
    found = [of_crawler(*crawler, "again", few, seconds) for crawler in crawlers.items()]
    for rate in rates:
        hosts = max(_HOSTS, round(_HOSTS_PER_RATE * rate))
        words = served_words(pages, hosts, "--steady")
        found.append(of_watch(rate, f"{rate}/second", 2, words, seconds))
    return found


def read(crawlers: Crawlers, seconds: float) -> list[Cost]:
    """What polls cost that are answered in full."""
    full = served_words(_HOSTS, _HOSTS, "--full")
    steady = [*full, "--steady"]
    found = [of_crawler(*crawler, "read", steady, seconds) for crawler in crawlers.items()]
    never, often = _READ_RATES[True], _READ_RATES[False]
    found.append(of_watch(never, f"{never}/second, unchanged", 2, steady, seconds))
    found.append(of_watch(often, f"{often}/second, changed", 1, full, seconds))
    return found


def crawl(crawlers: Crawlers, seconds: float) -> list[Cost]:
    """What a page costs that is found by a link, and all the links in it."""
    words = served_words(_CRAWLED, _HOSTS, "--full", "--steady")
    found = [of_crawler(*crawler, "crawl", words, seconds) for crawler in crawlers.items()]
    return [*found, of_collect(words, seconds)]


def versions(crawlers: dict[str, Path]) -> list[str]:
    """What was measured, and with what."""
    found = [f"pollwise {pollwise.__version__}", f"Python {platform.python_version()}"]
    for library, python in crawlers.items():
        words = f"import {library.lower()} as it; print('{library}', it.__version__)"
        asked = [str(python), "-c", words]
        found.append(subprocess.run(asked, capture_output=True, text=True).stdout.strip())
    return found


def of_kernels() -> dict[str, object]:
    """What decisions and polls of the learners cost."""
    return {
        "decisions": all_decisions(),
        "growth": all_growth(),
        "simulated_polls_per_second": simulated_polls_per_second(),
        "learners": [
            {
                "learner": name,
                "pages": pages,
                "nanoseconds": nanoseconds(name, pages, POLLS),
            }
            for name, pages in LEARNED
        ],
    }


def processor() -> str:
    """The name of the processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=int, nargs="+", default=[300, 1500])
    parser.add_argument("--pages", type=int, default=12_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    for library in CRAWLERS:
        parser.add_argument(f"--{library.lower()}", type=Path, metavar="PYTHON")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    told = {library: getattr(asked, library.lower()) for library in CRAWLERS}
    crawlers = {library: python for library, python in told.items() if python is not None}
    jobs = {
        "again": again(asked.rate, asked.pages, crawlers, asked.seconds),
        "read": read(crawlers, asked.seconds),
        "crawl": crawl(crawlers, asked.seconds),
    }
    costs = {job: [asdict(one) for one in found] for job, found in jobs.items()}
    measured = {"pages": asked.pages, "crawled": _CRAWLED, **costs}
    if asked.json or asked.out is not None:
        measured |= of_kernels()
    if asked.json:
        json.dump(measured, sys.stdout, indent=1)
        return
    if asked.out is not None:
        machine = f"{os.cpu_count()} cores ({processor()}), {platform.system()}"
        asked.out.write_text(document(measured, machine, versions(crawlers)))
    for job, found in jobs.items():
        print(f"{job:12}{'asked for':>24}{'polls a s':>12}{'us a poll':>12}{'MB':>8}")
        for one in found:
            print(
                f"{one.program:12}{one.asked:>24}{one.polls_per_second:12.0f}"
                f"{one.microseconds:12.0f}{one.memory:8.0f}"
            )


if __name__ == "__main__":
    main()
