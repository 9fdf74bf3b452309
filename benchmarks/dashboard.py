"""What readers of the dashboard cost a watch of 100,000 pages, and how long they wait.

    python benchmarks/dashboard.py [--minutes 3] [--readers 10] [--hosts 1000] [--pages 100]
        [--budget 2000/second]

`pollwise serve` polls with this budget (2000/second: at the highest rate that it takes), so many
minutes without readers and then as long with them. Each reader keeps the stream of events open and
looks at another view each second. It prints the polls a second of both times, and how long each
view took. It fails (exit status 1) if a view took more than half a second in the median, or polls
went down by over a tenth.
"""

import argparse
import http.client
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

from served import serving
from watches import ENVIRONMENT, POLLWISE, memory

from pollwise.store import Store

PORT = 8977
VIEWS = (
    "/",
    "/pages",
    "/pages?sort=due&page=700",
    "/pages?text=77",
    "/pages/500",
    "/hosts",
    "/changes",
    "/settings",
    "/metrics",
)
LONGEST = 0.5
"""Seconds that a view may take."""
LEAST = 0.9
"""The share of the polls that readers must leave."""


class Readers:
    """So many threads that look at views until `stop`; `seconds` are those of each view."""

    def __init__(self, number: int) -> None:
        self.stop = threading.Event()
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)
        self.failed: list[str] = []
        self._threads = [
            threading.Thread(target=read, args=(random.Random(seed),), daemon=True)
            for seed in range(number)
            for read in (self._look, self._listen)
        ]

    def __enter__(self) -> "Readers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self._threads:
            thread.join()

    def _look(self, dice: random.Random) -> None:
        while not self.stop.wait(dice.uniform(0.5, 1.5)):
            view = dice.choice(VIEWS)
            begun_at = time.perf_counter()
            status = self._answer(view)
            self.seconds[view].append(time.perf_counter() - begun_at)
            if status != 200:
                self.failed.append(f"{view}: {status}")

    def _listen(self, dice: random.Random) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
        connection.request("GET", "/events")
        events = connection.getresponse()
        while not self.stop.is_set():
            events.readline()
        connection.close()

    def _answer(self, view: str) -> int | str:
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
        try:
            connection.request("GET", view, headers={"Accept": "text/html"})
            answer = connection.getresponse()
            answer.read()
            return answer.status
        except OSError as error:
            return str(error)
        finally:
            connection.close()


def polls_in(db: Path) -> int:
    """How many polls the database has."""
    with Store.open_readonly(db) as store:
        return store.totals().polls


def rate(db: Path, minutes: float) -> float:
    """Polls a second of the coming minutes."""
    before, begun_at = polls_in(db), time.monotonic()
    time.sleep(60.0 * minutes)
    return (polls_in(db) - before) / (time.monotonic() - begun_at)


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--readers", type=int, default=10)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--budget", default="2000/second")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        db = place / "watch.db"
        words = ("plain", "--hosts", str(asked.hosts), "--pages", str(asked.pages))
        with serving(place / "log.npz", *words) as urls:
            (place / "urls.txt").write_text("\n".join(urls))
            (place / "pollwise.toml").write_text(
                f'[watch]\nfile = "urls.txt"\nbudget = "{asked.budget}"\n'
                f'first-copies = "{asked.budget}"\n'
            )
            command = [*POLLWISE, "serve", "--config", "pollwise.toml", "--db", "watch.db"]
            with (place / "said.txt").open("wb") as said:
                process = subprocess.Popen(
                    [*command, "--port", str(PORT)],
                    *(-1, None, subprocess.DEVNULL, subprocess.DEVNULL, said),
                    cwd=place,
                    env=ENVIRONMENT,
                )
            try:
                begun_at = time.monotonic()
                while not db.exists() or polls_in(db) < asked.hosts:
                    if process.poll() is not None or time.monotonic() > begun_at + 600:
                        print((place / "said.txt").read_text()[-2000:])
                        return 1
                    time.sleep(1.0)
                alone = rate(db, asked.minutes)
                with Readers(asked.readers) as readers:
                    beside = rate(db, asked.minutes)
                size = memory(process.pid, at_most=False)
            finally:
                process.send_signal(signal.SIGINT)
                process.wait(timeout=120)
    print(
        f"{len(urls):,d} pages: {alone:.0f} polls a second alone, {beside:.0f} beside"
        f" {asked.readers} readers ({beside / alone:.0%}); the process that polls has {size:.0f} MB"
    )
    is_slow = False
    for view in VIEWS:
        seconds = readers.seconds[view]
        print(f"{view:25s} median {median(seconds):.3f} s, longest {max(seconds):.3f} s")
        is_slow |= median(seconds) > LONGEST
    for line in readers.failed[:10]:
        print(f"failed: {line}")
    return int(is_slow or bool(readers.failed) or beside < LEAST * alone)


if __name__ == "__main__":
    sys.exit(main())
