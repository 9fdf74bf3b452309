"""What a frontier has learned of its pages, read beside the process that serves it."""

import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from pollwise.errors import InputError, StoreError
from pollwise.frontier.places import crawl_of
from pollwise.frontier.queues import State

if TYPE_CHECKING:
    from pollwise.policies.index.bayes_index import PageEstimate

__all__ = ["estimates"]


def estimates(
    path: str | os.PathLike[str], crawl: str = "", *, now: float | None = None
) -> Iterator[tuple[str, "PageEstimate"]]:
    """The URLs of a crawl that are chosen by the index, each with what is known of it.

    `path` is the file of the frontier, which may be served meanwhile; `crawl` "" is the default
    one. Rates are changes a second; `now` is the time in UTC seconds (None: that of this machine).
    It takes as long as a start of the service. `InputError` if there is no such crawl, `StoreError`
    for a file that cannot be read or is none of a frontier.
    """
    # Here, as a client of a frontier needs none of it.
    from pollwise.frontier.known_pages import page_of
    from pollwise.frontier.revisits import Revisits
    from pollwise.frontier.store import FrontierReader
    from pollwise.store.sqlite.file_format import FRONTIER_ID

    file = Path(path)
    if not file.is_file():
        raise StoreError(f"{file}: there is no such file: name the one of a frontier")
    with closing(FrontierReader(file)) as reader:
        if reader.row("PRAGMA application_id")[0] != FRONTIER_ID:
            raise StoreError(f"{file} is no file of a frontier: name another file")
        reader.row("BEGIN")  # all that follows is as of one moment
        name = crawl_of(crawl)
        if reader.row("SELECT 1 FROM queue WHERE crawl = ?", (name,)) is None:
            known = ", ".join(row[0] for row in reader.rows("SELECT DISTINCT crawl FROM queue"))
            raise InputError(f"{file} has no crawl {name}: name one of {known or 'none yet'}")
        rows = reader.rows(
            "SELECT page, url, key, reported_at FROM queue JOIN url ON url.queue = queue.id"
            " WHERE crawl = ? AND state = ? AND page IS NOT NULL ORDER BY url.id",
            (name, State.CHOSEN),
        )
        learned = reader.load_learned(name)
    revisits = Revisits()
    revisits.add([page_of(*row) for row in rows])
    if rows and learned is not None:
        revisits.load(learned)
    at = time.time() if now is None else now
    for page, url, *_ in rows:
        yield url, revisits.policy.estimate(page, at)
