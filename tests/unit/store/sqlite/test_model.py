"""Whatever happens to a store, it holds what a simple model in memory says."""

import shutil
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pollwise.errors import InputError, StoreBusyError
from pollwise.events import Event, Polled, Tick
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult, Postponed, Sizes
from pollwise.store.retention import Retention
from pollwise.store.sqlite import file_format
from pollwise.types import Observation, Outcome, PageMemory, Version

URLS = [f"https://{name}.example/" for name in "abcd"]
BUSY_SECONDS = 0.01


@dataclass
class ModelPage:
    """A page as it should be; `polls` and `versions` by time."""

    url: str
    removed: bool = False
    count: int = 0
    changes: int = 0
    failures: int = 0
    outcome: Outcome | None = None
    error: str | None = None
    postponed: Postponed | None = None
    etag: str | None = None
    polled_at: float | None = None
    seen_at: float | None = None
    last_changed_at: float | None = None
    polls: dict[float, Observation] = field(default_factory=dict)
    versions: dict[float, bytes] = field(default_factory=dict)
    learned: float | None = None

    def take(self, poll: PollResult) -> None:
        """What a poll tells."""
        seen, at = poll.observation, poll.observation.polled_at
        if seen.outcome is Outcome.POSTPONED:
            if self.polled_at is None or at > self.polled_at:
                self.postponed = Postponed(at, poll.error)
            return
        changed = seen.outcome is Outcome.CHANGED and self.seen_at is not None
        self.count += 1
        self.changes += changed
        self.polls.setdefault(at, seen)
        for old in sorted(self.polls)[:-50]:
            del self.polls[old]
        if poll.version is not None:
            self.versions.setdefault(at, poll.version.body)
        if self.polled_at is None or at > self.polled_at:
            self.polled_at, self.outcome, self.error = at, seen.outcome, poll.error
            self.etag, self.postponed = poll.memory.etag, None
            self.failures = self.failures + 1 if seen.outcome is Outcome.FAILED else 0
            told, is_new = seen.last_changed_at, seen.outcome is Outcome.CHANGED
            if told is not None and (is_new or self.seen_at is None or self.seen_at >= told):
                self.last_changed_at = told
            elif changed:
                self.last_changed_at = at
            if seen.outcome in (Outcome.CHANGED, Outcome.UNCHANGED):
                self.seen_at = at

    def move(self, times: dict[float, float], now: float) -> None:
        """Times were set back."""
        self.polls = {
            times[at]: replace(
                seen,
                polled_at=times[at],
                last_changed_at=None
                if seen.last_changed_at is None
                else min(seen.last_changed_at, now),
            )
            for at, seen in self.polls.items()
        }
        self.versions = {times.get(at, at): body for at, body in self.versions.items()}
        if self.postponed is not None:
            self.postponed = replace(self.postponed, at=min(self.postponed.at, now))
        self.polled_at = times.get(self.polled_at, self.polled_at)
        self.seen_at = times.get(self.seen_at, self.seen_at)
        changed_at = times.get(self.last_changed_at, self.last_changed_at)
        self.last_changed_at = None if changed_at is None else min(changed_at, now)


polls = st.tuples(
    st.integers(0, 2),
    # What brings versions, and polls of one page at one time, should be often met.
    st.sampled_from([*Outcome, Outcome.CHANGED, Outcome.CHANGED, Outcome.CHANGED]),
    st.sampled_from([0, 1, -1, 30, -30]),
    st.sampled_from([b"one", b"two", b"three" * 100, None]),
    st.booleans(),
)


class StoreMachine(RuleBasedStateMachine):
    """Batches, removals, restarts, crashes, jumps of the clock, and what is dropped on purpose."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.pages: list[ModelPage] = []
        self.events: dict[int, list[Event]] = {}
        self.scheduler: str | None = None
        self.retention = Retention(versions=2)
        self.now = 1000.0
        self.opened = 0
        self.store = Store.open(self.folder / "0.db")

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)

    @initialize()
    def begin(self) -> None:
        self.start_run()

    def start_run(self) -> None:
        before = [sorted(page.polls) for page in self.pages]
        self.store.set_back_times(self.now)
        for page_id, (page, times) in enumerate(zip(self.pages, before, strict=True)):
            after = sorted(seen.polled_at for seen in self.store.recent_outcomes(page_id, 100))
            assert len(set(after)) == len(times)
            moved = dict(zip(times, after, strict=True))
            assert all(new <= min(old, self.now) for old, new in moved.items())
            if not any(old > self.now for old in times):
                assert after == times
            page.move(moved, self.now)
        run_id = self.store.start_run(self.now, {}, b"beginning")
        self.events[run_id] = []
        self.store.keep_versions(self.retention)

    @rule(urls=st.lists(st.sampled_from(URLS), max_size=3))
    def add(self, urls: list[str]) -> None:
        added = self.store.add_pages([NewPage(url) for url in urls], now=self.now)
        for url, page in zip(urls, added, strict=True):
            watched = [n for n, own in enumerate(self.pages) if own.url == url and not own.removed]
            if not watched:
                watched = [len(self.pages)]
                self.pages.append(ModelPage(url))
            assert page.id == watched[0]

    @rule(page_id=st.integers(0, 6))
    def remove(self, page_id: int) -> None:
        self.store.remove_pages([page_id], now=self.now)
        if page_id < len(self.pages):
            self.pages[page_id].removed = True
            self.pages[page_id].learned = None

    @rule(seconds=st.integers(0, 100) | st.sampled_from([-1e7, -500.0, 1e7]))
    def let_time_pass(self, seconds: float) -> None:
        self.now = max(self.now + seconds, 100.0)

    @precondition(lambda self: self.pages)
    @rule(made=st.lists(polls, max_size=6), tick=st.booleans(), locked=st.booleans())
    def commit(self, made: list[tuple], tick: bool, locked: bool) -> None:
        batch = self.batch(made, tick)
        if locked:
            with closing(sqlite3.connect(self.store.path)) as other:
                other.execute("BEGIN IMMEDIATE")
                with pytest.raises(StoreBusyError):
                    self.store.commit(batch)
                self.agrees()
        self.store.commit(batch)
        for poll in batch.polls:
            self.pages[poll.observation.page_id].take(poll)
        self.events[max(self.events)] += batch.events
        self.scheduler = batch.scheduler
        for page_id in {poll.observation.page_id for poll in batch.polls}:
            own = self.pages[page_id]
            if not own.removed:
                own.learned = self.now
            if self.retention.versions is not None:
                for old in sorted(own.versions)[: -self.retention.versions]:
                    del own.versions[old]
        self.forget_what_was_dropped()

    @precondition(lambda self: self.pages)
    @rule(made=st.lists(polls, max_size=6))
    def commit_what_does_not_fit(self, made: list[tuple]) -> None:
        batch = self.batch(made, tick=True)
        unknown = PollResult(Observation(77, self.now, Outcome.CHANGED), PageMemory())
        with pytest.raises(InputError):
            self.store.commit(replace(batch, polls=(*batch.polls, unknown)))

    def batch(self, made: list[tuple], tick: bool) -> Batch:
        results = []
        for number, outcome, delay, body, told in made:
            page_id, at = number % len(self.pages), self.now + delay
            version = None
            if body is not None and outcome is Outcome.CHANGED:
                version = Version(page_id, at, "text/plain", body, body.hex()[:20])
            seen = Observation(page_id, at, outcome, last_changed_at=at - 5.5 if told else None)
            results.append(PollResult(seen, PageMemory(etag=f"{at}"), version, f"{outcome}"))
        page_ids = sorted({result.observation.page_id for result in results})
        return Batch(
            events=(
                Polled(self.now, tuple(result.observation for result in results)),
                *([Tick(self.now)] if tick else []),
            ),
            polls=tuple(results),
            learned={
                "page_ids": np.array(page_ids, np.int64),
                "page.a": np.full(len(page_ids), self.now),
            },
            scheduler=f"{self.now}",
        )

    @rule(kept=st.sampled_from([2, 3, 1, None]))
    def keep(self, kept: int | None) -> None:
        self.retention = Retention(versions=kept)
        self.store.keep_versions(self.retention)

    @rule(kept=st.integers(1, 3))
    def prune(self, kept: int) -> None:
        self.store.prune_events(keep_runs=kept)
        for run_id in sorted(self.events)[:-kept]:
            self.events[run_id] = []
            with pytest.raises(InputError):
                self.store.initial_state(run_id)

    @rule()
    def restart(self) -> None:
        path = self.store.path
        self.store.close()
        self.store = Store.open(path)
        self.start_run()

    @rule()
    def crash(self) -> None:
        """The next process finds the files as they are now."""
        self.opened += 1
        path, copy = self.store.path, self.folder / f"{self.opened}.db"
        for suffix in ("", "-wal"):
            if (part := path.with_name(path.name + suffix)).exists():
                shutil.copy(part, copy.with_name(copy.name + suffix))
        self.store.close()
        self.store = Store.open(copy)
        self.start_run()

    def forget_what_was_dropped(self) -> None:
        """Pages that were not polled may lose versions when the round comes to them."""
        if self.retention.versions is None:
            return
        for page_id, own in enumerate(self.pages):
            left = len(self.store.versions(page_id))
            assert left >= min(len(own.versions), self.retention.versions)
            for old in sorted(own.versions)[: len(own.versions) - left]:
                del own.versions[old]

    @invariant()
    def agrees(self) -> None:
        live = {n: own for n, own in enumerate(self.pages) if not own.removed}
        records = {record.page.id: record for record in self.store.pages()}
        assert records.keys() == live.keys()
        for page_id, own in live.items():
            record = records[page_id]
            assert record.page.url == own.url
            assert (record.polls, record.changes) == (own.count, own.changes)
            assert (record.outcome, record.error) == (own.outcome, own.error)
            assert (record.failures, record.memory.etag) == (own.failures, own.etag)
            assert (record.polled_at, record.page.seen_at) == (own.polled_at, own.seen_at)
            assert record.last_changed_at == own.last_changed_at
            assert record.postponed == own.postponed
        for page_id, own in enumerate(self.pages):
            recent = self.store.recent_outcomes(page_id, 100)
            assert recent == [own.polls[at] for at in sorted(own.polls, reverse=True)]
            stored = {v.seen_at: self.store.body(v.body_hash) for v in self.store.versions(page_id)}
            assert stored == own.versions
        for run_id, events in self.events.items():
            assert list(self.store.events(run_id)) == events
        learned = self.store.load_learned() or {"page_ids": np.empty(0), "page.a": np.empty(0)}
        expected = {n: own.learned for n, own in live.items() if own.learned is not None}
        rows = zip(learned["page_ids"].tolist(), learned["page.a"].tolist(), strict=True)
        assert dict(rows) == expected
        assert self.store.scheduler_state() == self.scheduler
        with closing(sqlite3.connect(self.store.path)) as connection:
            [sizes] = connection.execute(
                "SELECT (SELECT COALESCE(SUM(LENGTH(line)), 0) FROM events),"
                " (SELECT COALESCE(SUM(LENGTH(data)), 0) FROM contents)"
            )
            [orphans] = connection.execute(
                "SELECT COUNT(*) FROM contents WHERE hash NOT IN (SELECT body_hash FROM versions)"
            )
        assert self.store.sizes() == Sizes(*sizes)
        assert orphans == (0,)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_format, "_BUSY_SECONDS", BUSY_SECONDS)


TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
