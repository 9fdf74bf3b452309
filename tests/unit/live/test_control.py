"""What people ask of a watch: carried out once or not at all, whoever has the database."""

import asyncio
import threading
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError, StoreBusyError, StoreError, StoreVersionError
from pollwise.events import Added, Budgeted, Removed, Signalled, Updated
from pollwise.live import control
from pollwise.live.control import (
    ask,
    carry_out,
    carry_out_waiting,
    signal_pages,
    unused_shares,
    watch_settings,
)
from pollwise.live.incoming import Incoming
from pollwise.live.loop import run
from pollwise.live.progress import Progress
from pollwise.live.requests import (
    AddPages,
    ChangePages,
    ChangeSettings,
    Effect,
    MarkRead,
    RemovePages,
    Request,
    SignalPages,
    decode_answer,
    encode_request,
)
from pollwise.policies.deadline.uniform import Uniform
from pollwise.scheduler.scheduler import Scheduler
from pollwise.settings import CollectSettings
from pollwise.store import Requester, Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.store.retention import parse_retention
from pollwise.testing.fake_clock import FakeClock
from pollwise.types import Budget, Observation, Outcome, Page, PageMemory, Version
from pollwise.watched_pages import Watched
from pollwise.web.poll_reports import PollReport

A, B = "http://a.example/", "http://b.example/"


def new(url: str, **wishes: object) -> NewPage:
    return NewPage(url, url.split("/")[2], **wishes)


@pytest.fixture
def db(tmp_path) -> Path:
    return tmp_path / "pages.db"


@pytest.fixture
def store(db) -> Iterator[Store]:
    with Store.open(db) as store:
        yield store


def test_pages_are_added_changed_and_removed(store):
    added = carry_out(store, AddPages((new(A), new(B, tags=("x",)))), 1.0)
    assert added.events == (Added(1.0, tuple(record.page for record in store.pages())),)
    [again] = carry_out(store, AddPages((new(A, weight=2.0),)), 2.0).events
    assert isinstance(again, Updated)
    assert [page.weight for page in again.pages] == [2.0]
    [changed] = carry_out(store, ChangePages((new(B, paused=True),)), 3.0).events
    assert isinstance(changed, Updated)
    assert [(page.url, page.paused, page.tags) for page in changed.pages] == [(B, True, ("x",))]
    [named] = carry_out(store, ChangePages((new(B, name="Bee"),)), 3.0).events
    assert isinstance(named, Updated)
    assert named.pages[0].name == "Bee"
    removed = carry_out(store, RemovePages((A, A)), 4.0)
    assert removed.events == (Removed(4.0, (0,)),)
    assert [page.url for page in removed.removed] == [A]
    assert [record.page.url for record in store.pages()] == [B]


def test_settings_hold_from_now_on(store, monkeypatch):
    kept = []
    monkeypatch.setattr(store, "keep_versions", kept.append)
    done = carry_out(store, ChangeSettings(keep="30d", quiet=("22:00-06:00",)), 1.0)
    assert done.events == ()
    assert kept == [parse_retention("30d")]
    settings = watch_settings(store)
    assert (settings.keep, settings.quiet) == ("30d", ("22:00-06:00",))
    with pytest.raises(InputError, match="25:00"):
        carry_out(store, ChangeSettings(keep="all", quiet=("25:00-26:00",)), 2.0)
    assert len(kept) == 1
    assert watch_settings(store).keep == "30d"


def test_changes_are_marked_as_read(store):
    carry_out(store, AddPages((new(A),)), 1.0)
    for at in (2.0, 3.0, 4.0):
        poll = PollResult(Observation(0, at, Outcome.CHANGED), PageMemory())
        store.commit(Batch(polls=(poll,)))
    carry_out(store, MarkRead((2,)), 5.0)
    assert [one.seq for one in store.changes(unread=True)] == [1]
    carry_out(store, MarkRead((2,), read=False), 6.0)
    carry_out(store, MarkRead(up_to=1), 6.0)
    assert [one.seq for one in store.changes(unread=True)] == [2]


def test_what_was_so_already_is_no_change(store):
    carry_out(store, AddPages((new(A),)), 1.0)
    again = carry_out(store, AddPages((new(A), new(B))), 2.0)
    assert again.effect == Effect(added=(B,), unchanged=(A,))
    assert [type(event) for event in again.events] == [Added]
    assert carry_out(store, ChangePages((new(A, paused=False),)), 3.0).events == ()
    both = carry_out(store, ChangePages((new(A, paused=True), new(B, paused=False))), 4.0)
    assert both.effect == Effect(changed=(A,), unchanged=(B,))


def test_what_cannot_be_done_changes_nothing(store):
    carry_out(store, AddPages((new(A),)), 1.0)
    lists = f"`pollwise list --db {store.path}` shows what is"
    with pytest.raises(InputError, match=f"{B} is not watched in {store.path}: {lists}"):
        carry_out(store, RemovePages((A, B)), 2.0)
    with pytest.raises(InputError, match=f"{B} is not watched"):
        carry_out(store, ChangePages((new(A, weight=3.0), new(B))), 2.0)
    with pytest.raises(InputError, match="budget 'much'"):
        carry_out(store, ChangeSettings("much"), 2.0)
    [record] = store.pages()
    assert record.page.weight == 1.0


def test_a_budget_stays_until_another_is_told(store):
    [event] = carry_out(store, ChangeSettings("7200/hour"), 1.0).events
    assert event == Budgeted(1.0, 2.0, 2.0)
    assert watch_settings(store).budget == "7200/hour"
    store.start_run(2.0, watch_settings(store).recorded(), None)
    assert watch_settings(store).budget == "7200/hour"
    carry_out(store, ChangeSettings("1/hour"), 3.0)
    assert watch_settings(store).budget == "1/hour"
    assert store.runs()[-1].settings["budget"] == "7200/hour", "it takes this to re-run the run"


def test_a_budget_for_each_page_grows_with_the_pages(store):
    carry_out(store, ChangeSettings("1/second/page"), 1.0)
    *_, budgeted = carry_out(store, AddPages((new(A), new(B))), 2.0).events
    assert budgeted == Budgeted(2.0, 2.0, 2.0)
    *_, budgeted = carry_out(store, RemovePages((B,)), 3.0).events
    assert budgeted == Budgeted(3.0, 1.0, 1.0)


def test_shares_of_the_budget_are_kept_and_told_with_it(store):
    [event] = carry_out(store, ChangeSettings(shares=("shop=30%", "news=20%")), 1.0).events
    assert event.shares == (("shop", 0.3), ("news", 0.2))
    [event] = carry_out(store, ChangeSettings("1/second"), 2.0).events
    assert event == Budgeted(2.0, 1.0, 1.0, (("shop", 0.3), ("news", 0.2)))
    with pytest.raises(InputError, match="110 %"):
        carry_out(store, ChangeSettings("2/second", ("shop=30%", "news=80%")), 3.0)
    assert watch_settings(store).budget == "1/second"
    [event] = carry_out(store, ChangeSettings(shares=()), 4.0).events
    assert event.shares == ()
    assert watch_settings(store).shares == ()


def test_a_share_that_no_page_has_is_told(store):
    carry_out(store, AddPages((new(A, tags=("shop",)),)), 1.0)
    assert unused_shares(store) == []
    carry_out(store, ChangeSettings(shares=("shop=30%", "shpo=20%")), 1.0)
    assert unused_shares(store) == ["share of shpo: no page has this tag yet"]


def test_signals_that_waited_are_taken_in_together(store):
    carry_out(store, AddPages((new(A), new(B))), 1.0)
    for urls in ((A,), (A, B), (B, "http://gone.example/")):
        store.put_request(encode_request(SignalPages(urls)), 1.0)
    assert carry_out_waiting(store, 2.0, polls=False) == []
    [carried] = carry_out_waiting(store, 3.0)
    assert carried.events == (Signalled(3.0, (0, 1), 3.0),)
    assert store.waiting_requests() == []


def test_other_parts_make_the_copy_of_a_page_useless(store):
    carry_out(store, AddPages((new(A),)), 1.0)
    memory = PageMemory(etag='"1"', body_hash="ab", text_hash="cd")
    version = Version(0, 5.0, "text/html", b"x", "ab")
    poll = PollResult(Observation(0, 5.0, Outcome.CHANGED), memory, version)
    store.commit(Batch(polls=(poll,)))
    carry_out(store, ChangePages((new(A, weight=2.0),)), 6.0)
    assert store.pages()[0].memory == memory
    carry_out(store, ChangePages((new(A, select=("main",)),)), 7.0)
    [record] = store.pages()
    assert record.memory == PageMemory()
    assert record.page.seen_at == 5.0


def test_a_signal_waits_for_a_process_that_polls(db):
    ask(db, AddPages((new(A),)), make=True, say=print)
    signal_pages(db, [A])
    with pytest.raises(InputError, match=f"{B} is not watched"):
        signal_pages(db, [A, B])
    ask(db, ChangeSettings("5/hour"), make=False, say=print)  # carries out what waits but signals
    with Store.open(db) as store:
        [carried] = carry_out_waiting(store, 5.0)
        assert carried.events == (Signalled(5.0, (0,), 5.0),)
        assert carry_out_waiting(store, 6.0) == []


def test_without_an_owner_a_command_does_it_itself(db):
    with pytest.raises(InputError, match="there is no database"):
        ask(db, RemovePages((A,)), make=False, say=print)
    assert not db.exists()
    ask(db, AddPages((new(A),)), make=True, say=print)
    with Store.open_readonly(db) as store:
        assert [record.page.url for record in store.pages()] == [A]


def test_an_owner_is_asked_and_answers(db, store):
    over = threading.Event()
    done = []

    def own() -> None:
        while not over.wait(0.02):
            done.extend(carry_out_waiting(store, 5.0))

    owner = threading.Thread(target=own)
    owner.start()
    try:
        assert ask(db, AddPages((new(A),)), make=True, say=print) == Effect(added=(A,))
        with pytest.raises(InputError, match=f"{B} is not watched"):
            ask(db, RemovePages((B,)), make=False, say=print)
    finally:
        over.set()
        owner.join()
    assert [carried.request for carried in done] == [AddPages((new(A),))]


def test_a_request_that_nobody_answers_is_withdrawn(db, store, monkeypatch):
    monkeypatch.setattr(control, "_PATIENCE", 0.2)
    with pytest.raises(
        StoreError, match=r"in use by process \d+, which does not answer: nothing was"
    ):
        ask(db, AddPages((new(A),)), make=True, say=print)
    assert carry_out_waiting(store, 5.0) == []
    assert store.pages() == []


def test_many_pages_are_added_in_parts(db, store):
    pages = tuple(new(f"http://a.example/{number}") for number in range(2500))
    asked = []
    asking = threading.Thread(
        target=lambda: asked.append(ask(db, AddPages(pages), make=True, say=print))
    )
    asking.start()
    while not store.waiting_requests():
        time.sleep(0.01)
    counts = []
    while done := carry_out_waiting(store, 5.0):
        [carried] = done
        counts.append(len(carried.effect.added))
    asking.join()
    assert counts == [1000, 1000, 500]
    assert asked == [Effect(added=tuple(page.url for page in pages))]


@pytest.mark.parametrize("kind", [ChangePages, RemovePages])
def test_many_pages_are_changed_or_removed_in_parts_and_none_if_one_is_unknown(db, store, kind):
    pages = tuple(new(f"http://a.example/{number}") for number in range(2500))
    store.add_pages(pages, now=0.0)
    if kind is ChangePages:
        told, unknown = tuple(replace(page, paused=True) for page in pages), new(B)
    else:
        told, unknown = tuple(page.url for page in pages), B
    with pytest.raises(InputError, match=f"{B} is not watched"):
        ask(db, kind((*told, unknown)), make=False, say=print)
    assert store.waiting_requests() == []
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(ask, db, kind(told), make=False, say=print)
        while not store.waiting_requests():
            time.sleep(0.01)
        counts = []
        while done := carry_out_waiting(store, 5.0):
            counts += [len(one.effect.changed + one.effect.removed) for one in done]
        effect = asked.result()
    assert counts == [1000, 1000, 500]
    assert set(effect.changed + effect.removed) == {page.url for page in pages}
    assert [record.page.paused for record in store.pages()] == [True] * len(effect.changed)


def test_the_parts_that_nobody_answers_are_withdrawn(db, store, monkeypatch):
    monkeypatch.setattr(control, "_PATIENCE", 0.5)
    pages = tuple(new(f"http://a.example/{number}") for number in range(2500))
    errors = []

    def asked() -> None:
        with pytest.raises(StoreError) as refused:
            ask(db, AddPages(pages), make=True, say=print)
        errors.append(str(refused.value))

    asking = threading.Thread(target=asked)
    asking.start()
    while not store.waiting_requests():
        time.sleep(0.01)
    assert len(carry_out_waiting(store, 5.0)) == 1
    asking.join()
    assert "does not answer: the first 1,000 pages were added, the others not" in errors[0]
    assert carry_out_waiting(store, 6.0) == []
    assert len(store.pages()) == 1000


def test_when_the_owner_dies_between_two_parts_the_command_does_the_others(db):
    owner = Store.open(db)
    pages = tuple(new(f"http://a.example/{number}") for number in range(1500))
    asked = []
    asking = threading.Thread(
        target=lambda: asked.append(ask(db, AddPages(pages), make=True, say=print))
    )
    asking.start()
    while not owner.waiting_requests():
        time.sleep(0.01)
    carry_out_waiting(owner, 5.0)
    owner.close()
    asking.join()
    assert asked == [Effect(added=tuple(page.url for page in pages))]
    with Store.open_readonly(db) as store:
        assert len(store.pages()) == 1500


def test_when_the_owner_dies_the_command_does_it(db):
    owner = Store.open(db)
    asking = threading.Thread(
        target=ask, args=(db, AddPages((new(A),))), kwargs={"make": True, "say": print}
    )
    asking.start()
    while not owner.waiting_requests():
        time.sleep(0.01)
    owner.close()
    asking.join()
    with Store.open_readonly(db) as store:
        assert [record.page.url for record in store.pages()] == [A]


def test_a_new_owner_finds_what_waits_in_its_order(db, store):
    with Requester.open(db) as requester:
        ids = [
            requester.put_request(encode_request(request), 1.0)
            for request in (AddPages((new(A),)), RemovePages((B,)), RemovePages((A,)))
        ]
        assert [requester.answer(number) for number in ids] == [None] * 3
        assert len(carry_out_waiting(store, 2.0)) == 2
        first, second, third = (requester.answer(number) for number in ids)
    assert first is not None
    assert second is not None
    assert third is not None
    assert decode_answer(first) == Effect(added=(A,))
    assert decode_answer(third) == Effect(removed=(A,))
    with pytest.raises(InputError, match="is not watched"):
        decode_answer(second)
    assert carry_out_waiting(store, 3.0) == []


def test_a_request_of_a_later_version_is_answered(db, store):
    with Requester.open(db) as requester:
        number = requester.put_request('["fly", []]', 1.0)
        assert carry_out_waiting(store, 2.0) == []
        assert "does not know this request" in (requester.answer(number) or "")


def test_requests_are_carried_out_together_or_not_at_all(db, store, monkeypatch):
    with Requester.open(db) as requester:
        ids = [requester.put_request(encode_request(AddPages((new(url),))), 1.0) for url in (A, B)]
        answer = store.answer_request

        def locked(request_id: int, now: float, told: str) -> bool:
            if request_id == ids[1]:
                raise StoreBusyError("locked")
            return answer(request_id, now, told)

        with monkeypatch.context() as patch:
            patch.setattr(store, "answer_request", locked)
            with pytest.raises(StoreBusyError):
                carry_out_waiting(store, 2.0)
        assert [requester.answer(number) for number in ids] == [None, None]
        assert store.pages() == []
        assert len(carry_out_waiting(store, 3.0)) == 2


@pytest.mark.parametrize("field", ['"cost": 0', r'"tags": ["\udcff"]', '"url": "rubbish"'])
def test_a_bad_request_is_answered_and_the_next_one_is_carried_out(db, store, field):
    with Requester.open(db) as requester:
        bad = requester.put_request(f'["add", [{{"url": "{B}", {field}}}]]', 1.0)
        requester.put_request(encode_request(AddPages((new(A),))), 1.0)
        assert [carried.request for carried in carry_out_waiting(store, 2.0)] == [
            AddPages((new(A),))
        ]
        assert requester.answer(bad)


def test_a_collection_is_not_for_these_commands(db, store):
    store.start_run(1.0, CollectSettings().recorded(), None)
    with pytest.raises(InputError, match=r"such as --budget.* \(--seed\).* or remove this one"):
        ask(db, AddPages((new(A),)), make=True, say=print)
    store.close()
    with pytest.raises(InputError, match="holds a collection"):
        ask(db, AddPages((new(A),)), make=True, say=print)


def test_a_database_of_an_older_format_is_not_written_beside_its_owner(db):
    with Store.open(db) as store:
        store._connection._sqlite.execute("PRAGMA user_version = 7")
        with pytest.raises(StoreVersionError, match="has format 7"):
            ask(db, AddPages((new(A),)), make=True, say=print)


URLS = [f"http://{host}.example/{n}" for host in "ab" for n in range(3)]
SOME = st.lists(st.sampled_from(URLS), min_size=1, max_size=3, unique=True)
WISHES = st.fixed_dictionaries(
    {},
    optional={
        "weight": st.sampled_from([0.5, 2.0]),
        "cost": st.sampled_from([1.0, 2.0]),
        "paused": st.booleans(),
        "tags": st.sampled_from([(), ("x",)]),
        "select": st.sampled_from([(), ("main",)]),
    },
)
REQUESTS = st.one_of(
    st.builds(lambda urls, w: AddPages(tuple(new(u, **w) for u in urls)), SOME, WISHES),
    st.builds(lambda urls, w: ChangePages(tuple(new(u, **w) for u in urls)), SOME, WISHES),
    st.builds(lambda urls: RemovePages(tuple(urls)), SOME),
    st.builds(ChangeSettings, st.sampled_from(["1/second", "3/second", "1/second/page"])),
)
RUNS = st.lists(
    st.lists(st.tuples(st.integers(0, 20), REQUESTS), max_size=8), min_size=1, max_size=3
)
ALL = AddPages(tuple(map(new, URLS)))
AT_ONCE = [
    [(3, AddPages((new(URLS[0]),))), (3, RemovePages((URLS[0],)))],
    [(0, ALL), (6, ChangeSettings("3/second")), (6, RemovePages(tuple(URLS)))],
    [(0, ALL), (6, RemovePages(tuple(URLS[:3]))), (6, AddPages((new(URLS[0]),)))],
    [(0, AddPages((new(URLS[0]),))), (6, AddPages((new(URLS[4]),))), (6, RemovePages((URLS[0],)))],
    [(3, AddPages((new(URLS[0]),))), (3, ChangePages((new(URLS[0], paused=True),)))],
]
"""Requests that a run takes in together, by run."""


class SlowWeb:
    """A poller whose polls take a turn or two."""

    def __init__(self, clock: FakeClock, watched: dict[int, Watched]) -> None:
        self.clock = clock
        self.watched = watched

    def poll(self, page: Page, memory: PageMemory) -> Coroutine[object, object, PollReport]:
        # When it is commanded: until it begins, something else may be wanted.
        assert not page.paused
        own = self.watched[page.id]
        assert (own.page, own.memory) == (page, memory)
        return self._polled(page, memory)

    async def _polled(self, page: Page, memory: PageMemory) -> PollReport:
        for _ in range(page.id % 3):
            await asyncio.sleep(0)
        now = self.clock()
        text = f"{page.select} {int(now) // 5}"
        version = Version(page.id, now, "", text.encode(), text)
        if text == memory.text_hash:
            return PollReport(PollResult(Observation(page.id, now, Outcome.UNCHANGED), memory))
        outcome = Outcome.CHANGED
        return PollReport(
            PollResult(Observation(page.id, now, outcome), PageMemory(text_hash=text), version)
        )


async def watch_for_a_while(
    store: Store, start: float, plan: list[tuple[int, Request]]
) -> tuple[Scheduler, dict[int, Watched]]:
    """A run of 20 seconds, during which others ask for what the plan says, in these turns."""
    clock, stop, incoming = FakeClock(now=start), asyncio.Event(), Incoming()
    clock.stop_at(start + 20.0, stop)
    records = store.pages()
    watched = {record.page.id: Watched(record.page, record.memory) for record in records}
    scheduler = Scheduler(Uniform(), Budget(1.0), first_copies=Budget(2.0), crawl_delay=0.5)
    scheduler.restore([record.page for record in records], store.scheduler_state())
    turns = 0

    async def record(progress: Progress) -> None:
        nonlocal turns
        polls = tuple(report.result for report in progress.reports)
        store.commit(Batch(polls=polls, scheduler=scheduler.state()))
        with Requester.open(store.path) as requester:
            for turn, request in plan:
                if turn == turns:
                    requester.put_request(encode_request(request), clock())
        for carried in carry_out_waiting(store, clock()):
            incoming.put(carried.events)
        turns += 1

    poller = SlowWeb(clock, watched)
    await run(
        scheduler,
        poller,
        watched=watched,
        clock=clock,
        record=record,
        stop=stop,
        incoming=incoming,
    )
    for event in incoming.take():  # what came after the last turn
        scheduler.handle(event)
        match event:
            case Added(_, pages):
                watched.update({page.id: Watched(page, PageMemory()) for page in pages})
            case Removed(_, page_ids):
                for page_id in page_ids:
                    watched.pop(page_id, None)
            case Updated(_, pages):
                watched.update(
                    {p.id: Watched(p, watched[p.id].memory) for p in pages if p.id in watched}
                )
    return scheduler, watched


@given(RUNS)
@example(AT_ONCE)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_store_scheduler_and_loop_agree_whatever_is_asked_for_and_when(tmp_path_factory, plans):
    db = tmp_path_factory.mktemp("control") / "pages.db"
    for number, plan in enumerate(plans):
        with Store.open(db) as store:
            start = 1000.0 + 100.0 * number
            scheduler, watched = asyncio.run(watch_for_a_while(store, start, plan))
            assert store.waiting_requests() == []
            stored = {record.page.id: record.page for record in store.pages()}
            known = set()
            for page_id in range(store.next_page_id()):
                with suppress(LookupError):
                    scheduler.scope_of(page_id)
                    known.add(page_id)
            assert stored.keys() == watched.keys() == known
            for page_id, page in stored.items():
                own = watched[page_id].page
                assert (page.weight, page.cost, page.paused, page.tags, page.select) == (
                    (own.weight, own.cost, own.paused, own.tags, own.select)
                )
                assert scheduler.bounds.is_paused(page_id) == page.paused


def test_a_signal_that_is_asked_for_waits_for_who_polls(db, store):
    store.add_pages([new(A)], now=0.0)
    assert ask(db, SignalPages((A,)), make=False, say=print) == Effect()
    store.close()
    assert ask(db, SignalPages((A,)), make=False, say=print) == Effect()
    with pytest.raises(InputError, match=f"{B} is not watched"):
        ask(db, SignalPages((B,)), make=False, say=print)
    with Store.open(db) as owner:
        [carried] = carry_out_waiting(owner, 5.0)
    assert carried.request == SignalPages((A,))
