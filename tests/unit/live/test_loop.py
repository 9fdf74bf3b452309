"""The loop of the live web with a clock that is made up, and polls that end when a test says."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from pollwise.errors import StoreError
from pollwise.events import (
    Added,
    HostBlocked,
    HostFreed,
    HostPaced,
    Polled,
    SavedUp,
    Tick,
    Together,
)
from pollwise.live.incoming import Incoming
from pollwise.live.loop import run
from pollwise.live.progress import Progress
from pollwise.policies.deadline.uniform import Uniform
from pollwise.scheduler.scheduler import Scheduler
from pollwise.store.records import Discoveries, Discovery, PollResult
from pollwise.testing.fake_clock import FakeClock
from pollwise.types import Budget, Observation, Outcome, Page, PageMemory, Version
from pollwise.watched_pages import Watched
from pollwise.web.poll_reports import PollReport

ONE_A_SECOND = Budget(1.0)
Answer = Callable[[Page, PageMemory], PollReport | Exception | None]


class Web:
    """A poller. `answers` are those of pages by id: a report, an error, or None for never."""

    def __init__(self, clock: FakeClock, **answers: Answer) -> None:
        self.clock = clock
        self.answers = {int(name[1:]): answer for name, answer in answers.items()}
        self.asked: list[tuple[float, int, PageMemory]] = []
        self.dropped: list[int] = []

    async def poll(self, page: Page, memory: PageMemory) -> PollReport:
        self.asked.append((self.clock(), page.id, memory))
        answer = self.answers.get(page.id, self.changed)(page, memory)
        if answer is None:
            try:
                await asyncio.Future()
            except asyncio.CancelledError:
                self.dropped.append(page.id)
                raise
        if isinstance(answer, Exception):
            raise answer
        return answer

    def changed(self, page: Page, memory: PageMemory) -> PollReport:
        """As `WebPoller` reports it; the etag counts the copies."""
        now = self.clock()
        number = str(int(memory.etag or 0) + 1)
        version = Version(page.id, now, "", number.encode(), number)
        observation = Observation(page.id, now, Outcome.CHANGED)
        return PollReport(PollResult(observation, PageMemory(etag=number), version))


class Setting:
    """Two pages without a host, a poll a second, and what is recorded."""

    def __init__(self, **answers: Answer) -> None:
        self.clock = FakeClock(now=100.0)
        self.web = Web(self.clock, **answers)
        self.pages = (Page(0), Page(1))
        self.watched = {page.id: Watched(page, PageMemory()) for page in self.pages}
        self.stop = asyncio.Event()
        self.staff: Callable[[], int] | None = None
        self.incoming = Incoming()
        self.recorded: list[Progress] = []

    async def record(self, progress: Progress) -> None:
        self.recorded.append(progress)

    async def serve(
        self,
        seconds: float,
        budget: Budget = ONE_A_SECOND,
        crawl_delay: float = 1.0,
        first_copies: Budget | None = None,
    ) -> None:
        """Serve for so long."""
        self.clock.stop_at(self.clock() + seconds, self.stop)
        scheduler = Scheduler(Uniform(), budget, crawl_delay=crawl_delay, first_copies=first_copies)
        scheduler.restore(self.pages, None)
        serving = run(
            scheduler,
            self.web,
            watched=self.watched,
            clock=self.clock,
            record=self.record,
            stop=self.stop,
            staff=self.staff,
            incoming=self.incoming,
        )
        await asyncio.wait_for(serving, timeout=30)


def failed(page: Page, memory: PageMemory) -> PollReport:
    """With notices of the host, as of a moment ago."""
    notices = (HostBlocked(0.0, "h", 200.0), HostPaced(0.0, "h", 2.0))
    observation = Observation(page.id, 100.0, Outcome.FAILED)
    return PollReport(PollResult(observation, memory, error="status 429"), notices=notices)


async def test_what_is_recorded_and_in_which_order():
    setting = Setting(_1=failed)
    await setting.serve(seconds=1.5)
    begin, first, second, third, end = setting.recorded
    assert begin == Progress((Tick(100.0),), ())
    [report] = first.reports
    assert first.events == (Polled(100.0, (report.result.observation,)),)
    assert first.first_copies == {0}
    assert second == Progress((Tick(101.0),), ())
    [report] = third.reports
    assert third.events == (
        HostBlocked(101.0, "h", 200.0),
        HostPaced(101.0, "h", 2.0),
        Polled(101.0, (report.result.observation,)),
    )
    assert third.first_copies == frozenset()
    assert end == Progress((), ())


async def test_many_polls_a_second_share_turns_and_none_is_lost():
    setting = Setting()
    setting.pages = tuple(map(Page, range(400)))
    setting.watched = {page.id: Watched(page, PageMemory()) for page in setting.pages}
    await setting.serve(seconds=5.0, budget=Budget(400.0, burst=400.0))
    assert len(setting.recorded) <= 5 * 20 + 10 + 2
    assert len(setting.web.asked) == pytest.approx(5 * 400, abs=40)
    assert sum(len(turn.reports) for turn in setting.recorded) == len(setting.web.asked)


@pytest.mark.parametrize("scope", ["", "a.example"])
async def test_polls_that_wait_for_each_other_do_not_wait_for_turns(scope: str):
    """A poll at a time, as there is one host, or a staff of one."""
    setting = Setting()
    setting.pages = tuple(Page(n, scope=scope) for n in range(40))
    setting.watched = {page.id: Watched(page, PageMemory()) for page in setting.pages}
    setting.staff = None if scope else lambda: 1
    await setting.serve(seconds=5.0, budget=Budget(1_000.0, burst=1_000.0), crawl_delay=0.0)
    assert len(setting.web.asked) > 400


@pytest.mark.parametrize("first_copies", [None, Budget(1.0)])
async def test_the_pause_of_a_host_alone_takes_no_longer_for_the_turns(first_copies):
    """Each poll takes two turns: one begins it, and one takes in what it found."""
    setting = Setting()
    setting.pages = tuple(Page(n, scope="a.example") for n in range(40))
    setting.watched = {page.id: Watched(page, PageMemory()) for page in setting.pages}
    budget = Budget(40.0, burst=40.0)
    await setting.serve(5.0, budget, crawl_delay=0.02, first_copies=first_copies)
    assert len(setting.web.asked) == pytest.approx(5 * 40, abs=10)


async def test_a_host_alone_has_no_pause_more_while_polls_look_for_noise():
    """These do so without end, as many at a time as leave others a turn."""
    setting = Setting()
    poll = setting.web.poll

    async def looking_for_noise(page: Page, memory: PageMemory) -> PollReport:
        report = await poll(page, memory)
        if page.id % 5 == 0:
            setting.incoming.put([HostFreed(setting.clock(), page.id, 1.1)])
            await asyncio.Future()
        return report

    setting.web.poll = looking_for_noise
    setting.pages = tuple(Page(n, scope="a.example") for n in range(100))
    setting.watched = {page.id: Watched(page, PageMemory()) for page in setting.pages}
    await setting.serve(seconds=5.0, budget=Budget(40.0, burst=40.0), crawl_delay=0.02)
    assert len(setting.web.asked) == pytest.approx(5 * 40, abs=10)
    assert len({page for _, page, _ in setting.web.asked}) == 100


async def test_turns_that_could_not_wait_are_not_made_up_for():
    setting = Setting()
    setting.pages = tuple(Page(n, scope="a.example") for n in range(200))
    setting.watched = {page.id: Watched(page, PageMemory()) for page in setting.pages}
    setting.incoming.put([SavedUp(100.0, 5.0)])
    await setting.serve(seconds=15.0, budget=Budget(30.0), crawl_delay=0.0)
    asked = [at for at, _, _ in setting.web.asked]
    assert asked[100] == 100.0
    assert max(np.diff(asked)) < 0.15


async def test_few_polls_a_second_are_not_held_up():
    setting = Setting()
    await setting.serve(seconds=5.0, budget=Budget(8.0))
    asked = [at for at, _, _ in setting.web.asked]
    told = {event.now for turn in setting.recorded for event in turn.events}
    assert np.diff(asked) == pytest.approx(np.full(len(asked) - 1, 1 / 8))
    assert set(asked[:-1]) <= told


async def test_a_poll_that_has_its_answer_counts_though_it_goes_on_at_the_end():
    setting = Setting(_0=lambda page, memory: None)
    poll = setting.web.poll

    async def looking_for_noise(page: Page, memory: PageMemory) -> PollReport:
        try:
            return await poll(page, memory)
        except asyncio.CancelledError:
            return setting.web.changed(page, memory)

    setting.web.poll = looking_for_noise
    await setting.serve(seconds=0.5)
    [report] = setting.recorded[-1].reports
    assert report.result.observation.outcome is Outcome.CHANGED
    assert setting.recorded[-1].first_copies == {0}
    assert setting.watched[0].memory.etag == "1"


async def test_more_staff_is_used_though_no_poll_ends():
    setting = Setting(_0=lambda *_: None, _1=lambda *_: None)
    setting.staff = lambda: 1 if setting.clock() < 110.0 else 2
    await setting.serve(seconds=100)
    assert [page_id for _, page_id, _ in setting.web.asked] == [0, 1]
    assert setting.web.asked[1][0] == pytest.approx(110.0, abs=1.0)
    # The time in between has left nothing to record.
    assert len(setting.recorded) < 10


async def test_pages_are_polled_with_what_is_remembered_of_them():
    setting = Setting()
    await setting.serve(seconds=3.5)
    none, one = PageMemory(), PageMemory(etag="1")
    assert setting.web.asked == [
        (100.0, 0, none),
        (101.0, 1, none),
        (102.0, 0, one),
        (103.0, 1, one),
    ]
    assert setting.watched[0] == Watched(
        Page(0, seen_at=102.0), PageMemory(etag="2"), outcome=Outcome.CHANGED
    )
    assert [sorted(p.first_copies) for p in setting.recorded if p.reports] == [[0], [1], [], []]


@pytest.mark.parametrize(("count", "events_before"), [(500, 0), (501, 5)])
async def test_many_pages_that_a_poll_discovers_are_told_a_few_at_a_time(count, events_before):
    """Else the scheduler would hold the loop until it has taken in all of them."""
    found = tuple(Discovery(Page(n), 100.0) for n in range(2, 2 + count))

    def discovering(page: Page, memory: PageMemory) -> PollReport:
        report = setting.web.changed(page, memory)
        return replace(report, discovered=Discoveries(tuple(reversed(found))))

    setting = Setting(_0=discovering)
    await setting.serve(seconds=0.5)
    events = [event for turn in setting.recorded for event in turn.events]
    *ahead, last = [one for one in events if isinstance(one, Added | Together)]
    assert isinstance(last, Together)
    polled, rest = last.events
    assert isinstance(polled, Polled)
    pages = [page for one in (*ahead, rest) for page in one.pages]
    assert pages == [one.page for one in found]
    assert [len(one.pages) for one in ahead] == [100] * events_before
    assert {*setting.watched} == {*range(2 + count)}


async def test_items_of_a_list_that_the_store_has_are_told_to_be_the_same():
    known = PageMemory(items=("1f", "2e"))

    def answered(page: Page, memory: PageMemory) -> PollReport:
        seen = Observation(page.id, setting.clock(), Outcome.UNCHANGED)
        others = {102.0: PageMemory(items=("1f", "3d")), 106.0: PageMemory()}
        return PollReport(PollResult(seen, others.get(setting.clock(), memory)))

    setting = Setting(_0=answered)
    setting.watched[0] = Watched(Page(0), known)
    await setting.serve(seconds=9.5)
    polls = [report.result for turn in setting.recorded for report in turn.reports]
    told = [(poll.observation.polled_at, poll.same_items) for poll in polls]
    assert [one for one in told if one[0] % 2 == 0] == [
        (100.0, True),
        (102.0, False),
        (104.0, True),
        (106.0, False),
        (108.0, False),  # there are none
    ]


async def test_a_page_that_is_gone_keeps_the_time_of_its_copy():
    def gone(page: Page, memory: PageMemory) -> PollReport:
        return PollReport(PollResult(Observation(page.id, 100.0, Outcome.GONE), memory))

    setting = Setting(_0=gone)
    setting.watched[0] = Watched(Page(0, seen_at=50.0), PageMemory(etag="5"))
    await setting.serve(seconds=0.5)
    assert setting.watched[0] == Watched(
        Page(0, seen_at=50.0), PageMemory(etag="5"), gone=True, outcome=Outcome.GONE
    )


async def test_that_a_page_with_a_copy_is_gone_or_back_happens_once():
    told = [Outcome.GONE, Outcome.FAILED, Outcome.GONE, Outcome.UNCHANGED, Outcome.UNCHANGED]
    told += [Outcome.GONE, Outcome.CHANGED, Outcome.CHANGED]
    left = {0: list(told), 1: list(told)}

    def answer(page: Page, memory: PageMemory) -> PollReport:
        observation = Observation(page.id, setting.clock(), (left[page.id] or told[-1:]).pop(0))
        return PollReport(PollResult(observation, memory))

    setting = Setting(_0=answer, _1=answer)
    setting.watched[0] = Watched(Page(0, seen_at=50.0), PageMemory())
    await setting.serve(seconds=10_000.0)
    found: dict[int, list[str]] = {0: [], 1: []}
    for progress in setting.recorded:
        for report in progress.reports:
            kind = progress.happened(report.result.observation)
            found[report.result.observation.page_id].append("" if kind is None else kind.name)
    assert found[0][:8] == ["GONE", "", "", "BACK", "", "GONE", "BACK_CHANGED", "CHANGED"]
    # The first copy of the other one comes when it is there at last.
    assert found[1][:8] == ["", "", "", "", "", "GONE", "BACK_CHANGED", "CHANGED"]


async def test_a_page_removed_while_it_is_polled_stays_away():
    setting = Setting()

    def removed(page: Page, memory: PageMemory) -> PollReport:
        del setting.watched[page.id]
        return setting.web.changed(page, memory)

    setting.web.answers[0] = removed
    await setting.serve(seconds=0.5)
    assert set(setting.watched) == {1}
    assert setting.recorded[1].first_copies == frozenset()


async def test_polls_under_way_at_the_end_are_dropped():
    setting = Setting(_0=lambda *_: None)
    await setting.serve(seconds=1.5)
    assert setting.web.dropped == [0]
    assert [r.result.observation.page_id for p in setting.recorded for r in p.reports] == [1]


async def test_nothing_is_polled_once_it_is_stopped():
    setting = Setting()
    setting.stop.set()
    await setting.serve(seconds=10)
    assert setting.web.asked == []
    assert setting.recorded == [Progress((), ())]


async def test_what_arrives_as_it_is_stopped_is_recorded():
    setting = Setting()

    def last(page: Page, memory: PageMemory) -> PollReport:
        setting.stop.set()
        return setting.web.changed(page, memory)

    setting.web.answers[0] = last
    await setting.serve(seconds=10)
    begin, end = setting.recorded
    assert begin.reports == ()
    assert [report.result.observation.page_id for report in end.reports] == [0]
    assert end.events == (Polled(100.0, (end.reports[0].result.observation,)),)


async def test_a_record_that_fails_ends_it_and_drops_the_polls():
    setting = Setting(_0=lambda *_: None)

    async def fail(progress: Progress) -> None:
        if progress.reports:
            raise StoreError("the disk is full")

    setting.record = fail
    with pytest.raises(StoreError, match="the disk is full"):
        await setting.serve(seconds=10)
    assert setting.web.dropped == [0]


async def test_a_poll_that_raises_ends_it_with_that_error():
    setting = Setting(_0=lambda *_: None, _1=lambda *_: ZeroDivisionError("mine"))
    with pytest.raises(ZeroDivisionError, match="mine"):
        await setting.serve(seconds=10)
    assert setting.web.dropped == [0]


async def test_what_other_polls_observed_is_recorded_before_one_that_raises_ends_it():
    setting = Setting()
    setting.pages = tuple(map(Page, range(5)))
    setting.watched = {page.id: Watched(page, PageMemory()) for page in setting.pages}
    all_asked = asyncio.Event()
    poll = setting.web.poll

    async def together(page: Page, memory: PageMemory) -> PollReport:
        report = await poll(page, memory)
        if len(setting.web.asked) == 5:
            all_asked.set()
        await all_asked.wait()
        if page.id == 1:
            raise ZeroDivisionError("mine")
        return report

    setting.web.poll = together
    with pytest.raises(ZeroDivisionError, match="mine"):
        await setting.serve(seconds=20.0)
    recorded = [r.result.observation.page_id for turn in setting.recorded for r in turn.reports]
    assert sorted(recorded) == [0, 2, 3, 4]
    assert len(setting.web.asked) == 5


async def test_what_was_observed_is_recorded_though_a_poll_cannot_be_cut_short():
    setting = Setting(_0=lambda *_: None, _1=lambda *_: None)
    poll = setting.web.poll

    async def cut_short(page: Page, memory: PageMemory) -> PollReport:
        try:
            return await poll(page, memory)
        except asyncio.CancelledError:
            if page.id == 0:
                raise ZeroDivisionError("mine") from None
            return setting.web.changed(page, memory)

    setting.web.poll = cut_short
    with pytest.raises(ZeroDivisionError, match="mine"):
        await setting.serve(seconds=1.5)
    assert [r.result.observation.page_id for r in setting.recorded[-1].reports] == [1]


async def test_being_cancelled_drops_the_polls():
    setting = Setting(_0=lambda *_: None)

    async def hang(progress: Progress) -> None:
        await asyncio.Future()

    setting.record = hang
    serving = asyncio.ensure_future(setting.serve(seconds=10))
    while not setting.web.asked:
        await asyncio.sleep(0)
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    assert setting.web.dropped == [0]
