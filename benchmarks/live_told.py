"""How soon `pollwise collect` finds its topic on live sites: not told it, and told.

    python benchmarks/live_told.py [TOPIC ...] [--requests 600] [--repetitions 1] [--log FOLDER]

Eight packages of Debian's documentation are served from an address each, with delays (a download of
62 MB). For each topic a robot begins with the front pages of all of them and is told its topic;
another is not: the same filter judges what it fetched, but `Robot.aim` does nothing. Budget (5
requests a second) and delay of a host (0.2 seconds) are the defaults, five times as fast. Every 20
seconds the front pages and every tenth topical page change.

Which pages are topical is decided by a rule of its own (`topical_pages`), not by the filter of
pollwise: a word of the topic is in the title or first heading, or several are in the text. Copies
count once. What was requested is taken from the log of the server, without robots.txt.

It prints how many topical pages were found by the first 50, 100, 200 and all requests, and which
share of the requests was for pages that are not there (404), or looked at a page again, and which
share of these looks found a change. It fails (exit status 1) if an exchange came sooner than the
delay of its host allows. `--log` keeps a line for each request.
"""

import argparse
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

import numpy as np
from collect import ENVIRONMENT, POLLWISE, served
from debian_documents import unpacked
from topical_pages import TOPICS, topical_pages

from pollwise.testing.document_hosts import Exchange, rapid_fire, read_exchanges
from pollwise.testing.loopback import loopback_address

FRONT_PAGES = {
    "apache2-doc": "usr/share/doc/apache2-doc/manual/index.html",
    "libboost1.81-doc": "usr/share/doc/libboost1.81-doc/doc/html/index.html",
    "libgtk-3-doc": "usr/share/gtk-doc/html/gtk3/index.html",
    "libstdc++-12-doc": "usr/share/doc/gcc-12-base/libstdc++/index.html",
    "octave-doc": "usr/share/doc/octave/octave.html/index.html",
    "openjdk-17-doc": "usr/share/doc/openjdk-17-doc/index.html",
    "postgresql-doc-15": "usr/share/doc/postgresql-doc-15/html/index.html",
    "python3.11-doc": "usr/share/doc/python3.11/html/index.html",
}
UNTOLD = """
from pollwise.cli import main
from pollwise.policies.collecting.robot import Robot
Robot.aim = lambda self, weights: None
main()
"""
WAYS = {"not told": [sys.executable, "-c", UNTOLD], "told": POLLWISE}
PLACES = (50, 100, 200)
LATENCY, CRAWL_DELAY, BUDGET = 0.03, 0.2, "5/second"
CHANGE_EVERY = 20.0
AT_ONCE = 4
"""Robots that run at the same time, each with a server of its own."""
Request = tuple[float, str, str]
"""When a page was asked for, which of found (a topical page of which no copy was seen before),
missing, again and changed are so, and the page."""


class Changing:
    """Changes pages again and again while it is open."""

    def __init__(self, pages: Collection[Path]) -> None:
        self._originals = {page: page.read_bytes() for page in pages}
        self._at: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._change)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _change(self) -> None:
        for edition in itertools.count(1):
            if self._over.wait(CHANGE_EVERY):
                return
            for page, data in self._originals.items():
                draft = page.with_name(".draft")
                draft.write_bytes(data + f"<p>This is edition {edition}.</p>".encode())
                draft.replace(page)
            self._at.append(time.monotonic())

    def happened(self, page: Path, after: float, before: float) -> bool:
        """Whether a page changed between two times."""
        return page in self._originals and any(after < at <= before for at in self._at)


def collected(folders: Sequence[Path], words: str, way: str, requests: int) -> list[Exchange]:
    """The log of the server while a robot collects."""
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "exchanges.json"
        with served(folders, log, LATENCY, CRAWL_DELAY) as urls:
            asked = ["--topic", words, "--allow", r"^http://127\.0\.1\.", "--budget", BUDGET]
            asked += ["--crawl-delay", str(CRAWL_DELAY), "--requests", str(requests)]
            asked += ["--db", str(Path(place) / "collection.db"), "--json"]
            for url, path in zip(urls, FRONT_PAGES.values(), strict=True):
                asked += ["--seed", url + path]
            command = [*WAYS[way], "collect", *asked]
            done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        return read_exchanges(log)


def requests_of(
    exchanges: Sequence[Exchange],
    folders: Sequence[Path],
    topical: Mapping[Path, str],
    change: Changing,
) -> list[Request]:
    """All requests but those for robots.txt, in the order of their answers."""
    served = {loopback_address(number): folder for number, folder in enumerate(folders)}
    fetched: dict[str, float] = {}
    seen: set[str | None] = {None}
    requests = []
    for one in sorted(exchanges, key=lambda exchange: exchange.ended_at):
        if one.path != "/robots.txt":
            folder = served[one.host]
            page, file = folder.name + one.path, (folder / one.path.lstrip("/")).resolve()
            what, before = topical.get(file), fetched.get(page)
            is_true = {
                "found": what not in seen,
                "missing": not file.exists(),
                "again": before is not None,
                "changed": before is not None and change.happened(file, before, one.ended_at),
            }
            brought = ",".join(name for name, holds in is_true.items() if holds)
            requests.append((one.begun_at, brought, page))
            fetched[page] = one.ended_at
            seen.add(what)
    return requests


def figures(requests: Sequence[Request]) -> list[float]:
    """What was found at the places and in all; the shares of 404, of looks again, of changes."""
    found, missing, again, changed = (
        np.array([name in brought for _, brought, _ in requests])
        for name in ("found", "missing", "again", "changed")
    )
    counts = [found[:place].sum() for place in (*PLACES, None)]
    return [*counts, missing.mean(), again.mean(), changed.sum() / max(again.sum(), 1)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=", ".join(TOPICS))
    parser.add_argument("--requests", type=int, default=600)
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--documents", type=Path, default=Path("build/debian-documents"))
    parser.add_argument("--log", type=Path, help="a folder for what was requested")
    asked = parser.parse_args()
    topics = asked.topics or list(TOPICS)
    if unknown := set(topics) - set(TOPICS):
        parser.error(f"no such topic: {', '.join(unknown)}; there are {', '.join(TOPICS)}")
    originals = unpacked(asked.documents, list(FRONT_PAGES))
    # Beside the documents, as hard links do not reach other file systems.
    with tempfile.TemporaryDirectory(dir=asked.documents) as place:
        folders = [Path(place).resolve() / folder.name for folder in originals]
        for original, folder in zip(originals, folders, strict=True):
            shutil.copytree(original, folder, symlinks=True, copy_function=os.link)
        topical = topical_pages(folders)
        pairs = zip(folders, FRONT_PAGES.values(), strict=True)
        changed = {(folder / path).resolve() for folder, path in pairs}
        changed |= {page for name in topics for page in [*topical[name]][::10]}

        def run(name: str, way: str, number: int) -> tuple[list[float], int]:
            exchanges = collected(folders, TOPICS[name], way, asked.requests)
            requests = requests_of(exchanges, folders, topical[name], change)
            if asked.log is not None:
                asked.log.mkdir(parents=True, exist_ok=True)
                begun = requests[0][0]
                rows = [f"{at - begun:.2f} {what or '-'} {page}\n" for at, what, page in requests]
                (asked.log / f"{name}, {way}, {number}.txt").write_text("".join(rows))
            return figures(requests), len(rapid_fire(exchanges, CRAWL_DELAY))

        runs = [*itertools.product(topics, WAYS, range(asked.repetitions))]
        with Changing(changed) as change, ThreadPoolExecutor(AT_ONCE) as pool:
            results = dict(zip(runs, pool.map(run, *zip(*runs, strict=True)), strict=True))
    print(f"{'':24s}", *(f"{place:6d}" for place in (*PLACES, asked.requests)), end="")
    print(f"{'of':>7s}{'404':>8s}{'again':>8s}{'changed':>8s}")
    rows = {}
    for name, way in itertools.product(topics, WAYS):
        means = np.mean([results[name, way, n][0] for n in range(asked.repetitions)], axis=0)
        rows[name, way] = [*means[:4], len({*topical[name].values()}), *means[4:]]
        show(name, way, rows[name, way])
    for way in WAYS:
        show("mean", way, np.mean([rows[name, way] for name in topics], axis=0).tolist())
    early = sum(early for _, early in results.values())
    print(f"{'NOT ' if early else 'ok  '} no exchange came too early ({early} did)")
    return 1 if early else 0


def show(name: str, way: str, row: Sequence[float]) -> None:
    """Print a row of the table."""
    counts, shares = row[:-3], row[-3:]
    print(f"{name:14s} {way:9s}", *(f"{one:6.1f}" for one in counts), end=" ")
    print(*(f"{one:7.1%}" for one in shares), flush=True)


if __name__ == "__main__":
    sys.exit(main())
