"""The text of a file that somebody named."""

import os
import threading
from pathlib import Path

import pytest

from pollwise.texts import read_bytes, read_text


def test_ends_of_lines_and_byte_order_marks_are_all_alike(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthr\xc3\xa9e\n")
    assert read_text(file) == "one\ntwo\nthrée\n"


def test_what_has_no_end_is_not_read_for_ever() -> None:
    with pytest.raises(ValueError, match="more than 3 MiB"):
        read_text(Path("/dev/zero"), 3 * 2**20)


def test_of_a_pipe_all_pieces_are_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writing = threading.Thread(target=pipe.write_bytes, args=(b"a" * 3 * 2**20,))
    writing.start()
    assert read_bytes(pipe, 3 * 2**20) == b"a" * 3 * 2**20
    writing.join()


def test_so_many_bytes_may_be_read_and_no_more(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_bytes(b"a" * 2**20)
    assert len(read_text(file, 2**20)) == 2**20
    with pytest.raises(ValueError, match="more than 0 MiB"):
        read_text(file, 2**20 - 1)


def test_what_is_no_utf_8_is_told_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_bytes(b"a" * 2**20 + b"\xff")
    with pytest.raises(UnicodeDecodeError) as raised:
        read_text(file)
    assert raised.value.start == 2**20
