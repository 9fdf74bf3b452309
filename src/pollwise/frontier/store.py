"""The file of a frontier: a SQLite database (WAL) with one writer.

What was committed is on the disk and survives the death of the process at any moment.
"""

from importlib.resources import files
from pathlib import Path

from pollwise.store.sqlite.file_format import FRONTIER_ID
from pollwise.store.sqlite.owned_file import FileKind, OwnedFile, OwnedFileReader
from pollwise.store.tables.learned import pack_rows, pack_shared, unpack_rows, unpack_shared
from pollwise.types import StateDict

__all__ = ["FrontierReader", "FrontierStore"]

_KIND = FileKind(
    "a frontier",
    application_id=FRONTIER_ID,
    format=1,
    schema=(files(__package__ or "") / "schema.sql").read_text(encoding="utf-8"),
)


class FrontierReader(OwnedFileReader):
    """Reads such a file."""

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


class FrontierStore(OwnedFile, FrontierReader):
    """Reads and writes the file at `path`, which is made if there is none.

    `StoreInUseError` if another process writes to it.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, _KIND)

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
