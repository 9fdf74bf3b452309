"""A live crawl of Debian's documentation on loopback addresses: politeness, idle time, queue.

    python benchmarks/collect.py [--pages 10000] [--documents FOLDER] [--all]

Each package is served from an address of its own by another process, with delays, and collected
by `pollwise collect`. It fails (exit status 1) if the server's own log shows a request that came
too early, the response processor was idle for more than 2 % of the time, more than 20 responses
waited for it on average, or the collection could not be searched meanwhile. `--all` takes the large
packages too: 35 hosts instead of 24, which are too few to keep the processor busy all the time.
The full benchmark is `--all --pages 100000`.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from debian_documents import LARGE, SMALL, unpacked

import pollwise
from pollwise.store import Store
from pollwise.testing.document_hosts import rapid_fire, read_exchanges

SOURCE = str(Path(pollwise.__file__).parents[1])
ENVIRONMENT = {**os.environ, "PYTHONPATH": SOURCE}
HOSTS = [sys.executable, "-m", "pollwise.testing.document_hosts"]
POLLWISE = [sys.executable, "-c", "from pollwise.cli import main; main()"]
LATENCY = 0.03
CRAWL_DELAY = 0.02


@contextmanager
def served(
    folders: Sequence[Path], log: Path, latency: float, crawl_delay: float
) -> Iterator[list[str]]:
    """Serve each folder as a site, and give their URLs; at the end the server writes its `log`."""
    told = ["--latency", str(latency), "--crawl-delay", str(crawl_delay), "--log", str(log)]
    with subprocess.Popen(
        [*HOSTS, *told, *map(str, folders)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=ENVIRONMENT,
    ) as hosts:
        assert hosts.stdout is not None
        yield json.loads(hosts.stdout.readline())
        hosts.communicate()


def crawl(folders: list[Path], pages: int, place: Path) -> dict[str, float]:
    """Crawl so many pages of these folders and measure."""
    log, db = place / "exchanges.json", place / "collection.db"
    with served(folders, log, LATENCY, CRAWL_DELAY) as urls:
        begun_at = time.monotonic()
        load, searches = collect(urls, pages, db)
        seconds = time.monotonic() - begun_at
    with Store.open_readonly(db) as store:
        documents = sum(document.text is not None for document in store.documents())
        relevance = sum(document.relevance or 0.0 for document in store.documents())
    exchanges = read_exchanges(log)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "requests": len(exchanges),
        "documents": documents,
        "relevance": relevance,
        "seconds": seconds,
        "too early": len(rapid_fire(exchanges, CRAWL_DELAY)),
        "idle share": load["idle"] / load["elapsed"],
        "mean queue": load["mean_queued"],
        "processing time": load["processing_time"],
        "searches that found something": searches,
        "largest process (MB)": usage.ru_maxrss / 1024,
    }


def collect(urls: list[str], pages: int, db: Path) -> tuple[dict[str, float], int]:
    """What the response processor did, and how many searches found something meanwhile."""
    words = ["--topic", "statistics", "--allow", r"^http://127\.0\.1\.", "--json"]
    words += ["--budget", "1000/second", "--crawl-delay", str(CRAWL_DELAY)]
    words += ["--requests", str(pages), "--db", str(db)]
    words += [word for url in urls for word in ("--seed", url)]
    with subprocess.Popen(
        [*POLLWISE, "collect", *words], stdout=subprocess.PIPE, env=ENVIRONMENT, text=True
    ) as robot:
        searches = 0
        while robot.poll() is None:
            time.sleep(5)
            if db.exists():
                with Store.open_readonly(db) as store:
                    searches += bool(store.search("statistics"))
        assert robot.stdout is not None
        load: dict[str, float] = json.load(robot.stdout)["results"][0]
    return load, searches


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--documents", type=Path, default=Path("build/debian-documents"))
    parser.add_argument("--all", action="store_true", help="the large packages too")
    arguments = parser.parse_args()
    folders = unpacked(arguments.documents, [*SMALL, *(LARGE if arguments.all else [])])
    with tempfile.TemporaryDirectory() as place:
        measured = crawl(folders, arguments.pages, Path(place))
    for name, value in measured.items():
        print(f"{name:32}{value:12,.4g}")
    kept = {
        "no request came too early": measured["too early"] == 0,
        "the processor was idle for at most 2 %": measured["idle share"] <= 0.02,
        "at most 20 responses waited on average": measured["mean queue"] <= 20,
        "the collection was searched meanwhile": measured["searches that found something"] > 0,
    }
    for what, holds in kept.items():
        print(f"{'ok  ' if holds else 'NOT '} {what}")
    return 0 if all(kept.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
