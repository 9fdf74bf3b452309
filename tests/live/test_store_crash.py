"""The store in a process that dies, or whose disk is full: what was acknowledged is there.

This file is also the program of that process: `python test_store_crash.py MODE DATABASE`.
"""

import hashlib
import json
import os
import resource
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np

import pollwise.store
from pollwise.errors import StoreError
from pollwise.events import Polled
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory, Version

PAGES = 7
NEW_PAGES = [NewPage(f"https://example.org/{number}") for number in range(PAGES)]


def body_of(number: int, page_id: int, size: int = 2000) -> bytes:
    """A body that cannot be compressed, so that the file grows and is checkpointed often."""
    return np.random.default_rng([number, page_id]).bytes(size)


def batch(number: int, size: int = 2000) -> Batch:
    """The batch of this number (from 1): polls of some pages, and what belongs to them."""
    page_ids = [page_id for page_id in range(PAGES) if (number + page_id) % 3 == 0]
    polls = []
    for page_id in page_ids:
        body = body_of(number, page_id, size)
        digest = hashlib.sha256(body).hexdigest()
        version = Version(page_id, float(number), "text/plain", body, digest)
        seen = Observation(page_id, float(number), Outcome.CHANGED)
        polls.append(PollResult(seen, PageMemory(body_hash=digest), version))
    return Batch(
        events=(Polled(float(number), tuple(poll.observation for poll in polls)),),
        polls=tuple(polls),
        learned={
            "page_ids": np.array(page_ids),
            "page.number": np.full((len(page_ids), 40), number),
            "number": np.array(number),
        },
        scheduler=json.dumps({"number": number}),
    )


def committed(store: Store) -> int:
    """The number of the latest batch."""
    state = store.scheduler_state()
    return json.loads(state)["number"] if state else 0


def assert_whole(path: Path) -> int:
    """All tables tell of the batches up to one number, which is the answer, and of no other."""
    with Store.open(path) as store:
        number = committed(store)
        batches = [batch(n) for n in range(1, number + 1)]
        records = store.pages()
        events = [event for run in store.runs() for event in store.events(run.id)]
        learned = store.load_learned()
        for page_id in range(PAGES):
            polls = [p for b in batches for p in b.polls if p.observation.page_id == page_id]
            versions = [poll.version for poll in polls if poll.version is not None]
            stored = store.versions(page_id)
            assert [v.seen_at for v in stored] == [v.seen_at for v in versions]
            assert [store.body(v.body_hash) for v in stored] == [v.body for v in versions]
            if polls:
                record = records[page_id]
                assert record.polls == len(polls)
                assert record.memory == polls[-1].memory
                assert store.recent_outcomes(page_id, 1) == [polls[-1].observation]
                assert learned is not None
                row = learned["page.number"][learned["page_ids"].tolist().index(page_id)]
                assert set(row.tolist()) == {polls[-1].observation.polled_at}
        assert events == [event for b in batches for event in b.events]
        assert (learned["number"] if learned else 0) == number
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return number


def start(mode: str, path: Path) -> subprocess.Popen[str]:
    source = Path(pollwise.store.__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, __file__, mode, str(path)],
        env={**os.environ, "PYTHONPATH": str(source)},
        stdout=subprocess.PIPE,
        text=True,
    )


def kill_after(process: subprocess.Popen[str], lines: int, delay: float) -> int:
    """Kill a process so many lines and seconds after its first; the last number it printed."""
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == "0\n"
        for _ in range(lines):
            process.stdout.readline()
        time.sleep(delay)
        process.kill()
        printed = process.stdout.read().split()
    # A last line that was cut short was not acknowledged; single writes this short are whole.
    return int(printed[-1]) if printed else lines


def test_a_writer_killed_as_it_makes_the_database_leaves_it_whole_or_none(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    path = tmp_path / "pollwise.db"
    for _ in range(5):
        kill_after(start("open", path), lines=0, delay=rng.uniform(0, 0.02))
        with Store.open(path) as store:
            assert len(store.pages()) in (0, PAGES)
        path.unlink()
        # What may be left is the folder that the database was made in, until the next one is made.
        assert not [left for left in tmp_path.iterdir() if any(left.iterdir())]
    with Store.open(path):
        pass
    path.unlink()
    assert not list(tmp_path.iterdir())


def test_what_a_killed_writer_acknowledged_is_there_and_nothing_half(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    path = tmp_path / "pollwise.db"
    with Store.open(path) as store:
        store.add_pages(NEW_PAGES, now=0.0)
    number = 0
    for _ in range(10):
        process = start("write", path)
        acknowledged = kill_after(
            process, lines=int(rng.integers(1, 60)), delay=rng.uniform(0, 0.01)
        )
        before, number = number, assert_whole(path)
        assert acknowledged <= number - before <= acknowledged + 1
    assert number > 100


def test_a_full_disk_is_one_line_and_no_damage_and_work_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "pollwise.db"
    process = start("fill", path)
    output, _ = process.communicate()
    assert process.returncode == 0
    number, message, *more = output.splitlines()
    assert message.startswith(f"{path} cannot be read or written: check the disk, its free space")
    assert more == ["went on"]
    assert assert_whole(path) == int(number) + 2 > 2


def test_a_disk_too_full_for_a_database_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "pollwise.db"
    process = start("create", path)
    output, _ = process.communicate()
    assert process.returncode == 0
    [message] = output.splitlines()
    assert message.startswith(f"{path} cannot be read or written: check the disk, its free space")
    assert not list(tmp_path.iterdir())
    assert assert_whole(path) == 0


def write(path: Path) -> None:
    """Commit batches for ever, and print how many there are in this process after each."""
    with Store.open(path) as store:
        store.start_run(0.0, {}, b"")
        first = committed(store) + 1
        say(0)
        for count in range(1, 1_000_000):
            store.commit(batch(first + count - 1))
            say(count)


def make(path: Path) -> None:
    """Make a database, and print a line before."""
    say(0)
    with Store.open(path) as store:
        store.add_pages(NEW_PAGES, now=0.0)


def fill(path: Path) -> None:
    """Commit to a disk that is full at some time, and once more when there is space again."""
    with Store.open(path) as store:
        store.add_pages(NEW_PAGES, now=0.0)
        store.start_run(0.0, {}, b"")
        limit_files(300_000)
        number = 1
        try:
            while True:
                store.commit(batch(number))
                number += 1
        except StoreError as error:
            say(committed(store))
            say(error)
        limit_files(resource.RLIM_INFINITY)
        store.commit(batch(number))
        store.commit(batch(number + 1))
        say("went on")


def create(path: Path) -> None:
    """Make a database on a full disk."""
    limit_files(20_000)
    try:
        Store.open(path)
    except StoreError as error:
        say(error)


def limit_files(size: int) -> None:
    """What would make a file larger than so many bytes fails, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def say(what: object) -> None:
    print(what, flush=True)


if __name__ == "__main__":
    modes = {"write": write, "open": make, "fill": fill, "create": create}
    modes[sys.argv[1]](Path(sys.argv[2]))
