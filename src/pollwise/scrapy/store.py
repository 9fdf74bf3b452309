"""The file of a crawl by Scrapy: the latest copies of pages, and how each is asked for."""

from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from pollwise.store.sqlite.failures import reported
from pollwise.store.sqlite.file_format import CRAWL_ID
from pollwise.store.sqlite.owned_file import FileKind, OwnedFile

__all__ = ["Copy", "CrawlStore"]

_KIND = FileKind(
    "a crawl by Scrapy",
    application_id=CRAWL_ID,
    format=1,
    schema=(files(__package__ or "") / "schema.sql").read_text(encoding="utf-8"),
    survives_power_loss=False,  # what is lost is fetched anew
)


class Copy(NamedTuple):
    """What is remembered of the latest copy of a page.

    `answered_by` is the URL, after redirects, that sent the validators `etag` and `last_modified`
    (header values, verbatim); `content` the hash of what counts in it. `taken`: the spider got it,
    and nothing went wrong with it there.
    """

    answered_by: str
    etag: str | None
    last_modified: str | None
    content: str
    taken: bool


class CrawlStore(OwnedFile):
    """Reads and writes the file at `path`, which is made if there is none; pages by canonical URLs.

    What is written survives the death of the process. Errors are `StoreError`s.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, _KIND)

    def copy(self, page: str) -> Copy | None:
        """The latest copy of a page; None: there is none yet."""
        row = self.row(
            "SELECT answered_by, etag, last_modified, content, taken FROM copy WHERE page = ?",
            (page,),
        )
        return None if row is None else Copy(*row)._replace(taken=bool(row[-1]))

    def put_copy(self, page: str, copy: Copy) -> None:
        """Remember a copy instead of the one before."""
        with reported(self.path):
            self.write("INSERT OR REPLACE INTO copy VALUES (?, ?, ?, ?, ?, ?)", (page, *copy))

    def take(self, page: str) -> None:
        """Note that the spider has taken the latest copy of a page, if there is one."""
        with reported(self.path):
            self.write("UPDATE copy SET taken = 1 WHERE page = ? AND NOT taken", (page,))

    def give_back(self, page: str) -> None:
        """Note that the spider has not taken the latest copy of a page, if there is one."""
        with reported(self.path):
            self.write("UPDATE copy SET taken = 0 WHERE page = ? AND taken", (page,))

    def template(self, page: str) -> bytes | None:
        """How a page is asked for; None: it is unknown."""
        row = self.row("SELECT template FROM request WHERE page = ?", (page,))
        return None if row is None else bytes(row[0])

    def put_templates(self, templates: Mapping[str, bytes]) -> None:
        """Remember how pages are asked for."""
        with self.transaction():
            self.write_all("INSERT OR REPLACE INTO request VALUES (?, ?)", templates.items())

    def pages(self) -> list[str]:
        """All pages of which it is known how they are asked for."""
        return [page for (page,) in self.rows("SELECT page FROM request ORDER BY page")]

    def forget(self, pages: Iterable[str]) -> None:
        """Forget pages, and their copies."""
        gone = [(page,) for page in pages]
        with self.transaction():
            for table in ("request", "copy"):
                self.write_all(f"DELETE FROM {table} WHERE page = ?", gone)
