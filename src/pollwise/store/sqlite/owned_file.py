"""SQLite files other than the database of a watch: made for one job, with one process that writes.

What was committed survives the death of the process at any moment.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pollwise.errors import StoreError, StoreVersionError
from pollwise.store.sqlite.failures import reported
from pollwise.store.sqlite.file_format import connect, connect_to_read, pragma
from pollwise.store.sqlite.lock import FileUse

__all__ = ["FileKind", "OwnedFile", "OwnedFileReader"]


@dataclass(frozen=True, slots=True)
class FileKind:
    """What a file is made for.

    `name`: in words, after "is no file of"; `application_id` marks it; `format` is the version of
    its tables, which `schema` makes. `survives_power_loss`: each commit waits for the disk.
    """

    name: str
    application_id: int
    format: int
    schema: str
    survives_power_loss: bool = True


class OwnedFileReader:
    """Reads the file at `path`; its errors are `StoreError`s of one line."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        with reported(self.path):
            self._sqlite = connect_to_read(self.path)

    def close(self) -> None:
        """End the use of the file."""
        self._sqlite.close()

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """All rows of a query."""
        with reported(self.path):
            return self._sqlite.execute(statement, values).fetchall()

    def row(self, statement: str, values: Sequence[object] = ()) -> Any:
        """The first row of a query; None: it has none."""
        with reported(self.path):
            return self._sqlite.execute(statement, values).fetchone()


class OwnedFile(OwnedFileReader):
    """Reads and writes the file at `path`, which is made if there is none.

    `StoreInUseError` if another process writes to it, `StoreError` for one of another kind.
    """

    def __init__(self, path: Path, kind: FileKind) -> None:
        self.path = path.absolute()
        with reported(self.path):
            # Only its owner may read it: URLs and what goes with them may hold secrets.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._use = FileUse.writing(self.path)
            try:
                self._sqlite = connect(self.path, "rw")
                try:
                    self._prepare(kind)
                    self._use.confirm()
                except BaseException:
                    self._sqlite.close()
                    raise
            except BaseException:
                self._use.release()
                raise
        self._is_open = True

    def close(self) -> None:
        """End the use of the file; closing twice is no error."""
        self._sqlite.close()
        if self._is_open:
            self._is_open = False
            self._use.release()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A context whose writes are committed at its end; after an error none of them is."""
        with reported(self.path):
            self._sqlite.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._sqlite.execute("COMMIT")
            except BaseException:
                if self._sqlite.in_transaction:
                    self._sqlite.execute("ROLLBACK")
                raise

    def write(self, statement: str, values: Sequence[object] = ()) -> int:
        """Carry out a statement; how many rows it wrote."""
        return self._sqlite.execute(statement, values).rowcount

    def write_all(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Carry out a statement for each row."""
        self._sqlite.executemany(statement, rows)

    def insert(self, statement: str, values: Sequence[object]) -> int | None:
        """Insert a row; its id, or None if it was there."""
        cursor = self._sqlite.execute(statement, values)
        return cursor.lastrowid if cursor.rowcount == 1 else None

    def _prepare(self, kind: FileKind) -> None:
        """Make the tables in an empty file; `StoreError` for a file of something else."""
        made_for, version = (
            pragma(self._sqlite, "application_id"),
            pragma(self._sqlite, "user_version"),
        )
        tables = self._sqlite.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if made_for != kind.application_id and (made_for or version or tables):
            raise StoreError(f"{self.path} is no file of {kind.name}: choose another file")
        if version > kind.format:
            raise StoreVersionError(
                f"{self.path} was written by a later version of pollwise: update this one"
            )
        self._sqlite.execute("PRAGMA journal_mode = WAL")
        synchronous = "FULL" if kind.survives_power_loss else "NORMAL"
        self._sqlite.execute(f"PRAGMA synchronous = {synchronous}")
        self._sqlite.execute("PRAGMA fullfsync = ON")  # matters on macOS only
        self._sqlite.execute("PRAGMA temp_store = MEMORY")
        self._sqlite.execute("PRAGMA cache_size = -65536")  # KiB
        if version < kind.format:
            with closing(self._sqlite.cursor()) as cursor:
                cursor.executescript(
                    f"BEGIN IMMEDIATE;\nPRAGMA application_id = {kind.application_id};\n"
                    f"{kind.schema}\nPRAGMA user_version = {kind.format};\nCOMMIT;"
                )
