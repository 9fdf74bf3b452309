"""What requests can change of a database, for tests of those that must not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from pollwise.store.base import StoreReader
from pollwise.store.records import PageRecord


@dataclass(frozen=True)
class Held:
    """The pages by URL, what was set since the run began, and the changes that nobody read."""

    pages: Mapping[str, PageRecord]
    settings: Mapping[str, object]
    unread: frozenset[int]

    @classmethod
    def of(cls, store: StoreReader) -> Self:
        return cls(
            {record.page.url: record for record in store.pages()},
            store.changed_settings(),
            frozenset(change.seq for change in store.changes(unread=True)),
        )
