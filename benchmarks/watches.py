"""What the benchmarks do with `pollwise watch`: start it, and look at it from outside."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from served import Log

import pollwise
from pollwise.store import Store

__all__ = ["CRAWL_DELAY", "early", "memory", "polls_kept", "started", "watching"]

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(pollwise.__file__).parents[1])}
POLLWISE = [sys.executable, "-c", "from pollwise.cli import main; main()"]
CRAWL_DELAY = 1.0
TOLERANCE = 0.005
"""Seconds by which client and server may disagree on when an answer ended."""


def started(urls: list[str], budget: str, place: Path) -> subprocess.Popen[bytes]:
    """A watch of these pages with its database, `watch.db`, in the folder `place`.

    Without pages it watches those of the database.
    """
    words = ["watch", "--budget", budget, "--db", str(place / "watch.db")]
    if urls:
        listed = place / "urls.txt"
        listed.write_text("\n".join(urls))
        words += ["--file", str(listed)]
    with (place / "watch.log").open("ab") as said:
        return subprocess.Popen([*POLLWISE, *words], env=ENVIRONMENT, stderr=said, stdout=said)


@contextmanager
def watching(urls: list[str], budget: str, place: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The same, ended with the context."""
    process = started(urls, budget, place)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=120)


def memory(process: int, *, at_most: bool = True) -> float:
    """MB of memory that a process has had at most, or has now."""
    text = Path(f"/proc/{process}/status").read_text()
    return int(text.partition("VmHWM:" if at_most else "VmRSS:")[2].split()[0]) / 1024


def early(log: Log, delay: float) -> int:
    """The requests that came within the delay after the answer before, or during it."""
    return int((log.gaps()[1] < delay - TOLERANCE).sum())


def polls_kept(database: Path) -> dict[str, int]:
    """How many polls of each page, by its URL, the database has."""
    with Store.open_readonly(database) as store:
        return {record.page.url: record.polls for record in store.pages()}
