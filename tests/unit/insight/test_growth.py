"""How a database grows: by what its rows say, and what pruning makes of that."""

import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from pollwise.insight.growth import Growth, read_growth
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.store.retention import KEEP_ALL, Retention, parse_retention
from pollwise.types import Observation, Outcome, PageMemory, Version

DAY = 86_400.0
PAGES, CHANGES = 4, 10
BODY = 10_000
_Usage = namedtuple("_Usage", "total used free")


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Pages that change once a day, with bodies that cannot be compressed."""
    import numpy as np

    random = np.random.default_rng(1)
    path = tmp_path / "pollwise.db"
    with Store.open(path) as store:
        pages = store.add_pages([NewPage(f"https://e.example/{n}") for n in range(PAGES)], now=0.0)
        for change in range(1 + CHANGES):
            at = change * DAY + 1
            polls = []
            for page in pages:
                body = random.bytes(BODY)
                version = Version(page.id, at, "text/plain", body, f"{page.id}-{change}")
                memory = PageMemory(body_hash=version.body_hash)
                seen = Observation(page.id, at, Outcome.CHANGED)
                polls.append(PollResult(seen, memory, version=version))
            store.commit(Batch(polls=tuple(polls)))
    return path


def growth(db: Path, keep: Retention = KEEP_ALL, *, discovers: bool = False) -> Growth:
    with Store.open_readonly(db) as store:
        now = (CHANGES + 0.5) * DAY
        found = read_growth(store, store.pages(), keep, now, discovers=discovers)
    assert found is not None
    return found


def test_it_is_what_the_versions_of_a_week_take(db, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda place: _Usage(10**12, 0, 10**9))
    found = growth(db)
    assert found.days == 7
    assert found.version_bytes_per_day == pytest.approx(PAGES * BODY, rel=0.1)
    assert found.event_bytes_per_day == 0
    assert found.most_bytes is None
    assert found.full_in_days == pytest.approx(10**9 / found.bytes_per_day, rel=0.01)


@pytest.mark.parametrize(("keep", "bound"), [("20", 20), ("30d", 30)])
def test_what_is_dropped_bounds_it(db, keep, bound):
    found = growth(db, parse_retention(keep))
    assert found.version_bytes_per_day > 0
    least = bound * PAGES * BODY
    # Besides versions it is the event log and the polls that are still to come.
    assert least < found.most_bytes - 300_000_000 < 2 * least
    assert found.full_in_days is None


@pytest.mark.parametrize("keep", ["11", "10d"])
def test_it_ends_when_as_much_is_dropped_as_comes(db, keep):
    assert growth(db, parse_retention(keep)).version_bytes_per_day == 0


def test_a_disk_that_is_too_small_for_what_is_kept_is_full_one_day(db, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda place: _Usage(10**12, 0, 10**6))
    found = growth(db, parse_retention("90d"))
    assert found.full_in_days == pytest.approx(10**6 / (PAGES * BODY), rel=0.2)


def test_first_copies_count_where_pages_are_discovered(tmp_path):
    path = tmp_path / "pollwise.db"
    with Store.open(path) as store:
        [page] = store.add_pages([NewPage("https://e.example/")], now=0.0)
        version = Version(page.id, 1.0, "text/plain", bytes(range(256)), "a")
        seen = Observation(page.id, 1.0, Outcome.CHANGED)
        memory = PageMemory(body_hash="a")
        store.commit(Batch(polls=(PollResult(seen, memory, version=version),)))
        rates = [
            read_growth(store, store.pages(), KEEP_ALL, DAY, discovers=discovers)
            for discovers in (False, True)
        ]
        assert [found is not None and found.version_bytes_per_day > 0 for found in rates] == [
            False,
            True,
        ]
        assert read_growth(store, store.pages(), KEEP_ALL, 60.0, discovers=False) is None


def test_what_was_dropped_is_free_for_what_comes(db):
    with Store.open(db) as store:
        assert store.lately(0.0).unused_bytes == 0
        store.keep_versions(Retention(versions=1))
        for at in range(20):
            seen = Observation(0, 20 * DAY + at, Outcome.UNCHANGED)
            store.commit(Batch(polls=(PollResult(seen, PageMemory()),)))
    assert growth(db).unused_bytes > PAGES * (CHANGES - 1) * BODY
