"""Everything that answers about a database need, read at once: many views are made from it."""

import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pollwise.insight.collection import CollectionStatus, summarise_collection
from pollwise.settings import CollectSettings, Settings, WatchSettings, latest_settings
from pollwise.store import Place, Store
from pollwise.store.base import StoreReader
from pollwise.store.records import PageRecord, Run, Sizes, Totals

if TYPE_CHECKING:
    from pollwise.insight.hosts import HostTable
    from pollwise.insight.knowledge import Knowledge
    from pollwise.insight.page_table import PageTable

__all__ = ["Snapshot", "read_snapshot", "snapshot_of"]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The `database` as of one commit.

    `settings` are those of the next run if nothing else is told (None: there was none), `runs` all
    runs so far, oldest first. `known` is what a watch has learned; None: nothing was ever polled,
    there are no pages, they are a collection, or it was not to be read. `collection` is how a
    collection stands (None: it is none, or never ran). `latest_change` is the
    number of the latest change (0: there was none). It was read at `read_at` (UTC seconds), which
    took `seconds`.
    """

    database: Place
    records: tuple[PageRecord, ...]
    settings: Settings | None
    runs: tuple[Run, ...]
    totals: Totals
    sizes: Sizes
    latest_change: int
    known: "Knowledge | None"
    collection: CollectionStatus | None
    read_at: float
    seconds: float

    @cached_property
    def table(self) -> "PageTable":
        """The pages, to be filtered and sorted; made at the first use, in a second or so."""
        from pollwise.insight.page_table import PageTable

        return PageTable(self.database, self.records, self.known)

    @cached_property
    def hosts(self) -> "HostTable":
        """The hosts of a watch; made at the first use. `InputError` for a collection."""
        from pollwise.insight.hosts import HostTable

        return HostTable(self.table)


def read_snapshot(db: Place, *, learned: bool = True) -> Snapshot:
    """A database, which may be at work meanwhile, as of now; `StoreError` if it is none.

    Unless `learned`, what a watch has learned is not read, which needs what takes long to compile.
    """
    with Store.open_readonly(db) as store, store.snapshot():
        return snapshot_of(store, db, learned=learned)


def snapshot_of(store: StoreReader, db: Place, *, learned: bool = True) -> Snapshot:
    """The same within a snapshot of an open store; `db` is how people call it."""
    begun = time.perf_counter()
    records = tuple(store.pages())
    settings = latest_settings(store)
    known = None
    if learned and records and isinstance(settings, WatchSettings):
        # Late, because numba, which the knowledge of a watch needs, takes a while to load.
        from pollwise.insight.knowledge import knowledge_of

        known = knowledge_of(store, db, records, settings)
    collection = None
    if isinstance(settings, CollectSettings):
        collection = summarise_collection(settings, records, store)
    return Snapshot(
        database=db,
        records=records,
        settings=settings,
        runs=tuple(store.runs()),
        totals=store.totals(),
        sizes=store.sizes(),
        latest_change=store.latest_change(),
        known=known,
        collection=collection,
        read_at=time.time(),
        seconds=time.perf_counter() - begun,
    )
