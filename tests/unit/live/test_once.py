"""How much one call of `watch --once` spends, and when it is over."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from pollwise.events import Event, HostBlocked, Updated
from pollwise.live.incoming import Incoming
from pollwise.live.loop import run
from pollwise.live.once import Once
from pollwise.live.progress import Progress
from pollwise.policies.deadline.uniform import Uniform
from pollwise.scheduler.scheduler import Scheduler
from pollwise.store.records import PollResult
from pollwise.testing.fake_clock import FakeClock
from pollwise.types import Budget, Observation, Outcome, Page, PageMemory
from pollwise.watched_pages import Watched
from pollwise.web.poll_reports import PollReport

RATE = 1 / 60
"""A poll a minute."""


class Web:
    """Answers at once that nothing changed."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.asked: list[int] = []

    async def poll(self, page: Page, memory: PageMemory) -> PollReport:
        self.asked.append(page.id)
        observation = Observation(page.id, self.clock(), Outcome.UNCHANGED)
        return PollReport(PollResult(observation, memory))


def pages(count: int, *, seen: bool = True, host: str = "") -> list[Page]:
    at = 1.0 if seen else None
    return [
        Page(n, f"http://{n}.example/", host or f"{n}.example", seen_at=at) for n in range(count)
    ]


def call(
    at: float,
    watched: list[Page],
    state: str | None,
    *,
    first_copies: Budget | None = None,
    rate: float = RATE,
    told: Event | None = None,
    say: Callable[[str], None] = print,
    staffed: Callable[[], int] | None = None,
) -> tuple[list[int], float, str]:
    """The pages that a call polls at this time, the seconds that it takes, and what it leaves."""

    async def called() -> tuple[list[int], float, str]:
        clock, incoming = FakeClock(now=at), Incoming()
        scheduler = Scheduler(Uniform(), Budget(rate), crawl_delay=2.0, first_copies=first_copies)
        scheduler.restore(watched, state)
        once, web = Once(scheduler, watched, clock, say, staffed), Web(clock)
        incoming.put([once.event] if told is None else [told, once.event])

        async def record(progress: Progress) -> None:
            pass

        await run(
            scheduler,
            web,
            watched={page.id: Watched(page, PageMemory()) for page in watched},
            clock=clock,
            record=once.recording(record),
            stop=asyncio.Event(),
            staff=once.staff,
            incoming=incoming,
            is_over=once.is_over,
        )
        return web.asked, clock() - at, scheduler.state()

    return asyncio.run(asyncio.wait_for(called(), 30.0))


def test_the_budget_of_the_time_since_is_spent_at_once():
    polled, _, state = call(1000.0, pages(20), None)
    assert len(polled) == 1, "nothing was saved up before the first time"
    polled, seconds, state = call(1300.0, pages(20), state)
    assert len(polled) == len(set(polled)) == 5
    assert seconds < 1.0
    polled, _, _ = call(1301.0, pages(20), state)
    assert polled == [], "it was spent"


def test_calls_every_five_minutes_keep_to_the_budget():
    state, polls = None, 0
    for number in range(12):
        polled, _, state = call(1000.0 + 300.0 * number, pages(20), state)
        polls += len(polled)
    assert polls == 11 * 5 + 1


def test_calls_that_come_too_often_poll_now_and_then():
    state, polls = None, 0
    for number in range(10):
        polled, _, state = call(1000.0 + 30.0 * number, pages(20), state)
        polls += len(polled)
    assert polls == 5


def test_after_a_long_time_each_page_is_polled_once_at_most():
    _, _, state = call(1000.0, pages(4), None)
    polled, _, _ = call(1000.0 + 1e6, pages(4), state)
    assert sorted(polled) == [0, 1, 2, 3]
    polled, _, _ = call(1000.0 + 1e6, pages(4, host="one.example"), state, rate=10.0)
    assert len(polled) == 4


@pytest.mark.parametrize("rate", [1.0, 1e-6])
def test_first_copies_that_wait_are_all_fetched(rate):
    polled, _, _ = call(1000.0, pages(5, seen=False), None, first_copies=Budget(rate))
    assert sorted(set(polled)) == [0, 1, 2, 3, 4]
    assert len(polled) <= 6


def test_hosts_that_are_busy_are_waited_for_but_not_for_long():
    _, _, state = call(1000.0, pages(3, host="one.example"), None)
    polled, seconds, state = call(1300.0, pages(3, host="one.example"), state)
    assert len(polled) == 3
    assert 4.0 <= seconds < 10.0
    said: list[str] = []
    back_soon = HostBlocked(1600.0, "one.example", 1640.0)
    polled, seconds, _ = call(
        1600.0, pages(3, host="one.example"), state, told=back_soon, say=said.append
    )
    assert len(polled) == 3
    assert 40.0 <= seconds < 50.0
    assert said == ["waiting 40 s, until a host is free or a page may be polled again"]
    wants_peace = HostBlocked(1600.0, "one.example", 9999.0)
    polled, seconds, _ = call(1600.0, pages(3, host="one.example"), state, told=wants_peace)
    assert len(polled) <= 1
    assert seconds < 10.0


def test_nothing_is_polled_or_waited_for_while_no_poll_may_begin():
    """As in quiet hours."""
    polled, seconds, _ = call(1000.0, pages(3), None, staffed=lambda: 0)
    assert (polled, seconds) == ([], 0.0)


def test_polls_begin_once_what_waited_was_taken_in():
    paused = [replace(page, paused=page.id < 2) for page in pages(3)]
    polled, _, _ = call(1000.0, pages(3), None, told=Updated(1000.0, tuple(paused)))
    assert polled == [2]
