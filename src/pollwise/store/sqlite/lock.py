"""The lock that makes one process the only writer of a database file.

It is on the file itself, whatever name it is reached by, and ends with the process. SQLite's own
locks of a file end as soon as its process closes any descriptor of that file. So a descriptor for
the lock stays open until the last store of this file in this process is closed.

Two further locks (`flock`) are held for a moment only: of a folder, while a database is made in it,
and of the file that older versions lock, while a database is opened.
"""

import fcntl
import os
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from pollwise.errors import StoreBusyError, StoreError, StoreInUseError

__all__ = ["FileUse", "no_older_writer", "only_maker"]

# Bytes far behind those that SQLite locks, and behind the end of any file.
_WRITER = 1 << 61
_NAME = _WRITER + 1
_FLOCK = "hhqqi4x"
"""The C structure `flock` of Linux: type, whence, start, length, process."""

_MAKER_SECONDS = 10.0
"""To wait for another process that makes a database in the same folder."""

_Key = tuple[int, int]


@dataclass(slots=True)
class _OpenFile:
    """A file that stores of this process have open; several descriptors only by a rare race."""

    stores: int = 0
    writer: bool = False
    descriptors: list[int] = field(default_factory=list)


_open_files: dict[_Key, _OpenFile] = {}
"""By device and inode."""
_guard = threading.Lock()


class FileUse:
    """The use of a file by one store of this process, from its making until `release`.

    `writes`: as its only writer.
    """

    def __init__(self, key: _Key, *, writes: bool) -> None:
        self._key = key
        self.writes = writes

    @classmethod
    def reading(cls, path: Path) -> Self:
        """Note that a store reads this file; nobody is kept from writing to it."""
        with _guard:
            key = _key(os.stat(path))
            _open_files.setdefault(key, _OpenFile()).stores += 1
        return cls(key, writes=False)

    @classmethod
    def writing(cls, path: Path) -> Self:
        """Become the only writer of the file at `path`.

        `StoreError` if there is another writer or the file cannot be written. `FileNotFoundError`
        if it is not there.
        """
        with _guard:
            key, opened = _opened(path)
            try:
                if opened.writer:
                    _refuse(path, str(os.getpid()))
                _lock(opened.descriptors[0], path)
            except BaseException:
                _close_unused(key)
                raise
            opened.writer = True
            opened.stores += 1
        return cls(key, writes=True)

    def confirm(self) -> None:
        """Tell other processes who holds the lock; call it once SQLite has the file open for good.

        Until then, the connections that SQLite closes end the ordinary locks of this process.
        """
        descriptor = _open_files[self._key].descriptors[0]
        if sys.platform != "linux":
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _WRITER)
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _NAME)

    def is_of(self, path: Path) -> bool:
        """Whether the file is at this path: it may have been moved, removed or replaced."""
        try:
            return _key(os.stat(path)) == self._key
        except (FileNotFoundError, NotADirectoryError):
            return False

    def release(self) -> None:
        """End the use, after the connection of the store was closed."""
        with _guard:
            opened = _open_files[self._key]
            opened.stores -= 1
            if self.writes:
                opened.writer = False
                _unlock(opened.descriptors[0])
            _close_unused(self._key)


@contextmanager
def no_older_writer(path: Path) -> Iterator[None]:
    """A context in which no older version of pollwise writes to the database at `path`.

    `StoreError` if one does. They lock `path.lock`, a file that stays when they end. In this
    context the database gets a format that they do not know, so that they refuse it afterwards. A
    file that is not there is not made, and one that is there is left as it is.
    """
    try:
        descriptor = os.open(f"{path}.lock", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        yield
        return
    except PermissionError as error:
        raise StoreError(
            f"{path}.lock cannot be read ({error.strerror}): check its permissions, or remove it"
            " if no older version of pollwise runs"
        ) from error
    try:
        if not _locked(descriptor):
            holder = os.pread(descriptor, 20, 0).decode(errors="replace")
            _refuse(path, holder if holder.isdecimal() else "(unknown)")
        yield
    finally:
        os.close(descriptor)


@contextmanager
def only_maker(folder: Path) -> Iterator[None]:
    """A context in which no other store makes a database in this folder.

    The lock is of the folder itself, which is left as it is. `StoreBusyError` if another program
    does not give it up within ten seconds.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        give_up_at = time.monotonic() + _MAKER_SECONDS
        while not _locked(descriptor):
            if time.monotonic() > give_up_at:
                raise StoreBusyError(
                    f"{folder} is locked by another program: close that program, or choose another"
                    " folder"
                )
            time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Whether the whole file could be locked; the lock ends with the descriptor."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _key(status: os.stat_result) -> _Key:
    return status.st_dev, status.st_ino


def _opened(path: Path) -> tuple[_Key, _OpenFile]:
    """The file with a descriptor: the one that there is, or a new one."""
    if os.path.exists(path):
        key = _key(os.stat(path))
        known = _open_files.get(key)
        if known is not None and known.descriptors:
            return key, known
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except PermissionError as error:
        raise StoreError(
            f"{path} cannot be written ({error.strerror}): check the permissions of the file and"
            " its folder"
        ) from error
    key = _key(os.fstat(descriptor))
    opened = _open_files.setdefault(key, _OpenFile())
    opened.descriptors.append(descriptor)
    return key, opened


def _close_unused(key: _Key) -> None:
    opened = _open_files[key]
    if opened.stores == 0:
        del _open_files[key]
        for descriptor in opened.descriptors:
            os.close(descriptor)


def _lock(descriptor: int, path: Path) -> None:
    try:
        if sys.platform == "linux":
            # Of the open file: unlike an ordinary lock, it does not end when SQLite closes its own.
            wanted = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, _WRITER, 1, 0)
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, wanted)
        else:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _WRITER)
    except (BlockingIOError, PermissionError):  # POSIX allows both
        _refuse(path, _holder(descriptor))


def _unlock(descriptor: int) -> None:
    if sys.platform == "linux":
        free = struct.pack(_FLOCK, fcntl.F_UNLCK, os.SEEK_SET, _WRITER, 1, 0)
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, free)
    fcntl.lockf(descriptor, fcntl.LOCK_UN, 2, _WRITER)


def _holder(descriptor: int) -> str:
    """The process that has confirmed its lock, as far as this one can see it."""
    if sys.platform == "linux":
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, _NAME, 1, 0)
        kind, *_, process = struct.unpack(_FLOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
        if kind != fcntl.F_UNLCK and process > 0:
            return str(process)
    return "(unknown)"


def _refuse(path: Path, holder: str) -> None:
    raise StoreInUseError(
        f"{path} is in use by process {holder}, which writes to it:"
        " stop that process, or choose another file"
    )
