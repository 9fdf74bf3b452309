"""The shards of a split database: which one has a page, and how they stand."""

from contextlib import suppress
from dataclasses import dataclass

from pollwise.errors import StateError
from pollwise.scheduler.ledgers import read_ledger
from pollwise.store import Place, Store, split_database
from pollwise.web.urls import scope_of

__all__ = ["Shard", "Shards", "read_shards", "store_of", "stores_of"]


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard: the numbers of its pages, polls, changes and failing pages.

    `database` is its address. `process` polls it (None: none does). `rate` is what it was given of
    the budget last, in cost units a second, and `price` what a poll had to be worth there (None:
    not known yet).
    """

    number: int
    database: str
    process: str | None
    pages: int
    polls: int
    changes: int
    failing: int
    rate: float
    price: float | None


@dataclass(frozen=True, slots=True)
class Shards:
    """All shards of a database, and the `budget` that they share."""

    database: str
    budget: str
    shards: tuple[Shard, ...]


def read_shards(db: Place) -> Shards | None:
    """The shards of a database, or of that in which it is one; None: it is not split.

    `StoreError` if it cannot be read.
    """
    split = split_database(db)
    if split is None:
        return None
    budget, text = split.shared()
    told = {}
    with suppress(StateError):  # of a damaged ledger, which the next report begins anew
        told = {report.shard: (report, given) for report, given in read_ledger(text, budget).told()}
    shards = []
    for number, (place, process) in enumerate(zip(split.shards, split.processes(), strict=True)):
        with Store.open_readonly(place) as store:
            totals = store.totals()
        report, given = told.get(str(number), (None, None))
        shards.append(
            Shard(
                number=number,
                database=str(place),
                process=process,
                pages=totals.pages,
                polls=totals.polls,
                changes=totals.changes,
                failing=totals.failing,
                rate=0.0 if given is None else given.rate,
                price=None if report is None else report.price,
            )
        )
    return Shards(str(split.place), budget, tuple(shards))


def stores_of(db: Place) -> tuple[Place, ...]:
    """The shards of a database that is split, else itself."""
    split = split_database(db)
    return (db,) if split is None or split.named is not None else split.shards


def store_of(db: Place, url: str) -> Place:
    """The shard that has a page if it is watched; `db` itself if it is not split.

    `InputError` for what is no URL.
    """
    split = split_database(db)
    return db if split is None else split.shards[split.number_of(scope_of(url))]
