"""The figures of a run: what they count, and their JSON."""

import asyncio
import json
from dataclasses import replace

import pytest

from pollwise.errors import InputError
from pollwise.events import Added, HostBlocked, Tick
from pollwise.live.progress import Progress
from pollwise.live.run_figures import RunFigures, RunMeter, decode, encode
from pollwise.policies.awaited import AwaitedPolicy
from pollwise.policies.deadline.uniform import Uniform
from pollwise.scheduler.scheduler import Scheduler
from pollwise.store.records import PollResult
from pollwise.testing.fake_clock import FakeClock
from pollwise.types import Budget, Observation, Outcome, Page, PageMemory
from pollwise.web.poll_reports import PollReport
from pollwise.web.traffic import Traffic


class Priced(Uniform):
    """A policy with a price."""

    price = 2.5


def meter(scheduler: Scheduler, traffic: Traffic | None = None) -> RunMeter:
    return RunMeter(
        scheduler,
        FakeClock(now=100.0),
        [None] * 3,
        traffic or Traffic(),
        commit_seconds=lambda: 0.25,
        is_quiet=lambda: True,
    )


def report(outcome: Outcome, page_id: int, cost: float = 1.0) -> PollReport:
    return PollReport(PollResult(Observation(page_id, 1.0, outcome, cost=cost), PageMemory()))


def test_polls_are_counted_by_their_outcome():
    measured = meter(Scheduler(Uniform(), Budget(2.0)))
    first = report(Outcome.CHANGED, 0, cost=3.0)
    measured.note(Progress((), (first,), frozenset({0})))
    assert measured.in_words() == "3 pages, 7,200 an hour; since the start 1 poll, 0 changes"
    measured.note(Progress((), (report(Outcome.FAILED, 1),)))
    measured.note(Progress((), (report(Outcome.CHANGED, 0), report(Outcome.POSTPONED, 2))))
    figures = measured.figures()
    polls = {"unchanged": 0, "changed": 2, "gone": 0, "failed": 1, "postponed": 1}
    assert figures.polls == polls
    assert (figures.changes, figures.spent, figures.pages, figures.rate) == (1, 6.0, 3, 2.0)
    assert (figures.commit_seconds, figures.quiet, figures.compiling) == (0.25, True, False)


def test_the_scheduler_tells_of_hosts_and_first_copies():
    scheduler = Scheduler(Uniform(), Budget(1.0), first_copies=Budget(1.0), crawl_delay=10.0)
    scheduler.restore([], None)
    pages = tuple(Page(n, f"http://a.example/{n}", "a.example") for n in range(3))
    measured = meter(scheduler)
    assert measured.figures().next_poll_at is None
    scheduler.handle(Added(100.0, pages))
    scheduler.handle(HostBlocked(101.0, "b.example", 200.0))
    figures = measured.figures()
    assert (figures.under_way, figures.first_copies, figures.hosts) == (1, 3, 2)
    assert figures.price is None


def test_hosts_with_a_line_and_the_price_are_told():
    scheduler = Scheduler(Priced(), Budget(1.0, burst=2.0), crawl_delay=10.0)
    scheduler.restore([Page(i, f"http://a.example/{i}", "a.example") for i in range(2)], None)
    scheduler.handle(Tick(100.0))
    scheduler.handle(Tick(101.0))
    figures = meter(scheduler).figures()
    assert (figures.under_way, figures.hosts, figures.hosts_in_line) == (1, 1, 1)
    assert figures.price == 2.5
    assert figures.next_poll_at is not None


def test_a_policy_that_is_compiled_is_told():
    assert meter(Scheduler(AwaitedPolicy(), Budget(1.0))).figures().compiling


async def test_a_loop_that_is_held_up_is_late(monkeypatch):
    monkeypatch.setattr("pollwise.live.run_figures._NAP", 0.01)
    measured = meter(Scheduler(Uniform(), Budget(1.0)))
    seconds = iter([0.0, 0.51, *range(1, 1000)])
    monkeypatch.setattr("pollwise.live.run_figures.monotonic", lambda: next(seconds))
    async with measured.minding():
        while not measured.figures().loop_lag:
            await asyncio.sleep(0)
    assert measured.figures().loop_lag >= 0.5


@pytest.fixture
def figures() -> RunFigures:
    traffic = Traffic(requests=3, bytes_received=60)
    traffic.note_wait(2.0)
    traffic.note_wait(1.5)
    for status in (200, 304, None, 999):
        traffic.note_answer(status, 10)
    return meter(Scheduler(Uniform(), Budget(1.0)), traffic).figures()


def test_figures_come_back_from_their_text(figures):
    assert (figures.requests, figures.wait_seconds, figures.longest_wait) == (3, 3.5, 2.0)
    assert figures.answers == {"2xx": 1, "3xx": 1, "4xx": 0, "5xx": 0, "none": 2}
    assert figures.bytes_received == 100
    for each in (figures, replace(figures, price=1.5, next_poll_at=7.0)):
        text = encode(each)
        assert "\n" not in text
        assert decode(text) == each


@pytest.mark.parametrize(
    "change",
    [
        {"pages": "3"},
        {"pages": 1.5},
        {"quiet": 1},
        {"polls": {}},
        {"answers": {}},
        {"price": "1"},
        {"more": 1},
    ],
)
def test_other_texts_are_refused(figures, change):
    with pytest.raises(InputError, match="no figures of a run"):
        decode(json.dumps({**json.loads(encode(figures)), **change}))
    for text in ("", "[]", "{}", "1"):
        with pytest.raises(InputError, match="no figures of a run"):
            decode(text)
