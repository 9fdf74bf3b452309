"""Of several processes that open one database at once, one writes to it and the others say why not.

This file is also the program of those processes: `python test_store_writers.py`, with the
databases to open on its standard input.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pollwise.store
from pollwise.errors import StoreError
from pollwise.store import Store
from pollwise.store.records import NewPage

PROCESSES = 3


def start() -> subprocess.Popen[str]:
    source = Path(pollwise.store.__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, __file__],
        env={**os.environ, "PYTHONPATH": str(source)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def tell(process: subprocess.Popen[str], line: object) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def test_one_of_several_processes_makes_and_writes_the_database(tmp_path: Path) -> None:
    processes = [start() for _ in range(PROCESSES)]
    for process in processes:
        assert hear(process) == "ready"
    for number in range(15):
        path = tmp_path / f"{number}.db"
        if number % 3 == 1:
            path.touch()
        if number % 3 == 2:
            Store.open(path).close()
        for process in processes:
            tell(process, path)
        answers = [hear(process) for process in processes]
        assert answers.count("writing") == 1, answers
        writer = processes[answers.index("writing")]
        for answer in answers:
            assert answer == "writing" or answer.startswith(f"{path} is in use by process "), answer
        # Once it has the file open for good, the holder is named.
        with pytest.raises(StoreError, match=f"in use by process {writer.pid},"):
            Store.open(path)
        tell(writer, "close")
        assert hear(writer) == "closed"
        with Store.open(path) as store:
            assert [r.page.url for r in store.pages()] == [f"https://{writer.pid}.example/"]
        assert all(name.endswith(".db") for name in os.listdir(tmp_path))
    for process in processes:
        process.communicate("", timeout=60)


def test_a_writer_that_was_killed_holds_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "pollwise.db"
    with start() as process:
        assert hear(process) == "ready"
        tell(process, path)
        assert hear(process) == "writing"
        process.kill()
    with Store.open(path) as store:
        assert len(store.pages()) == 1


def main() -> None:
    """Open each database that is named, and keep it open until told."""
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            with Store.open(line.strip()) as store:
                store.add_pages([NewPage(f"https://{os.getpid()}.example/")], now=0.0)
                print("writing", flush=True)
                sys.stdin.readline()
            print("closed", flush=True)
        except StoreError as error:
            print(error, flush=True)


if __name__ == "__main__":
    main()
