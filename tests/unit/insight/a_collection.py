"""A database of a small collection, for the tests of what is told of one."""

from dataclasses import asdict
from pathlib import Path

from pollwise.relevance.topic import topic
from pollwise.store import Store
from pollwise.store.records import Batch, Collected, Discoveries, NewPage


def make_collection(db: Path) -> None:
    """One document, about whales."""
    with Store.open(db) as store:
        store.start_run(0.0, {"topic": asdict(topic("whale sea"))}, None)
        store.add_pages([NewPage("http://sea.example/")], now=0.0)
        collected = Collected(0, 0.5, "Whales", "The whale is in the sea.")
        store.commit(Batch(discovered=(Discoveries(collected=collected),)))
