"""What polls and decisions cost, and what a poll costs Scrapy and crawlee, all in one run.

    python benchmarks/compare.py [--rate 300 1500] [--pages 12000] [--seconds 20]
        [--scrapy PYTHON] [--crawlee PYTHON] [--json | --out docs/performance.md]

The pages are small and never change, so that every poll but the first is answered 304. They are
served by another process from loopback addresses: 1,000 hosts, or as many as the rate needs with a
request a second to each.
`pollwise watch` polls at each rate and keeps everything in its database. When all pages have a copy
and have been polled again, the CPU time of its process, all threads, is taken over --seconds and
divided by the requests that the server answered meanwhile. PYTHON is an interpreter that has
Scrapy, or crawlee: it asks for a page of each host with its validator as fast as it can, and keeps
nothing. --json and --out also have the figures of `engine.py` and `learners.py`.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from engine import all_decisions, simulated_polls_per_second
from learners import nanoseconds
from performance_document import document
from served import Log, serving
from watches import memory, polls_kept, watching

import pollwise

CRAWLERS = {
    "Scrapy": Path(__file__).with_name("compare_spider.py"),
    "crawlee": Path(__file__).with_name("compare_crawler.py"),
}
"""Programs by the names of the libraries that they use."""
_TICKS = 100.0  # a second, of /proc
_HOSTS = 1_000
_HOSTS_PER_RATE = 1.3
_MOST_WARMING = 240.0
_BEGINS = 5.0
_CRAWLER_WARMING = 15.0
LEARNED = tuple((name, pages) for name in ("lakg", "htraa") for pages in (500, 32_768))
POLLS = 2_000_000


@dataclass(frozen=True)
class Cost:
    """What polls cost: CPU in microseconds of one core each, memory in MB."""

    program: str
    asked: str
    polls_per_second: float
    microseconds: float
    memory: float


def cpu(process: int) -> float:
    """The CPU seconds of a process so far, all its threads, without its children."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def measured(process: int, seconds: float) -> tuple[float, float, float, float]:
    """Begin and end of a stretch of time, the CPU seconds spent in it, and the memory after it."""
    begun_at, begun = time.monotonic(), cpu(process)
    time.sleep(seconds)
    return begun_at, time.monotonic(), cpu(process) - begun, memory(process)


def cost(program: str, asked: str, log: Log, stretch: tuple[float, float, float, float]) -> Cost:
    begun_at, ended_at, spent, most = stretch
    of_pages = log.page != -1
    polls = int(np.sum(of_pages & (log.ended_at >= begun_at) & (log.ended_at < ended_at)))
    return Cost(program, asked, polls / (ended_at - begun_at), spent / max(polls, 1) * 1e6, most)


def served_words(pages: int, hosts: int) -> list[str]:
    """So many pages that never change, of so many hosts."""
    return [
        "plain",
        "--hosts",
        str(hosts),
        "--pages",
        str(max(round(pages / hosts), 1)),
        "--steady",
    ]


def of_pollwise(rate: int, pages: int, seconds: float) -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        log_file = place / "log.npz"
        hosts = max(_HOSTS, round(_HOSTS_PER_RATE * rate))
        with (
            serving(log_file, *served_words(pages, hosts)) as urls,
            watching(urls, f"{rate}/second", place) as process,
        ):
            time.sleep(_BEGINS)
            given_up_at = time.monotonic() + _MOST_WARMING
            while sum(polls_kept(place).values()) < 2 * len(urls):
                if time.monotonic() > given_up_at:
                    sys.exit(f"{rate}/second: not all pages were polled twice in time")
                time.sleep(3.0)
            stretch = measured(process.pid, seconds)
        return cost("pollwise", f"{rate}/second", Log.read(log_file), stretch)


def of_crawler(library: str, python: Path, seconds: float) -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        log_file, listed = place / "log.npz", place / "urls.txt"
        with serving(log_file, *served_words(_HOSTS, _HOSTS)) as urls:
            listed.write_text("\n".join(urls))
            with subprocess.Popen([str(python), CRAWLERS[library], str(listed)]) as process:
                time.sleep(_CRAWLER_WARMING)
                stretch = measured(process.pid, seconds)
                process.terminate()
        return cost(library, "all it can", Log.read(log_file), stretch)


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
    costs = [of_crawler(library, python, asked.seconds) for library, python in crawlers.items()]
    costs += [of_pollwise(rate, asked.pages, asked.seconds) for rate in asked.rate]
    measured = {"pages": asked.pages, "polls": [asdict(one) for one in costs]}
    if asked.json or asked.out is not None:
        measured |= of_kernels()
    if asked.json:
        json.dump(measured, sys.stdout, indent=1)
        return
    if asked.out is not None:
        machine = f"{os.cpu_count()} cores ({processor()}), {platform.system()}"
        asked.out.write_text(document(measured, machine, versions(crawlers)))
    print(f"{'':12}{'asked for':>14}{'polls a s':>12}{'us a poll':>12}{'MB':>8}")
    for one in costs:
        print(
            f"{one.program:12}{one.asked:>14}{one.polls_per_second:12.0f}"
            f"{one.microseconds:12.0f}{one.memory:8.0f}"
        )


if __name__ == "__main__":
    main()
