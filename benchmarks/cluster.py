"""Several processes poll the shards of one PostgreSQL database; one after the other is killed.

    python benchmarks/cluster.py [--pages 100000] [--shards 4] [--spare 1] [--rate 50]
        [--minutes 5] [--kill-every 60] [--db postgresql://...] [--json]

Without an empty database (--db) there is a server of its own, whose programs must be installed. The
pages are spread over 2,000 hosts of this machine (127.1.0.1 and on), all of which one server
answers; it notes who asks what and when. Every page is in the database with a first copy before the
time begins. There are so many `spare` processes more than shards; one that was killed is started
again after five seconds.

Told are: requests a second by the server's log, from the first kill on, beside the budget (a page
that has changed costs two, as it is looked at again; rules of hosts cost none); the most in any ten
seconds; the hosts that were asked by two processes within their pause of a second; the polls that
were answered and not kept, by the counts in the database; and how long it took after a kill until
the next poll of that shard.
"""

import argparse
import asyncio
import json
import multiprocessing
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import uvloop

from pollwise.live.shards import split_anew
from pollwise.store import Store, split_database
from pollwise.store.place import parse_place
from pollwise.store.postgres.shards import SplitDatabase
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.testing.postgres_server import postgres_server
from pollwise.types import Observation, Outcome, PageMemory

HOSTS = 2_000
PAUSE = 1.0
RESTART = 5.0
AT_ONCE = 5_000
ROBOTS = "/robots.txt"


def tag_of(path: str, now: float) -> str:
    """The version of a page: it changes once in a thousand seconds."""
    return f'"{int(now / 1000.0 + zlib.crc32(path.encode()) % 1000 / 1000.0)}"'


@dataclass(frozen=True, slots=True)
class Request:
    """What the server was asked, at a time, by the process of this number.

    `kind`: poll, look (a second one at a page that has changed) or rules (robots.txt).
    """

    at: float
    host: str
    kind: str
    process: int


class Answering(asyncio.Protocol):
    """A connection to the server."""

    def __init__(self, log: list[str]) -> None:
        self._log = log
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._out = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Answer what is whole."""
        self._read += data
        while (end := self._read.find(b"\r\n\r\n")) >= 0:
            head, self._read = self._read[:end].decode("latin-1"), self._read[end + 4 :]
            first, *lines = head.split("\r\n")
            told = {
                name.lower(): value for name, _, value in (line.partition(": ") for line in lines)
            }
            path = first.split(" ")[1]
            now = time.time()
            process = told["user-agent"].rpartition("-")[2]
            kind = "poll" if "if-none-match" in told else "rules" if path == ROBOTS else "look"
            self._log.append(f"{now:.4f} {told['host']} {kind} {process}")
            self._out.write(self._answer(path, told, now))

    @staticmethod
    def _answer(path: str, told: dict[str, str], now: float) -> bytes:
        if path == ROBOTS:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        tag = tag_of(path, now)
        if told.get("if-none-match") == tag:
            return f"HTTP/1.1 304 Not Modified\r\nETag: {tag}\r\n\r\n".encode()
        body = f"<html><body><p>{path} {tag}</p></body></html>".encode()
        head = f"HTTP/1.1 200 OK\r\nETag: {tag}\r\nContent-Type: text/html\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def answer(port: int, file: Path) -> None:
    """Answer until SIGTERM; then write the log."""
    log: list[str] = []

    async def run() -> None:
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        loop.add_signal_handler(signal.SIGTERM, stop.set)
        server = await loop.create_server(lambda: Answering(log), "0.0.0.0", port, backlog=4096)
        await stop.wait()
        server.close()

    uvloop.run(run())
    file.write_text("\n".join(log))


def fill(split: SplitDatabase, pages: int, port: int) -> None:
    """Put the pages into their shards, each with a first copy of yesterday."""
    shards: dict[int, list[str]] = {}
    for number in range(pages):
        host = number % HOSTS
        scope = f"127.1.{host // 250}.{host % 250 + 1}:{port}"
        shards.setdefault(split.number_of(scope), []).append(f"http://{scope}/{number // HOSTS}")
    yesterday = time.time() - 86_400.0
    for shard, urls in shards.items():
        with Store.open(split.shards[shard]) as store:
            for begin in range(0, len(urls), AT_ONCE):
                part = urls[begin : begin + AT_ONCE]
                new = [NewPage(url, url.split("/")[2]) for url in part]
                added = store.add_pages(new, now=yesterday)
                now = time.time()
                polls = tuple(
                    PollResult(
                        Observation(page.id, yesterday, Outcome.CHANGED),
                        PageMemory(tag_of(path_of(page.url), now), None, "0", "0"),
                    )
                    for page in added
                )
                store.commit(Batch(polls=polls))
            print(f"shard {shard}: {len(urls):,d} pages", file=sys.stderr)


def path_of(url: str) -> str:
    """What the server is asked for."""
    return f"/{url.rpartition('/')[2]}"


@contextmanager
def serving(port: int, file: Path) -> Iterator[None]:
    """A context in which the server answers; after it the log is in the file."""
    server = multiprocessing.Process(target=answer, args=(port, file))
    server.start()
    try:
        yield
    finally:
        server.terminate()
        server.join()


class Processes:
    """The processes that poll, by number; each start has a number of its own."""

    def __init__(self, database: str, folder: Path) -> None:
        self._database = database
        self._folder = folder
        self.running: dict[int, subprocess.Popen[bytes]] = {}
        self._next = 0

    def start(self) -> None:
        """Start one more."""
        number, self._next = self._next, self._next + 1
        words = [
            sys.executable,
            "-m",
            "pollwise",
            "watch",
            "--db",
            self._database,
            "--allow-private",
        ]
        words += ["--user-agent", f"Mozilla/5.0 cluster-{number}", "--crawl-delay", f"{PAUSE:g}"]
        with (self._folder / f"{number}.log").open("wb") as log:
            self.running[number] = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=log)

    def kill(self, pid: int) -> int:
        """Kill the one with this process id; its number."""
        [number] = [one for one, process in self.running.items() if process.pid == pid]
        self.running[number].send_signal(signal.SIGKILL)
        self.running.pop(number).wait()
        return number

    def end(self) -> None:
        """End all."""
        for process in self.running.values():
            process.send_signal(signal.SIGINT)
        for process in self.running.values():
            process.wait()


def polling(split: SplitDatabase) -> dict[int, int]:
    """The process ids of who polls, by shard."""
    told = enumerate(split.processes())
    return {shard: int(text.split()[1]) for shard, text in told if text is not None}


def read(file: Path) -> list[Request]:
    """The log of the server."""
    lines = (line.split(" ") for line in file.read_text().splitlines())
    return [Request(float(at), host, kind, int(by)) for at, host, kind, by in lines]


def most_in(times: Sequence[float], seconds: float) -> int:
    """The most requests within so many seconds."""
    at = np.array(times)
    return int((np.searchsorted(at, at + seconds) - np.arange(len(at))).max())


def shared_hosts(requests: Sequence[Request]) -> int:
    """The requests to a host within its pause after one by another process."""
    latest: dict[str, Request] = {}
    found = 0
    for request in requests:
        before = latest.get(request.host)
        if before is not None and before.process != request.process:
            found += request.at - before.at < PAUSE
        latest[request.host] = request
    return found


def main() -> None:
    """Print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--db", help="an empty PostgreSQL database; none: on a server of its own")
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--spare", type=int, default=1)
    parser.add_argument("--rate", type=float, default=50.0, help="polls a second, the budget")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--kill-every", type=float, default=60.0, help="seconds")
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--json", action="store_true")
    told = parser.parse_args()
    with nullcontext() if told.db else postgres_server("fsync=on") as server:
        result = measured(told, told.db or server.url("postgres"))
    print(json.dumps(result) if told.json else "\n".join(f"{k}: {v}" for k, v in result.items()))


def measured(told: argparse.Namespace, database: str) -> dict[str, object]:
    """What a run with these options came to."""
    place = parse_place(database)
    split_anew(place, told.shards, f"{told.rate}/second")
    split = split_database(place)
    assert split is not None
    begun_at = time.time()
    fill(split, told.pages, told.port)
    filled = time.time() - begun_at
    kills: list[tuple[float, int]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        processes = Processes(database, folder)
        with serving(told.port, folder / "requests"):
            for _ in range(told.shards + told.spare):
                processes.start()
            while len(polling(split)) < told.shards:
                time.sleep(1.0)
            time.sleep(told.kill_every)
            start = time.time()
            while time.time() < start + told.minutes * 60.0:
                shard = len(kills) % told.shards
                kills.append((time.time(), processes.kill(polling(split)[shard])))
                print(f"shard {shard}: its process was killed", file=sys.stderr)
                time.sleep(RESTART)
                processes.start()
                time.sleep(told.kill_every - RESTART)
            end = time.time()
            processes.end()
        for log in sorted(folder.glob("*.log")):
            print(f"{log.name}: {log.read_text()[-300:]}", file=sys.stderr)
        requests = read(folder / "requests")
    polls = [request for request in requests if request.kind == "poll"]
    paid = [request.at for request in requests if request.kind != "rules"]
    within = [at for at in paid if start <= at < end]
    shard_of = {request.host: split.number_of(request.host) for request in polls}
    takeovers = []
    for number, (at, process) in enumerate(kills):
        of_shard = [one for one in polls if shard_of[one.host] == number % told.shards]
        later = [one.at for one in of_shard if one.at > at and one.process != process]
        takeovers.append(min(later, default=float("nan")) - at)
    kept = 0
    for one in split.shards:
        with Store.open_readonly(one) as store:
            kept += store.totals().polls
    return {
        "pages": told.pages,
        "seconds_to_fill": filled,
        "budget": told.rate,
        "requests_per_second": len(within) / (end - start),
        "most_per_second_in_ten": most_in(within, 10.0) / 10.0,
        "kills": len(kills),
        "seconds_to_take_over": takeovers,
        "hosts_asked_by_two": shared_hosts(requests),
        "polls_answered": len(polls),
        "polls_not_kept": len(polls) - (kept - told.pages),
    }


if __name__ == "__main__":
    main()
