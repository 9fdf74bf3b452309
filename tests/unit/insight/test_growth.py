"""How a database grows: by what its rows say, and what pruning makes of that."""

import shutil
from collections import namedtuple
from pathlib import Path

import numpy as np
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


def changed(page_id: int, at: float, body: bytes) -> PollResult:
    version = Version(page_id, at, "text/plain", body, f"{page_id}-{at}")
    seen = Observation(page_id, at, Outcome.CHANGED)
    return PollResult(seen, PageMemory(body_hash=version.body_hash), version=version)


@pytest.mark.parametrize("keep", ["10", "10d"])
def test_pages_that_never_change_do_not_hide_that_as_much_is_dropped_as_comes(tmp_path, keep):
    """Of forty pages two change, each every twelve hours; later a third one does, too."""
    random, kept = np.random.default_rng(1), parse_retention(keep)
    told = []
    with Store.open(tmp_path / "pollwise.db") as store:
        store.keep_versions(kept)
        store.add_pages([NewPage(f"https://e.example/{n}") for n in range(40)], now=0.0)
        for turn in range(50):
            at = turn * DAY / 2 + 1.0
            ids = range(40) if turn == 0 else range(3 if turn >= 46 and keep == "10" else 2)
            polls = tuple(changed(page_id, at, random.bytes(BODY)) for page_id in ids)
            store.commit(Batch(polls=polls))
            if turn in (5, 45, 49):
                found = read_growth(store, store.pages(), kept, at + 60.0, discovers=False)
                told.append(found.version_bytes_per_day)
                assert found.most_bytes - 300_000_000 > store.sizes().bodies
    assert told[0] == pytest.approx(4 * BODY, rel=0.15)
    assert told[1] == 0.0
    assert told[2] == (pytest.approx(4 * BODY / 7, rel=0.15) if keep == "10" else 0.0)


def test_polls_that_were_imported_are_no_growth(tmp_path):
    with Store.open(tmp_path / "pollwise.db") as store:
        store.add_pages([NewPage(f"https://e.example/{n}") for n in range(10)], now=400 * DAY)
        checks = [
            PollResult(Observation(page_id, day * 10.0 * DAY, Outcome.UNCHANGED), PageMemory())
            for page_id in range(10)
            for day in range(1, 40)
        ]
        store.import_checks(checks, {"page_ids": np.empty(0, np.int64)})
        now = 400.5 * DAY
        told = read_growth(store, store.pages(), KEEP_ALL, now, discovers=False)
        assert told.bytes_per_day == 0.0
        for page_id, minutes in ((0, 1), (0, 2), (1, 3)):
            seen = Observation(page_id, 400 * DAY + 60.0 * minutes, Outcome.UNCHANGED)
            store.commit(Batch(polls=(PollResult(seen, PageMemory()),)))
        assert store.lately(400 * DAY).new_polls == 3
        told = read_growth(store, store.pages(), KEEP_ALL, now, discovers=False)
        assert told.bytes_per_day == pytest.approx(3 * 25.0 / 0.5)


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
