"""A small collection with every kind of page."""

import hashlib
from pathlib import Path

import pytest

from pollwise.store import Store
from pollwise.store.records import (
    Batch,
    Collected,
    Discoveries,
    Discovery,
    NewPage,
    PollResult,
)
from pollwise.types import Observation, Outcome, Page, PageMemory, Version

SITE = "https://a.example/"


def of(*collected: Collected) -> tuple[Discoveries, ...]:
    return tuple(Discoveries(collected=each) for each in collected)


def poll(page_id: int, at: float, outcome: Outcome, body: bytes) -> PollResult:
    digest = hashlib.sha256(body).hexdigest()
    changed = outcome is Outcome.CHANGED
    version = Version(page_id, at, "text/html; charset=utf-8", body, digest) if changed else None
    return PollResult(Observation(page_id, at, outcome), PageMemory(body_hash=digest), version)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Pages: one that changed, its duplicate, one of an odd type, one never seen, one removed."""
    path = tmp_path / "pollwise.db"
    with Store.open(path) as store:
        store.add_pages([NewPage(SITE)], now=0.0)
        found = [Discovery(Page(n, f"{SITE}{n}"), 0.5, depth=1) for n in range(1, 5)]
        store.commit(Batch(discovered=(Discoveries(new_pages=tuple(found)),)))
        odd = Version(2, 3.0, "téxt/odd", b"\x00\xff", "odd")
        store.commit(
            Batch(
                polls=(
                    poll(0, 1.25, Outcome.CHANGED, b"<p>one"),
                    poll(0, 2.0, Outcome.UNCHANGED, b"<p>one"),
                    poll(0, 3.0, Outcome.UNCHANGED, b"<p >one"),
                    poll(0, 4.0, Outcome.CHANGED, b"<p>two \xc3\xa9"),
                    poll(0, 5.0, Outcome.UNCHANGED, b"<p>two \xc3\xa9"),
                    poll(1, 3.0, Outcome.CHANGED, b"<p>one"),
                    PollResult(Observation(2, 3.0, Outcome.CHANGED), PageMemory(), odd),
                    poll(4, 3.0, Outcome.CHANGED, b"<p>removed"),
                ),
                discovered=of(
                    Collected(0, 0.75, "Zwei", "two é"),
                    Collected(1, 0.25, "One", "one", duplicate_of=0),
                ),
            )
        )
        store.remove_pages([4], now=9.0)
    return path
