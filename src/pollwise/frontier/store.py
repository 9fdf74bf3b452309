"""The file of a frontier: a SQLite database (WAL) with one writer.

What was committed is on the disk and survives the death of the process at any moment.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from pollwise.errors import StoreError, StoreVersionError
from pollwise.store.sqlite.failures import reported
from pollwise.store.sqlite.file_format import connect, pragma
from pollwise.store.sqlite.learned import pack_rows, pack_shared, unpack_rows, unpack_shared
from pollwise.store.sqlite.lock import FileUse
from pollwise.types import StateDict

__all__ = ["FrontierReader", "FrontierStore"]

_APPLICATION_ID = 0x706F6C66
"""`polf`: marks a SQLite file as the file of a frontier."""
_FORMAT = 1


class FrontierReader:
    """Reads the file at `path`; its errors are `StoreError`s of one line."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        with reported(self.path):
            self._sqlite = connect(self.path, "ro")

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


class FrontierStore(FrontierReader):
    """Reads and writes the file at `path`, which is made if there is none.

    `StoreInUseError` if another process writes to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        with reported(self.path):
            # Only its owner may read it: URLs and metadata may hold secrets.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._use = FileUse.writing(self.path)
            try:
                self._sqlite = connect(self.path, "rw")
                try:
                    self._prepare()
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
        """A context whose writes are on the disk at its end; after an error none of them is."""
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

    def save_learned(self, crawl: str, learned: StateDict) -> None:
        """Write what was learned of some pages of a crawl, and what all of them share if told."""
        layout, rows = pack_rows(learned)
        self.write("DELETE FROM layout")
        self.write("INSERT INTO layout VALUES (?)", (layout,))
        self.write_all(
            "INSERT OR REPLACE INTO learned VALUES (?, ?, ?)",
            [(crawl, page, data) for page, data in rows],
        )
        self.write_all(
            "INSERT OR REPLACE INTO learned_shared VALUES (?, ?, ?, ?, ?)",
            [(crawl, *shared) for shared in pack_shared(learned)],
        )

    def load_learned(self, crawl: str) -> StateDict | None:
        """What was learned of a crawl; None: nothing yet. `StateError` for what nobody wrote."""
        layout = self.row("SELECT text FROM layout")
        shared = self.rows(
            "SELECT name, dtype, shape, data FROM learned_shared WHERE crawl = ?", (crawl,)
        )
        if layout is None or not shared:
            return None
        rows = self.rows("SELECT page, data FROM learned WHERE crawl = ? ORDER BY page", (crawl,))
        return unpack_rows(layout[0], rows) | unpack_shared(shared)

    def _prepare(self) -> None:
        """Make a database of an empty file; `StoreError` for a file of something else."""
        made_for, version = (
            pragma(self._sqlite, "application_id"),
            pragma(self._sqlite, "user_version"),
        )
        tables = self._sqlite.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if made_for != _APPLICATION_ID and (made_for or version or tables):
            raise StoreError(f"{self.path} is no file of a frontier: choose another file")
        if version > _FORMAT:
            raise StoreVersionError(
                f"{self.path} was written by a later version of pollwise: update this one"
            )
        self._sqlite.execute("PRAGMA journal_mode = WAL")
        self._sqlite.execute("PRAGMA synchronous = FULL")
        self._sqlite.execute("PRAGMA fullfsync = ON")  # matters on macOS only
        self._sqlite.execute("PRAGMA temp_store = MEMORY")
        self._sqlite.execute("PRAGMA cache_size = -65536")  # KiB
        if version < _FORMAT:
            schema = (files(__package__ or "") / "schema.sql").read_text(encoding="utf-8")
            with closing(self._sqlite.cursor()) as cursor:
                cursor.executescript(
                    f"BEGIN IMMEDIATE;\nPRAGMA application_id = {_APPLICATION_ID};\n{schema}\n"
                    f"PRAGMA user_version = {_FORMAT};\nCOMMIT;"
                )
