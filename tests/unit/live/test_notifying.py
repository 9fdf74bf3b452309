"""Receivers of notices beside a run: a day with failures and restarts, and how a run ends."""

import asyncio
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pollwise.errors import StoreError
from pollwise.insight.changes import change_id
from pollwise.live.incoming import Incoming
from pollwise.live.notifying import notifying
from pollwise.notify.delivery import Delivery
from pollwise.notify.notice import Notice
from pollwise.notify.receivers import Receiver, read_receiver
from pollwise.notify.sending import NotSentError
from pollwise.store import Store
from pollwise.store.records import Batch, FoundItem, NewPage, PollResult, StoredReceiver
from pollwise.types import Observation, Outcome, PageMemory, Version

BEGIN = 1_000_000.0
_OUTCOMES = Outcome.CHANGED, Outcome.UNCHANGED, Outcome.FAILED


class SteppedClock:
    """A clock that a test sets; it knows who waits for it."""

    def __init__(self) -> None:
        self.now = BEGIN
        self._waiting: list[tuple[float, asyncio.Future[None]]] = []

    def __call__(self) -> float:
        return self.now

    async def wait(self, tasks: Collection[asyncio.Future[Any]], until: float) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((until, turn))
        await asyncio.wait([turn, *tasks], return_when=asyncio.FIRST_COMPLETED)
        self._waiting = [waits for waits in self._waiting if waits[1] is not turn]

    async def idle(self, tellers: int) -> None:
        """Wait until so many wait for this clock, for a time that has not come."""
        while sum(until > self.now for until, _ in self._waiting) < tellers:
            await asyncio.sleep(0.0005)

    async def advance(self, seconds: float, tellers: int) -> None:
        """Let so much time pass, and what is due be done."""
        self.jump(seconds)
        await self.idle(tellers)

    def jump(self, seconds: float) -> None:
        """Let so much time pass; those who wait will see it."""
        self.now += seconds
        for until, turn in self._waiting:
            if until <= self.now and not turn.done():
                turn.set_result(None)


class Writer:
    """What a journal does for others: it writes by one thread, until the process dies."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self.is_dead = False

    def die(self) -> None:
        self.is_dead = True

    async def write(self, call: Callable[..., None], *arguments: object) -> None:
        if self.is_dead:
            raise StoreError("the process has died")
        await asyncio.get_running_loop().run_in_executor(self._thread, call, *arguments)


def poll(page_id: int, at: float, body: bytes, kind: str = "text/html", **told: Any) -> PollResult:
    version = Version(page_id, at, kind, body, f"{page_id:016x}{int(at):016x}")
    reverted = told.pop("reverted", False)
    seen = Observation(page_id, at, Outcome.CHANGED, reverted=reverted)
    return PollResult(seen, PageMemory(), version, **told)


def receiver(name: str, **told: Any) -> Receiver:
    return read_receiver({"name": name, "to": "https://a.example/", **told})


class Receivers:
    """Receivers that fail at random; some take a notice and fail all the same."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._lock = threading.Lock()
        self.arrived: dict[str, list[Notice]] = defaultdict(list)
        self.failures = 0
        self.after_arrival: Callable[[], None] = lambda: None
        self.is_down: Callable[[str], bool] = lambda name: False

    def send(self, receiver: Receiver, notice: Notice) -> None:
        with self._lock:
            draw = self._rng.random()
            if self.is_down(receiver.name) or draw < 0.2:
                self.failures += 1
                raise NotSentError("it is down")
            self.arrived[receiver.name].append(notice)
            self.after_arrival()
            if draw < 0.3:
                self.failures += 1
                raise NotSentError("its answer was lost")


def a_turn(
    rng: np.random.Generator, pages: int, at: float, seen: set[int]
) -> tuple[list[PollResult], int]:
    """Polls of some pages of all kinds, and how many of them found a change."""
    polls, changes = [], 0
    for page_id in rng.choice(pages, size=20, replace=False).tolist():
        outcome = _OUTCOMES[rng.choice(3, p=[0.7, 0.2, 0.1])]
        if outcome is not Outcome.CHANGED:
            if outcome is Outcome.UNCHANGED:
                seen.add(page_id)
            polls.append(PollResult(Observation(page_id, at, outcome), PageMemory()))
            continue
        changes += page_id in seen
        seen.add(page_id)
        number = int(rng.integers(10**6))
        match page_id % 5:
            case 0:
                items = (FoundItem(f"k{number}", f"Item {number}"),)
                polls.append(poll(page_id, at, b"<rss/>", "application/rss+xml", items=items))
            case 1:
                body = b'{"price": %d}' % number
                polls.append(poll(page_id, at, body, "application/json"))
            case 2:
                polls.append(poll(page_id, at, b"\x89PNG%d" % number, "image/png"))
            case kind:
                text = f"<title>{page_id}</title><p>Same<p>Number {number}".encode()
                polls.append(poll(page_id, at, text, reverted=kind == 3))
    return polls, changes


async def test_a_day_in_which_receivers_fail_and_the_run_restarts(tmp_path: Path) -> None:
    pages, turn_time, turns_an_hour = 2_000, 300.0, 12
    rng = np.random.default_rng(1)
    clock, world = SteppedClock(), Receivers(seed=2)
    world.is_down = lambda name: name == "broken" and clock.now < BEGIN + 8 * 3600.0
    receivers = [
        receiver("all"),
        receiver("shop", tags=["shop"], at_most="3600/hour"),
        receiver("hourly", digest="1h"),
        receiver("broken", tags=["news"], at_most="4/hour"),
    ]
    said: list[str] = []
    incoming = Incoming()
    expected: dict[str, set[str]] = {one.name: set() for one in receivers}
    seen: set[int] = set()
    found = 0
    ends = [hour * turns_an_hour for hour in (7, 15, 30)]  # the last hours bring no changes
    turn = 0
    with Store.open(tmp_path / "x.db", durable=False) as store:
        tags = [("shop",), ("news", "shop"), ("news",), ()]
        new = [NewPage(f"http://{n}.example/", tags=tags[n % 4]) for n in range(pages)]
        store.add_pages(new, now=BEGIN)
        for run, end in enumerate(ends):
            journal, world.after_arrival = Writer(), lambda: None
            telling = notifying(
                store,
                receivers,
                clock=clock,
                say=said.append,
                incoming=incoming,
                send=world.send,
                look_every=turn_time,
            )
            with suppress(StoreError):
                async with telling(journal):  # type: ignore[arg-type]
                    await clock.idle(len(receivers))
                    while turn < end:
                        turn += 1
                        if turn <= 24 * turns_an_hour:
                            polls, changes = a_turn(rng, pages, clock.now + turn_time, seen)
                            found += changes
                            await journal.write(store.commit, Batch(polls=tuple(polls)))
                        if turn == 12 * turns_an_hour:
                            store.remove_pages(range(0, pages, 100), clock.now)
                        if run == 0 and turn == end:
                            # It dies when a notice has arrived and before that is noted.
                            world.after_arrival = journal.die
                            while not journal.is_dead:
                                clock.jump(turn_time)
                                await asyncio.sleep(0.01)
                            break
                        await clock.advance(turn_time, len(receivers))
        for change in store.changes():
            identity = change_id(store.database_id(), change.seq)
            for one in receivers:
                if not one.tags or set(one.tags) & set(change.tags):
                    expected[one.name].add(identity)
        rests = {one.name: one for one in store.receivers()}
    assert incoming.take() == ()  # no error either
    assert world.failures > 50
    for one in receivers:
        notices = world.arrived[one.name]
        told_by: dict[str, set[str]] = defaultdict(set)
        content: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        for notice in notices:
            content[notice.id].add(tuple(change.id for change in notice.changes))
            for change in notice.changes:
                told_by[change.id].add(notice.id)
        assert set(told_by) == expected[one.name]  # each change, and no first copy
        assert all(len(ids) == 1 for ids in told_by.values())
        assert all(len(changes) == 1 for changes in content.values())
        assert len(notices) > len(content)  # some came twice
        assert rests[one.name].failures == 0
    assert len(expected["all"]) == found > 2_000
    assert any(line.startswith("notices to broken fail (it is down)") for line in said)
    assert "notices to broken arrive again" in said


@asynccontextmanager
async def told(
    store: Store,
    clock: SteppedClock,
    send: Any,
    *receivers: Receiver,
    incoming: Incoming | None = None,
):
    """The said lines of a run that tells these receivers."""
    said: list[str] = []
    telling = notifying(
        store,
        receivers,
        clock=clock,
        say=said.append,
        incoming=incoming or Incoming(),
        send=send,
        look_every=60.0,
    )
    async with telling(Writer()):  # type: ignore[arg-type]
        await clock.idle(len(receivers))
        yield said


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "x.db") as store:
        store.add_pages([NewPage("http://a.example/")], now=BEGIN)
        store.commit(Batch(polls=(poll(0, BEGIN, b"<p>1"),)))
        yield store


async def test_a_new_receiver_hears_of_changes_from_now_on(store: Store) -> None:
    clock = SteppedClock()
    store.commit(Batch(polls=(poll(0, BEGIN + 1, b"<p>2"),)))
    arrived: list[Notice] = []
    async with told(store, clock, lambda _, notice: arrived.append(notice), receiver("me")):
        store.commit(Batch(polls=(poll(0, BEGIN + 2, b"<p>3"),)))
        await clock.advance(60.0, 1)
    assert [[change.added for change in notice.changes] for notice in arrived] == [["3"]]


async def test_the_end_of_a_run_sends_what_was_found_last(store: Store) -> None:
    arrived: list[Notice] = []
    async with told(store, SteppedClock(), lambda _, one: arrived.append(one), receiver("me")):
        store.commit(Batch(polls=(poll(0, BEGIN - 1 + 2, b"<p>2"),)))
    assert len(arrived) == 1


async def test_the_end_of_a_run_tells_what_waits_and_for_whom(store: Store) -> None:
    clock, arrived = SteppedClock(), []
    limited, free = receiver("limited", at_most="1/hour"), receiver("free", at_most="1/second")
    async with told(store, clock, lambda one, _: arrived.append(one.name), limited, free) as said:
        store.commit(Batch(polls=(poll(0, BEGIN + 1, b"<p>2"),)))
        await clock.advance(60.0, 2)
        store.commit(Batch(polls=(poll(0, BEGIN + 61, b"<p>3"), poll(0, BEGIN + 62, b"<p>4"))))
        clock.jump(5.0)
    assert sorted(arrived) == ["free", "free", "limited"]
    [line] = said
    assert line.startswith("not yet told to limited: 2 changes, to be told from ")
    assert line.endswith(" on (one notice in 60 minutes at most)")


async def test_a_receiver_that_never_answers_does_not_hold_up_the_end(store: Store) -> None:
    never, clock = threading.Event(), SteppedClock()
    begun = time.monotonic()
    try:
        async with told(store, clock, lambda *_: never.wait(), receiver("me")) as said:
            store.commit(Batch(polls=(poll(0, BEGIN + 1, b"<p>2"),)))
            clock.jump(120.0)
    finally:
        assert time.monotonic() - begun < 20.0
        never.set()
    [state] = store.receivers()
    assert (state.told_seq, state.trying_seq) == (0, 1)  # the next run sends it again
    [line] = said
    assert line.startswith("not yet told to me: 1 change, to be told from ")


async def test_failures_are_said_once_and_tried_ever_more_rarely(store: Store) -> None:
    clock, tries = SteppedClock(), []

    def fail(_: Receiver, notice: Notice) -> None:
        tries.append(clock.now)
        raise NotSentError("no route")

    async with told(store, clock, fail, receiver("me")) as said:
        store.commit(Batch(polls=(poll(0, BEGIN + 1, b"<p>2"),)))
        for _ in range(6 * 60):
            await clock.advance(60.0, 1)
    gaps = np.diff(tries).tolist()
    assert gaps[:7] == [60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 3600.0]
    assert set(gaps[7:]) == {3600.0}
    line, at_the_end = said
    assert line.startswith("notices to me fail (no route): tried again after 60 s")
    assert at_the_end.startswith("not yet told to me: 1 change, to be told from ")
    assert at_the_end.endswith(" on (it failed: no route)")
    assert store.receivers()[0].error == "no route"


async def test_a_receiver_whose_address_is_corrected_does_not_rest(store: Store) -> None:
    clock, tries = SteppedClock(), []

    def send(one: Receiver, notice: Notice) -> None:
        tries.append((one.target, notice.id))
        if one.target == "https://wrong.example/":
            raise NotSentError("HTTP status 503", retry_after=3600.0)

    store.commit(Batch(polls=(poll(0, BEGIN + 1, b"<p>2"),)))
    store.save_receiver(StoredReceiver("me", 0))  # as of an earlier version
    wrong, right = (f"https://{name}.example/" for name in ("wrong", "right"))
    for target in (wrong, wrong, right, right):
        async with told(store, clock, send, receiver("me", to=target)):
            await clock.advance(300.0, 1)
    assert [target for target, _ in tries] == [wrong, right]
    assert len({identity for _, identity in tries}) == 1
    assert store.receivers()[0].failures == 0


async def test_a_webhook_whose_secret_is_corrected_does_not_rest(store: Store) -> None:
    clock, tries = SteppedClock(), []

    def send(one: Receiver, notice: Notice) -> None:
        tries.append(one.secret)
        if one.secret != "right":
            raise NotSentError("HTTP status 401", retry_after=3600.0)

    store.commit(Batch(polls=(poll(0, BEGIN + 1, b"<p>2"),)))
    store.save_receiver(StoredReceiver("me", 0))
    for secret in ("wrong", "wrong", "right", "right"):
        one = receiver("me", to="https://a.example/", secret=secret)
        async with told(store, clock, send, one):
            await clock.advance(30.0, 1)
    assert tries == ["wrong", "right"]
    assert store.receivers()[0].failures == 0
    kept = store.state("address of me")
    assert kept is not None
    assert len(kept) == 2


async def test_what_nobody_expects_ends_the_run(store: Store) -> None:
    clock = SteppedClock()
    incoming = Incoming()

    def send(*_: object) -> None:
        raise IndexError("unexpected")

    async def run() -> None:
        async with told(store, clock, send, receiver("me"), incoming=incoming):
            store.commit(Batch(polls=(poll(0, BEGIN + 1, b"<p>2"),)))
            clock.jump(60.0)
            await asyncio.wait_for(incoming.arrived(), 60.0)
            with pytest.raises(IndexError, match="unexpected"):
                incoming.take()

    with pytest.raises(IndexError, match="unexpected"):
        await run()


async def test_a_tag_that_goes_while_a_notice_is_due_ends_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, arrived = SteppedClock(), []
    store.add_pages([NewPage("http://a.example/", tags=("shop",))], now=BEGIN)
    due_at = Delivery.due_at

    def due_then_untagged(delivery: Delivery, reader: Store, now: float) -> float:
        due = due_at(delivery, reader, now)
        if due <= now:
            store.add_pages([NewPage("http://a.example/", tags=("other",))], now=BEGIN)
        return due

    monkeypatch.setattr(Delivery, "due_at", due_then_untagged)
    shop, everyone = receiver("shop", tags=["shop"]), receiver("all")
    send = lambda who, _: arrived.append(who.name)  # noqa: E731
    async with told(store, clock, send, shop, everyone):
        store.commit(Batch(polls=(poll(0, BEGIN + 1, b"<p>2"),)))
        await clock.advance(60.0, 2)
    assert arrived == ["all"]


async def test_a_receiver_that_cannot_be_stored_leaves_no_task_behind(store: Store) -> None:
    class FullDisk(Writer):
        async def write(self, call: Callable[..., None], *arguments: object) -> None:
            await super().write(call, *arguments)
            await asyncio.sleep(0.01)  # a task that was begun would run
            self.die()

    before = asyncio.all_tasks()
    two = [receiver("one"), receiver("two")]
    telling = notifying(store, two, clock=SteppedClock(), say=print, incoming=Incoming())
    with pytest.raises(StoreError, match="has died"):
        async with telling(FullDisk()):  # type: ignore[arg-type]
            raise AssertionError("it began")
    assert asyncio.all_tasks() == before
