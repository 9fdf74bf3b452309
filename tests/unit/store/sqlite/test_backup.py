"""A copy of a database is whole, of one moment, and its owner's alone; or there is none."""

import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from pollwise.errors import InputError, StoreError
from pollwise.store import Store
from pollwise.store.records import NewPage
from pollwise.store.sqlite import copying
from pollwise.store.sqlite.backup import copy_database

from .one_line import assert_one_line


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    path = tmp_path / "pollwise.db"
    with Store.open(path) as store:
        store.add_pages([NewPage(f"https://example.org/{n}") for n in range(500)], now=0.0)
    return path


def names(folder: Path) -> list[str]:
    """The files in a folder, but for those that SQLite's readers leave."""
    found = (path.name for path in folder.iterdir())
    return sorted(name for name in found if not name.endswith(("-shm", "-wal")))


def soundness(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        answer: str = connection.execute("PRAGMA integrity_check").fetchone()[0]
    return answer


def test_a_copy_has_all_and_can_be_written_on(ours: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy_database(ours, copy)
    assert names(tmp_path) == ["copy.db", "pollwise.db"]
    assert copy.stat().st_mode & 0o777 == 0o600
    with Store.open(copy) as store, Store.open_readonly(ours) as original:
        assert store.older_copy is None
        assert store.pages() == original.pages()
        assert store.database_id() == original.database_id()
        store.add_pages([NewPage("https://example.org/more")], now=1.0)
    assert soundness(copy) == "ok"


def test_a_copy_while_it_is_written_to_is_of_one_moment(ours: Path, tmp_path: Path) -> None:
    """Each commit removes a page and adds two."""
    copy, ended = tmp_path / "copy.db", threading.Event()
    commits = 0

    def write() -> None:
        nonlocal commits
        with Store.open(ours) as store:
            while not ended.is_set() and commits < 500:
                new = [NewPage(f"https://example.org/new/{commits}/{n}") for n in range(2)]
                with store.together():
                    store.add_pages(new, now=1.0)
                    store.remove_pages([commits], now=1.0)
                commits += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(3):
            copy_database(ours, copy, force=True)
            with Store.open_readonly(copy) as store:
                urls = [record.page.url for record in store.pages()]
            new = sum("/new/" in url for url in urls)
            assert len(urls) == 500 + new // 2
            assert soundness(copy) == "ok"
    finally:
        ended.set()
        writer.join()
    assert commits


def test_a_file_that_is_there_is_replaced_if_that_is_asked_for_alone(
    ours: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    copy.write_text("mine")
    with pytest.raises(InputError) as caught:
        copy_database(ours, copy)
    assert_one_line(caught.value, copy, "exists already", "--force")
    assert copy.read_text() == "mine"
    # Of another database that had this name.
    copy.with_name("copy.db-wal").write_bytes(b"left")
    copy_database(ours, copy, force=True)
    with Store.open_readonly(copy) as store:
        assert len(store.pages()) == 500


@pytest.mark.parametrize("link", [False, True])
def test_a_database_is_not_copied_onto_itself(ours: Path, tmp_path: Path, link: bool) -> None:
    target = ours
    if link:
        target = tmp_path / "link.db"
        target.symlink_to(ours)
    with pytest.raises(InputError) as caught:
        copy_database(ours, target, force=True)
    assert_one_line(caught.value, ours, "the database itself")


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("force", [False, True])
def test_nothing_is_written_through_a_link(
    ours: Path, tmp_path: Path, is_there: bool, force: bool
) -> None:
    link, mine = tmp_path / "link.db", tmp_path / "mine"
    link.symlink_to(mine)
    if is_there:
        mine.write_text("mine")
    with pytest.raises(InputError) as caught:
        copy_database(ours, link, force=force)
    assert_one_line(caught.value, link, f"is a link to {mine}: name that file")
    assert link.readlink() == mine
    assert mine.exists() == is_there
    assert not is_there or mine.read_text() == "mine"


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_no_copy_is_taken_for_a_part_of_a_database(ours: Path, tmp_path: Path, suffix: str) -> None:
    """SQLite would apply or remove it, and not open the database."""
    target = tmp_path / f"{ours.name}{suffix}"
    with Store.open(ours) as store:
        with pytest.raises(InputError) as caught:
            copy_database(ours, target, force=True)
        assert_one_line(caught.value, target, "name that SQLite uses", ours.name)
        assert len(store.pages()) == 500
    assert copy_database(ours, tmp_path / f"copy{suffix}").exists()


def test_a_folder_may_be_a_link(ours: Path, tmp_path: Path) -> None:
    folder, link = tmp_path / "copies", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    assert copy_database(ours, link / "copy.db") == folder / "copy.db"
    assert soundness(folder / "copy.db") == "ok"


def test_a_database_in_use_is_not_replaced(ours: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with Store.open(other) as store:
        with pytest.raises(StoreError) as caught:
            copy_database(ours, other, force=True)
        assert_one_line(caught.value, other, "in use by process")
        assert store.pages() == []
    assert names(tmp_path) == ["other.db", "pollwise.db"]


def test_what_interrupts_it_leaves_nothing(
    ours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(copying, "_put", interrupted)
    with pytest.raises(KeyboardInterrupt):
        copy_database(ours, tmp_path / "copy.db")
    assert names(tmp_path) == ["pollwise.db"]


_KILLED = """
import os, signal, sys
from pathlib import Path
from pollwise.store.sqlite import copying
from pollwise.store.sqlite.backup import copy_database
copying._check = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
copy_database(sys.argv[1], Path(sys.argv[2]))
"""


def test_what_a_killed_copy_left_goes_with_the_next_one(ours: Path, tmp_path: Path) -> None:
    backups = tmp_path / "backups"
    backups.mkdir()
    subprocess.run([sys.executable, "-c", _KILLED, ours, backups / "copy.db"], check=False)
    [left] = names(backups)
    assert left.startswith(".pollwise-copy-")
    (backups / ".pollwise-copy-of-mine").symlink_to(ours)
    copy_database(ours, backups / "copy.db")
    assert names(backups) == [".pollwise-copy-of-mine", "copy.db"]


def test_two_copies_into_one_folder_do_not_mix(
    ours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = copying._check

    def copied_meanwhile(draft: Path, source: Path) -> None:
        monkeypatch.setattr(copying, "_check", check)
        copy_database(ours, tmp_path / "second.db")
        check(draft, source)

    monkeypatch.setattr(copying, "_check", copied_meanwhile)
    copy_database(ours, tmp_path / "first.db")
    assert names(tmp_path) == ["first.db", "pollwise.db", "second.db"]
    assert soundness(tmp_path / "first.db") == soundness(tmp_path / "second.db") == "ok"


def test_a_damaged_database_is_not_copied_over_a_sound_copy(ours: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy_database(ours, copy)
    sound = copy.read_bytes()
    damage = bytearray(ours.read_bytes())
    page = int.from_bytes(damage[16:18], "big")
    for start in range(page, len(damage), page):
        damage[start : start + 100] = b"\xff" * 100
    ours.write_bytes(damage)
    with pytest.raises(StoreError) as caught:
        copy_database(ours, copy, force=True)
    assert_one_line(caught.value, ours, "is damaged")
    assert copy.read_bytes() == sound
    assert names(tmp_path) == ["copy.db", "pollwise.db"]


def test_a_database_that_cannot_be_opened_is_named_and_not_the_copy(
    ours: Path, tmp_path: Path
) -> None:
    ours.with_name(f"{ours.name}-wal").mkdir()
    with pytest.raises(StoreError) as caught:
        copy_database(ours, tmp_path / "copy.db")
    assert_one_line(caught.value, ours, "cannot be opened")
    assert names(tmp_path) == ["pollwise.db"]


def test_a_disk_that_has_no_room_is_one_line(ours: Path, tmp_path: Path) -> None:
    """By a limit on the size of files, which is as good."""
    folder = tmp_path / "full"
    folder.mkdir()
    code = (
        "import resource, sys; from pollwise.cli import main;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000));"
        "sys.dont_write_bytecode = True;"  # Python 3.11 would keep the half of it
        f"sys.argv = ['pollwise', 'backup', {str(folder / 'copy.db')!r}, '--db', {str(ours)!r}];"
        "main()"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"pollwise: {folder / 'copy.db'} cannot")
    assert ended.stderr.count("\n") == 1
    assert not os.listdir(folder)


def test_a_missing_folder_and_a_folder_are_refused(ours: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        copy_database(ours, tmp_path / "none" / "copy.db")
    assert_one_line(caught.value, tmp_path / "none" / "copy.db", "there is no folder")
    with pytest.raises(InputError) as caught:
        copy_database(ours, tmp_path, force=True)
    assert_one_line(caught.value, tmp_path, "no regular file")
    with pytest.raises(StoreError):
        copy_database(tmp_path / "none.db", tmp_path / "copy.db")
    assert names(tmp_path) == ["pollwise.db"]
