"""Watching the pages of a real database by a clock that is made up."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

from pollwise.errors import InputError, StoreBusyError, StoreError
from pollwise.events import Poll, Polled, Signalled, page_row
from pollwise.live import journal
from pollwise.live.incoming import Incoming
from pollwise.live.journal import InitialState, rerun, was_killed
from pollwise.live.progress import Progress
from pollwise.live.session import Session
from pollwise.policies.collecting.oracles import RandomOrder
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.scheduler.packing import pack
from pollwise.scheduler.scheduler import Scheduler
from pollwise.settings import WatchSettings, read_settings
from pollwise.store import Store
from pollwise.store.records import (
    Batch,
    Collected,
    Discoveries,
    NewPage,
    PollResult,
)
from pollwise.testing.fake_clock import FakeClock
from pollwise.types import Budget, Links, Observation, Outcome, Page, PageMemory, Version
from pollwise.web.poll_reports import PollReport

PAGES = [NewPage(f"http://{host}.example/{n}", host) for host in "ab" for n in range(3)]
BAD = 4
SETTINGS = WatchSettings(budget="30/minute")


class Web:
    """A poller of pages that change at every other poll; one always fails."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.asked: list[tuple[float, int, str | None]] = []

    async def poll(self, page: Page, memory: PageMemory) -> PollReport:
        now = self.clock()
        self.asked.append((now, page.id, memory.etag))
        if page.id == BAD:
            return PollReport(
                PollResult(Observation(page.id, now, Outcome.FAILED), memory, error="no answer")
            )
        number = int(memory.etag or 0) + 1
        kept = PageMemory(etag=str(number), body_hash=f"{page.id}-{number // 2}")
        if memory.body_hash == kept.body_hash:
            return PollReport(PollResult(Observation(page.id, now, Outcome.UNCHANGED), kept))
        version = Version(page.id, now, "text/plain", b"%d" % number, kept.body_hash or "")
        return PollReport(PollResult(Observation(page.id, now, Outcome.CHANGED), kept, version))


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "pollwise.db"


@pytest.fixture
def store(path) -> Iterator[Store]:
    with Store.open(path) as store:
        store.add_pages(PAGES, now=0.0)
        yield store


def new_scheduler() -> Scheduler:
    return Scheduler(BayesianIndex(), Budget(0.5), crawl_delay=3.0, retry_after=50.0)


async def run(
    store: Store, begin: float, seconds: float, on_progress=lambda *_: None, say=print
) -> Web:
    """Watch for so long."""
    clock, stop = FakeClock(begin), asyncio.Event()
    clock.stop_at(begin + seconds, stop)
    web = Web(clock)
    session = Session(store, SETTINGS, clock=clock, say=say, scheduler=new_scheduler())
    await asyncio.wait_for(session.run(web, stop, on_progress=on_progress), timeout=250)
    return web


async def test_everything_that_happened_is_in_the_store_when_it_is_told(store, path):
    told = []

    def check(progress: Progress, watched) -> None:
        told.extend(report.result.observation for report in progress.reports)
        with Store.open_readonly(path) as reader:
            assert reader.totals().polls == len(told)
            state = json.loads(reader.scheduler_state())
            for report in progress.reports:
                own = watched[report.result.observation.page_id]
                record = reader.find_page(own.page.url)
                assert (record.page, record.memory) == (own.page, own.memory)
                assert record.error == report.result.error
                # The rest of a page that failed is kept at once, not at some later turn.
                resting = [row[0][0] for row in state["back_offs"]]
                assert (own.page.id in resting) == (own.page.id == BAD)

    web = await run(store, 1000.0, 120.0, check)
    assert len(told) == len(web.asked) > 40
    [first] = store.runs()
    assert (first.started_at, read_settings(first.settings)) == (1000.0, SETTINGS)
    logged = [e for e in store.events(first.id) if isinstance(e, Polled)]
    assert [o for event in logged for o in event.observations] == told


async def test_content_is_released_when_it_is_in_the_store(store, path, monkeypatch):
    released, told = [], 0
    poll = Web.poll

    async def poll_with_place(web: Web, page: Page, memory: PageMemory) -> PollReport:
        report = await poll(web, page, memory)

        def release() -> None:
            with Store.open_readonly(path) as reader:
                assert reader.totals().polls > len(released)
            released.append(page.id)

        return replace(report, release=release)

    def count(progress: Progress, watched) -> None:
        nonlocal told
        assert len(released) == told, "those of earlier turns, and none of this one"
        told += len(progress.reports)

    monkeypatch.setattr(Web, "poll", poll_with_place)
    await run(store, 1000.0, 30.0, count)
    assert len(released) == told > 5


async def test_the_next_run_goes_on_where_the_last_one_ended(store):
    begin = await run(store, 1000.0, 60.0)
    rest = json.loads(store.scheduler_state())["back_offs"][0][-1]
    etags = {record.page.id: record.memory.etag for record in store.pages()}
    # So soon that the last poll of the run before still counts for budget and politeness.
    again = await run(store, begin.asked[-1][0] + 0.5, 200.0)
    assert again.asked[0][0] >= begin.asked[-1][0] + 2.0
    first: dict[int, str | None] = {}
    for _, page_id, etag in again.asked:
        first.setdefault(page_id, etag)
    assert first == {page_id: etags[page_id] for page_id in first}
    assert min(now for now, page_id, _ in again.asked if page_id == BAD) >= rest


async def test_a_signal_counts_until_its_page_is_polled_also_in_later_runs(store):
    await run(store, 1000.0, 120.0)
    clock, stop, incoming = FakeClock(2000.0), asyncio.Event(), Incoming()
    clock.stop_at(2005.0, stop)
    pages = [n for n in range(len(PAGES)) if n != BAD]
    incoming.put([Signalled(2000.0, (*pages, 99), 2000.0)])
    scheduler = Scheduler(BayesianIndex(), Budget(1e-6))
    session = Session(store, SETTINGS, clock=clock, say=print, scheduler=scheduler)
    web = Web(clock)
    await asyncio.wait_for(
        session.run(web, stop, on_progress=lambda *_: None, incoming=incoming), timeout=250
    )
    [(_, polled, _)] = web.asked
    again = BayesianIndex()
    again.add(list(store.watched_pages().columns()))
    again.load_state_dict(store.load_learned())
    for page in pages:
        told, expected = (one.estimate(page, 2010.0) for one in (again, scheduler.policy))
        assert told.signalled_at == (None if page == polled else 2000.0)
        assert told.signal == expected.signal


async def test_the_log_of_each_run_leads_to_what_was_learned(store):
    for begin in (1000.0, 2000.0):
        await run(store, begin, 60.0)
        scheduler = new_scheduler()
        run_id = store.runs()[-1].id
        commands = rerun(scheduler, store.initial_state(run_id), store.events(run_id))
        assert len(commands) == len(list(store.events(run_id)))
        learned = store.load_learned()
        again = scheduler.policy.state_dict(learned["page_ids"].tolist())
        assert learned.keys() == again.keys()
        for name in (name for name in learned if name.startswith("page")):
            np.testing.assert_array_equal(learned[name], again[name])


async def test_the_logs_of_ten_runs_are_kept(store):
    for number in range(12):
        await run(store, 1000.0 + 10 * number, 3.0)
    assert [bool(list(store.events(r.id))) for r in store.runs()] == [False] * 2 + [True] * 10


@pytest.mark.parametrize("ahead", [30 * 86400.0, 90.0])
async def test_a_run_whose_clock_was_ahead_stops_no_later_one(path, ahead):
    def store_of(name: str) -> Store:
        return Store.open(path.with_name(name))

    def seen(web: Web) -> list[tuple[float, int]]:
        return [(now, page_id) for now, page_id, _ in web.asked]

    with store_of("ahead") as store, store_of("right") as other:
        for each, begin in ((store, 1000.0 + ahead), (other, 1000.0)):
            each.add_pages(PAGES, now=begin)
            await run(each, begin, 200.0)
        # The clock is right again, 30 s after the run began.
        web = await run(store, 1030.0, 200.0)
        expected = await run(other, 1300.0, 200.0)
        assert len(web.asked) == pytest.approx(len(expected.asked), abs=3)
        records = store.pages()
        assert all(1030.0 <= record.polled_at <= 1300.0 for record in records)
        learned = store.load_learned()
        assert np.nanmax(learned["page.seen_at"]) <= 1300.0
        recent = [o.polled_at for r in records for o in store.recent_outcomes(r.page.id, 50)]
        assert max(recent) <= 1300.0
        assert len(recent) == sum(min(record.polls, 50) for record in records)


async def test_it_says_that_a_database_does_not_answer(store, path, monkeypatch):
    """As that of a server that is frozen."""
    said: list[str] = []
    answers = threading.Event()
    commit, commits = store.commit, 0

    def frozen(batch: Batch) -> None:
        nonlocal commits
        commits += 1
        if commits == 3:
            assert answers.wait(60.0)
        commit(batch)

    def say(line: str) -> None:
        said.append(line)
        if "has not answered" in line:
            answers.set()

    monkeypatch.setattr(store, "commit", frozen)
    monkeypatch.setattr(journal, "_SILENT", 0.05)
    web = await run(store, 1000.0, 60.0, say=say)
    assert store.totals().polls == len(web.asked)
    assert said[-2:] == [
        "the database has not answered for 0.05 s: polls wait for it",
        "the database is free again: going on",
    ]


async def test_it_waits_while_another_program_locks_the_database(store, path, monkeypatch):
    said: list[str] = []
    tries = 0
    commit = store.commit

    def locked(batch: Batch) -> None:
        nonlocal tries
        tries += 1
        if 3 <= tries < 8:
            raise StoreBusyError("it is locked by another program")
        commit(batch)

    monkeypatch.setattr(store, "commit", locked)
    told: list[Progress] = []
    web = await run(store, 1000.0, 60.0, lambda p, _: told.append(p), say=said.append)
    assert tries > 10
    assert store.totals().polls == len(web.asked) == sum(len(p.reports) for p in told)
    assert said[-2:] == [
        "it is locked by another program; waiting for it",
        "the database is free again: going on",
    ]


async def test_a_run_that_is_to_end_waits_for_a_locked_database_only_for_a_while(
    store, monkeypatch
):
    def locked(batch: Batch) -> None:
        raise StoreBusyError("it is locked by another program")

    monkeypatch.setattr(store, "commit", locked)
    clock, stop = FakeClock(1000.0), asyncio.Event()
    session = Session(store, SETTINGS, clock=clock, say=print, scheduler=new_scheduler())
    stop.set()
    with pytest.raises(StoreBusyError):
        await session.run(Web(clock), stop, on_progress=lambda *_: None)


@pytest.mark.parametrize("method", ["commit", "start_run", "prune_events"])
async def test_a_store_that_cannot_be_written_ends_it(store, monkeypatch, method):
    def fail(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(store, method, fail)
    with pytest.raises(StoreError, match="the disk is full"):
        await run(store, 1000.0, 60.0)
    assert store.totals().polls == 0


async def test_a_writer_that_fails_in_the_middle_loses_that_turn_only(store, monkeypatch):
    told = []
    commit = store.commit

    def fail_late(batch: Batch) -> None:
        if len(told) == 20:
            raise StoreError("the disk is full")
        commit(batch)

    monkeypatch.setattr(store, "commit", fail_late)
    with pytest.raises(StoreError):
        await run(store, 1000.0, 600.0, lambda progress, _: told.append(progress))
    assert len(told) == 20
    assert store.totals().polls == sum(len(progress.reports) for progress in told)


async def test_hosts_are_left_alone_only_after_a_run_that_did_not_end(store, monkeypatch):
    """After such a one for their delay, and what the log of that run leads to is the same."""
    commit, turns = store.commit, 0

    def fail_late(batch: Batch) -> None:
        nonlocal turns
        turns += 1
        if turns == 20:
            raise StoreError("the disk is full")
        commit(batch)

    await run(store, 1000.0, 60.0)
    assert not was_killed(store)
    after_an_end = await run(store, 2000.0, 60.0)
    monkeypatch.setattr(store, "commit", fail_late)
    with pytest.raises(StoreError):
        await run(store, 3000.0, 60.0)
    monkeypatch.undo()
    assert was_killed(store)
    after_none = await run(store, 4000.0, 60.0)
    assert not was_killed(store)
    assert after_an_end.asked[0][0] == 2000.0
    assert after_none.asked[0][0] == 4003.0
    latest = store.runs()[-1]
    events = list(store.events(latest.id))
    commands = rerun(new_scheduler(), store.initial_state(latest.id), events)
    polls = [c.page_id for each in commands for c in each if isinstance(c, Poll)]
    assert polls == [page_id for _, page_id, _ in after_none.asked]


def test_an_initial_state_is_what_was_packed():
    policy = BayesianIndex()
    policy.add([Page(0), Page(1)])
    learned = policy.state_dict()
    pages = (Page(0, "http://a.example/", "a", 2.0, 0.5, 10.0), Page(1))
    state = InitialState(pages, learned, '{"rate": 1}', first=(1,))
    again = InitialState.unpack(state.pack())
    assert (again.pages, again.scheduler, again.first) == (pages, '{"rate": 1}', [1])
    assert again.learned is not None
    assert again.learned.keys() == learned.keys()
    for name, array in learned.items():
        np.testing.assert_array_equal(again.learned[name], array)


def test_an_initial_state_may_be_without_the_texts_of_pages():
    pages = (Page(0, "http://a.example/", "a", weight=2.0, name="A"), Page(1, "http://b.example/"))
    again = InitialState.unpack(InitialState(pages, None, None).pack(texts=False))
    assert again.pages == (Page(0, "", "a", weight=2.0), Page(1))


async def test_a_state_that_is_too_large_for_the_database_is_not_kept(store, monkeypatch):
    monkeypatch.setattr(journal, "_LARGEST_STATE", 100)
    await run(store, 1000.0, 60.0)
    run_id = store.runs()[-1].id
    assert store.totals().polls > 0
    assert list(store.events(run_id)) == []
    with pytest.raises(InputError, match="only a run whose log is whole"):
        store.initial_state(run_id)


@pytest.mark.parametrize("later", [[], [True]])
def test_an_initial_state_of_an_earlier_version_can_be_read(later):
    pages = (
        Page(0, "http://a.example/", "a", 2.0, 0.5, 10.0, tags=("x", "y"), render=True),
        Page(3, "http://b.example/", "b"),
    )
    rows = [page_row(page) for page in pages]
    again = InitialState.unpack(pack([rows, None, *later], {}))
    assert (again.pages, again.awaited, again.first) == (pages, bool(later), ())


def test_an_initial_state_of_a_new_database_is_empty():
    again = InitialState.unpack(InitialState((), None, None).pack())
    assert (again.pages, again.learned, again.scheduler) == ((), None, None)


class Recorder(RandomOrder):
    """A request controller that writes down what it is told."""

    def __init__(self) -> None:
        super().__init__(generator=np.random.default_rng(1))
        self.told: list[Observation] = []

    def observe(self, observations) -> None:
        self.told += observations
        super().observe(observations)


class Collection(Web):
    """Pages with content, of which some are gone, or fail, when they are polled again."""

    async def poll(self, page: Page, memory: PageMemory) -> PollReport:
        now = self.clock()
        again = page.seen_at is not None
        self.asked.append((now, page.id, memory.etag))
        if again and page.id % 3:
            bad = Outcome.GONE if page.id % 3 == 1 else Outcome.FAILED
            return PollReport(PollResult(Observation(page.id, now, bad), memory, error=f"{bad!r}"))
        kept, seen = PageMemory(body_hash=f"{now}"), Outcome.CHANGED
        version = Version(page.id, now, "text/plain", f"{now}".encode(), f"{now}")
        links = Links(np.array([0]), ("first",))
        return PollReport(
            PollResult(Observation(page.id, now, seen, relevance=0.5), kept, version),
            discovered=Discoveries(
                collected=Collected(page.id, 0.5, "title", "text", b""), links=links
            ),
        )


async def collect(
    store: Store,
    begin: float,
    seconds: float,
    states: Mapping[str, Callable[[], bytes]] = MappingProxyType({}),
) -> tuple[Recorder, Collection]:
    clock, stop, policy = FakeClock(begin), asyncio.Event(), Recorder()
    clock.stop_at(begin + seconds, stop)
    web = Collection(clock)
    scheduler = Scheduler(policy, Budget(0.5), crawl_delay=3.0, retry_after=50.0)
    session = Session(store, SETTINGS, clock=clock, say=print, scheduler=scheduler)
    run = session.run(web, stop, on_progress=lambda *_: None, states=states)
    await asyncio.wait_for(run, timeout=250)
    return policy, web


async def test_a_collection_is_recalled_as_of_its_latest_copies(store):
    _, web = await collect(store, 1000.0, 60.0)
    seen_at = {r.page.id: r.page.seen_at for r in store.pages()}
    later = [now for now, page_id, _ in web.asked if now > seen_at[page_id]]
    assert later, "some were polled again, in vain"
    policy, _ = await collect(store, 2000.0, 1.0)
    recalled = [o for o in policy.told if o.polled_at < 2000.0 and o.relevance is not None]
    assert {o.page_id: o.polled_at for o in recalled} == seen_at


async def test_only_the_begin_of_a_new_collection_is_logged(store, monkeypatch):
    monkeypatch.setattr("pollwise.live.journal._MOST_EVENTS", 20)
    await collect(store, 1000.0, 100.0)
    await collect(store, 2000.0, 20.0)
    first, second = store.runs()
    events = list(store.events(first.id))
    assert 20 <= len(events) < 25
    scheduler = Scheduler(Recorder(), Budget(0.5), crawl_delay=3.0, retry_after=50.0)
    commands = rerun(scheduler, store.initial_state(first.id), events)
    assert any(isinstance(c, Poll) for turn in commands for c in turn)
    assert list(store.events(second.id)) == [], "there is no state to run them again from"


async def test_a_large_state_does_not_hold_up_a_small_one(store):
    made = Counter()

    def make(name: str, size: int) -> bytes:
        made[name] += 1
        return bytes(size - 1) + bytes([made[name]])

    states = {
        "large": lambda: make("large", 25_000_000),  # half a second: every 50 seconds
        "small": lambda: make("small", 10),
    }
    await collect(store, 1000.0, 60.0, states)
    assert made["large"] <= 3
    assert made["small"] > 5 * made["large"]
    for name in states:
        assert store.state(name)[-1] == made[name], "the last one is written at the end"


def test_what_is_large_is_written_as_seldom_as_it_takes_time():
    """So the state of a large collection does not make most of what is written."""
    stop, made, now = asyncio.Event(), [], 0.0

    def make() -> bytes:
        made.append(now)
        return bytes(5_000_000)  # a tenth of a second

    seldom = journal._Seldom(make, lambda: now, stop, size=len)
    for second in range(31):
        now = float(second)
        seldom()
    assert made == [0.0, 10.0, 20.0, 30.0]
    stop.set()
    assert seldom() is not None


@pytest.mark.parametrize(("takes", "due"), [(0.02, 0.5), (0.1, 2.0)])
def test_what_seems_to_take_long_is_written_within_its_period(takes, due):
    now = 0.0

    def make() -> str:
        nonlocal now
        now += takes  # as the machine was busy
        return "state"

    seldom = journal._Seldom(make, lambda: now, asyncio.Event(), share=0.005, period=0.5)
    assert seldom() == "state"
    now = due - 0.01
    assert seldom() is None
    now = due
    assert seldom() == "state"
