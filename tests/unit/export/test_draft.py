"""A file is there as a whole, or what was there before is."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pollwise.errors import InputError, StoreError
from pollwise.export.draft import draft
from pollwise.notify.receivers import receiver_of
from pollwise.store import Store


def test_the_file_takes_its_place_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"before")
    with draft(path) as file:
        file.write(b"after")
        assert path.read_bytes() == b"before"
    assert path.read_bytes() == b"after"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [StoreError("damaged"), ValueError("x"), KeyboardInterrupt()])
def test_after_an_error_nothing_is_left(tmp_path: Path, error: BaseException) -> None:
    def write() -> None:
        with draft(tmp_path / "x.jsonl") as file:
            file.write(b"half")
            raise error

    with pytest.raises(type(error)) as caught:
        write()
    assert caught.value is error
    assert list(tmp_path.iterdir()) == []


def test_a_database_is_not_replaced(tmp_path: Path) -> None:
    """An export with --force, or a receiver atom:FILE, took the place of the watched pages."""
    path = tmp_path / "pollwise.db"
    Store.open(path).close()
    before = path.read_bytes()
    with pytest.raises(InputError, match="is a database, which would be lost"), draft(path):
        pass
    assert path.read_bytes() == before
    with pytest.raises(InputError, match="is a database, which would be lost"):
        receiver_of(f"atom:{path}")


def test_a_device_or_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(InputError, match="pipe is a device or a pipe: name a file"), draft(path):
        pass
    assert path.is_fifo()


def test_what_the_system_refuses_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "none" / "x.jsonl"
    with (
        pytest.raises(InputError, match=r"x\.jsonl cannot be written \(No such file .*: choose"),
        draft(path),
    ):
        raise AssertionError
    assert list(tmp_path.iterdir()) == []


def test_each_of_several_writers_at_once_writes_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    texts = [bytes([letter]) * 50_000 for letter in b"abcd"]

    def write(text: bytes) -> None:
        for _ in range(50):
            with draft(path) as file:
                file.write(text[:20_000])
                file.flush()
                file.write(text[20_000:])
            assert path.read_bytes() in texts

    with ThreadPoolExecutor(len(texts)) as writers:
        for done in [writers.submit(write, text) for text in texts]:
            done.result()
    assert list(tmp_path.iterdir()) == [path]
