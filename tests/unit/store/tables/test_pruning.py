"""What is old goes a bit at a time while a run goes on; what refers to it stays right."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pollwise.errors import InputError, StoreBusyError
from pollwise.events import Event, Polled, Tick
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult, Sizes
from pollwise.store.retention import Retention
from pollwise.store.sqlite import file_format
from pollwise.store.tables import pruning
from pollwise.types import Observation, Outcome, PageMemory, Version

DAY = 86_400.0
PAGES = 20


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "pollwise.db") as store:
        store.add_pages([NewPage(f"https://{n}.example/") for n in range(PAGES)], now=0.0)
        yield store


def poll(page_id: int, at: float, body: bytes | None) -> PollResult:
    outcome = Outcome.UNCHANGED if body is None else Outcome.CHANGED
    version = None if body is None else Version(page_id, at, "text/html", body, body.hex())
    memory = PageMemory(body_hash=None if body is None else body.hex())
    return PollResult(Observation(page_id, at, outcome), memory, version)


def times(store: Store, page_id: int = 0) -> list[float]:
    return [version.seen_at for version in store.versions(page_id)]


def counted(store: Store) -> Sizes:
    """The sizes, counted anew."""
    with closing(sqlite3.connect(store.path)) as connection:
        [sizes] = connection.execute(
            "SELECT (SELECT COALESCE(SUM(LENGTH(line)), 0) FROM events),"
            " (SELECT COALESCE(SUM(LENGTH(data)), 0) FROM contents)"
        )
    return Sizes(*sizes)


class TestVersions:
    def test_a_commit_drops_a_bounded_number(self, store: Store) -> None:
        for at in range(250):
            store.commit(Batch(polls=(poll(0, float(at), b"%d" % at),)))
        store.keep_versions(Retention(versions=1))
        left = []
        for at in range(250, 254):
            store.commit(Batch(polls=(poll(0, float(at), None),)))
            left.append(len(times(store)))
        assert left == [150, 50, 1, 1]


class TestEvents:
    @pytest.fixture(autouse=True)
    def little_room(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pruning, "MOST_EVENT_BYTES", 1000)

    def log(self, store: Store, events: list[Event]) -> None:
        for event in events:
            store.commit(Batch(events=(event,)))

    def test_a_run_that_does_not_end_has_a_bounded_log(self, store: Store) -> None:
        run = store.start_run(0.0, {}, b"beginning")
        events: list[Event] = [Tick(float(at)) for at in range(1000)]
        self.log(store, events)
        kept = list(store.events(run))
        assert 50 < len(kept) < 100
        assert kept == events[-len(kept) :]
        assert store.sizes() == counted(store)
        assert store.sizes().events <= 1000

    def test_a_log_without_its_beginning_is_not_re_run(self, store: Store) -> None:
        first = store.start_run(0.0, {}, b"first")
        self.log(store, [Tick(float(at)) for at in range(40)])
        second = store.start_run(50.0, {}, b"second")
        self.log(store, [Tick(50.0 + at) for at in range(40)])
        with pytest.raises(InputError, match="only a run whose log is whole can be re-run"):
            store.initial_state(first)
        assert store.initial_state(second) == b"second"
        assert len(list(store.events(second))) == 40

    def test_a_long_log_of_before_goes_bit_by_bit(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run = store.start_run(0.0, {}, b"beginning")
        with monkeypatch.context() as patch:
            patch.setattr(pruning, "MOST_EVENT_BYTES", 10**9)
            store.commit(Batch(events=tuple(Tick(float(at)) for at in range(500))))
        self.log(store, [Tick(500.0)])
        assert len(list(store.events(run))) == 501 - 102
        self.log(store, [Tick(501.0 + at) for at in range(5)])
        assert store.sizes().events <= 1000

    def test_whole_runs_go_at_the_start_of_a_run(self, store: Store) -> None:
        for run in range(4):
            store.start_run(float(run), {}, b"beginning")
            self.log(store, [Tick(float(run))])
        store.prune_events(keep_runs=2)
        assert store.sizes() == counted(store)
        assert 0 < store.sizes().events < 50


def test_a_year_of_polls_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A poll stands for a thousand: what is kept is less by as much."""
    monkeypatch.setattr(pruning, "MOST_EVENT_BYTES", 30_000)
    polls = 365 * 24 * 500 // 1000
    path = tmp_path / "pollwise.db"
    sizes = []
    with Store.open(path) as store:
        store.add_pages([NewPage(f"https://{n}.example/") for n in range(PAGES)], now=0.0)
        store.keep_versions(Retention(age=30 * DAY))
        run = store.start_run(0.0, {}, b"beginning")
        for begin in range(0, polls, 50):
            batch = []
            for number in range(begin, begin + 50):
                at = number * 365 * DAY / polls
                body = number.to_bytes(4, "big") * 200 if number % 4 == 0 else None
                batch.append(poll(number % PAGES, at, body))
            events = (Polled(at, tuple(one.observation for one in batch)),)
            store.commit(Batch(polls=tuple(batch), events=events))
            sizes.append(store.totals().bytes)
        assert store.sizes() == counted(store)
        assert store.sizes().events <= 30_000
        assert list(store.events(run))[-1] == events[0]
        oldest = min(time for page_id in range(PAGES) for time in times(store, page_id))
        assert oldest >= 334 * DAY
    # The file is as large after a year as after a fifth.
    assert sizes[-1] <= 1.05 * sizes[len(sizes) // 5]


def test_a_commit_that_was_locked_out_drops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_format, "_BUSY_SECONDS", 0.01)
    with Store.open(tmp_path / "pollwise.db") as store:
        store.add_pages([NewPage("https://a.example/")], now=0.0)
        store.commit(Batch(polls=(poll(0, 1.0, b"one"),)))
        store.keep_versions(Retention(versions=1))
        with closing(sqlite3.connect(store.path)) as other:
            other.execute("BEGIN IMMEDIATE")
            batch = Batch(polls=(poll(0, 2.0, b"two"),))
            with pytest.raises(StoreBusyError):
                store.commit(batch)
            assert times(store) == [1.0]
            other.execute("ROLLBACK")
        store.commit(batch)
        assert times(store) == [2.0]
