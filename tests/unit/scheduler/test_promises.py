"""All that the scheduler promises, whatever comes in whatever order."""

import itertools
import math
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.events import (
    Added,
    Budgeted,
    HostBlocked,
    HostFreed,
    HostPaced,
    Polled,
    Removed,
    Signalled,
    Tick,
    Updated,
)
from pollwise.scheduler.scheduler import Scheduler
from pollwise.types import Observation, Outcome, Page

from .round_robin import (
    CHANGED,
    FAILED,
    UNCHANGED,
    World,
    assert_within_budget,
    scheduler,
    started,
    steady,
    wake_at,
)

outcomes = st.sampled_from(Outcome)
small_times = st.floats(0, 500)
page_ids = st.integers(-1, 6)
scopes = st.sampled_from(["", "a", "b"])
garbage = st.lists(
    st.one_of(
        st.builds(Tick, small_times),
        st.builds(
            Polled,
            small_times,
            st.lists(
                st.builds(Observation, page_ids, small_times, outcomes, cost=st.floats(0, 3)),
                max_size=3,
            ).map(tuple),
        ),
        st.builds(
            Added,
            small_times,
            st.lists(
                st.builds(Page, st.integers(0, 6), scope=scopes, cost=st.floats(0.1, 3)),
                max_size=5,
            ).map(tuple),
        ),
        st.builds(
            Updated,
            small_times,
            st.lists(
                st.builds(
                    Page,
                    page_ids,
                    scope=scopes,
                    cost=st.floats(0.1, 3),
                    paused=st.booleans(),
                ),
                max_size=5,
            ).map(tuple),
        ),
        st.builds(Signalled, small_times, st.lists(page_ids, max_size=3).map(tuple), small_times),
        st.builds(Budgeted, small_times, st.sampled_from([0.1, 3.0]), st.just(1.0)),
        st.builds(Removed, small_times, st.lists(page_ids, max_size=3).map(tuple)),
        st.builds(HostBlocked, small_times, scopes, st.floats()),
        st.builds(HostFreed, small_times, page_ids, st.sampled_from([0.0, 1.1, 30.0])),
        st.builds(HostPaced, small_times, scopes, st.floats()),
    ),
    max_size=60,
)


@settings(steady, max_examples=200)
@given(events=garbage, rate=st.sampled_from([0.05, 1.0, 50.0]), burst=st.sampled_from([1.0, 4.0]))
def test_no_order_of_events_does_harm(events, rate, burst):
    def fresh() -> Scheduler:
        return scheduler(rate, burst, lease=20.0, retry_after=10.0, retry_ceiling=100.0)

    some, again = fresh(), fresh()
    watched: set[int] = set()
    since: dict[int, float] = {}
    now = -math.inf
    for event in events:
        now = max(now, event.now)
        match event:
            case Added():
                watched |= {page.id for page in event.pages}
            case Removed():
                watched -= set(event.page_ids)
            case Polled():
                for observation in event.observations:
                    since.pop(observation.page_id, None)
        commands = some.handle(event)
        assert commands == again.handle(event), "the same events, other commands"
        assert wake_at(commands) > now
        for page_id in started(commands):
            assert page_id in watched
            assert now >= since.get(page_id, -math.inf) + 20.0, "polled twice at a time"
            since[page_id] = now
        restored = fresh()
        restored.budget = some.budget
        restored.load_state(some.state())
        assert restored.state() == some.state()


@steady
@given(
    seed=st.integers(0, 2**32),
    rate=st.sampled_from([0.5, 2.0, 20.0]),
    burst=st.sampled_from([1.0, 3.0]),
    crawl_delay=st.sampled_from([0.0, 1.0, 7.0]),
    lost=st.sampled_from([0.0, 0.2]),
)
def test_in_a_world_of_delays_and_losses_all_promises_hold(seed, rate, burst, crawl_delay, lost):
    dice = random.Random(seed)
    lease = 15.0
    ends: list[tuple[float, float, int]] = []

    def answer(page_id: int, now: float) -> tuple[float, Outcome] | None:
        if dice.random() < lost:
            ends.append((now, now + lease, page_id))
            return None
        seconds = dice.choice([0.0, dice.random(), 14.0 * dice.random()])
        ends.append((now, now + seconds, page_id))
        return seconds, dice.choice([UNCHANGED, CHANGED, CHANGED, FAILED])

    def fresh() -> Scheduler:
        return scheduler(rate, burst, lease=lease, crawl_delay=crawl_delay, retry_after=3.0)

    world = World(fresh(), answer)
    world.send(HostPaced(0.0, "h1", 4.0))
    world.send(Added(0.0, tuple(Page(n, scope=f"h{n % 4}" if n % 4 else "") for n in range(14))))
    world.run(until=120.0)

    assert_within_budget([time for time, _ in world.polls], rate, burst)
    for page_id in range(14):
        spans = [(begin, end) for begin, end, polled_id in ends if polled_id == page_id]
        for (_, end), (begin, _) in itertools.pairwise(spans):
            assert begin >= end, f"page {page_id} is polled twice at a time"
    for host in (1, 2, 3):
        delay = max(crawl_delay, 4.0 if host == 1 else 0.0)
        spans = [(begin, end) for begin, end, page_id in ends if page_id % 4 == host]
        for (_, end), (begin, _) in itertools.pairwise(spans):
            assert begin >= end + delay, f"host {host} is not left alone for {delay} seconds"

    again = fresh()
    assert [again.handle(event) for event in world.events] == world.commands
