"""How many changes were found lately.

Apart from `pollwise.insight.measured`, which is slow to load.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pollwise.store.base import StoreReader
from pollwise.store.records import PageRecord
from pollwise.units import DAY

__all__ = ["Found", "found_of"]


@dataclass(frozen=True, slots=True)
class Found:
    """The `number` of changes that were found from `since` to `until` (UTC seconds), of removed
    pages too.
    """

    since: float
    until: float
    number: int

    @property
    def seconds(self) -> float:
        """How long that was."""
        return self.until - self.since


def found_of(
    records: Sequence[PageRecord], store: StoreReader, *, until: float, days: float
) -> Found | None:
    """Those of so many days, fewer if the watch is younger; None: no page has a copy yet."""
    first = min(
        (record.first_seen_at for record in records if record.first_seen_at is not None),
        default=until,
    )
    since = max(until - days * DAY, first)
    if since >= until:
        return None
    number, _ = store.count_changes(since=since, of_content=True)
    return Found(since, until, number)
