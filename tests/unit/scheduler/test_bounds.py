"""Polls of a page are never closer than its bounds say, nor further apart if that can be."""

import itertools
import math
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace

import pytest

from pollwise.errors import InputError
from pollwise.events import Added, Removed, Tick, Updated
from pollwise.policies.awaited import AwaitedPolicy
from pollwise.scheduler import bounds, time_queue
from pollwise.scheduler.bounds import BoundedPages, Bounds, longest_by_default
from pollwise.scheduler.scheduler import Scheduler
from pollwise.types import Budget, Outcome, Page, Selection

from .round_robin import (
    CHANGED,
    FAILED,
    UNCHANGED,
    RoundRobin,
    World,
    at_once,
    never,
    pages,
    started,
    times_of,
    wake_at,
)

DAY = 86_400.0
AUTOMATIC = Bounds(automatic=True)


class Favourite(RoundRobin):
    """Polls the page with the smallest id that is there, again and again."""

    def select(self, now: float, limit: int) -> Selection:
        for page_id in self.waiting:
            self.turns[page_id] = page_id
        return super().select(now, limit)


class Fifth(RoundRobin):
    """Polls the first page each fifth time, and the others in turn."""

    def select(self, now: float, limit: int) -> Selection:
        if 0 in self.waiting:
            self.turns[0] = -1 if self.asked % 5 == 0 else 10**9
        return super().select(now, limit)


def world(some: Scheduler, watched: tuple[Page, ...], answer=at_once) -> World:
    made = World(some, answer)
    made.send(Added(0.0, watched))
    return made


def favouring(bounds: Bounds = AUTOMATIC, rate: float = 1.0, **options) -> Scheduler:
    return Scheduler(Favourite(), Budget(rate), bounds=bounds, **options)


def gaps(times: list[float]) -> list[float]:
    return [later - earlier for earlier, later in itertools.pairwise(times)]


class TestAtMost:
    def test_a_page_is_not_polled_too_soon_and_others_take_its_turns(self) -> None:
        some = favouring(Bounds(shortest=10.0))
        made = world(some, pages(3))
        made.run(100.0)
        assert gaps(times_of(made, 0)) == [10.0] * 10
        assert len(made.polls) == 31  # three pages, one poll each in ten seconds

    def test_its_own_bound_goes_before_that_of_all_pages(self) -> None:
        some = favouring(Bounds(shortest=10.0))
        made = world(some, (Page(0, shortest_interval=4.0), Page(1)))
        made.run(40.0)
        assert set(gaps(times_of(made, 0))) == {4.0}
        assert min(gaps(times_of(made, 1))) >= 10.0

    def test_many_pages_that_were_polled_lately_do_not_starve_the_others(self) -> None:
        watched = (*(Page(n, seen_at=-1.0) for n in range(1000)), Page(1000))
        some = favouring(Bounds(shortest=DAY), 100.0)
        some.restore(watched, None)
        made = World(some, never)
        made.send(Tick(0.0))
        made.run(1.0)
        assert [page_id for _, page_id in made.polls] == [1000]

    def test_a_page_that_waits_costs_one_selection_a_poll(self) -> None:
        some = favouring(Bounds(shortest=100.0))
        made = world(some, pages(2))
        made.run(1000.0)
        assert some.policy.asked < 5 * len(made.polls) + 5
        assert some.policy.deferred == 0

    def test_it_holds_after_a_restart(self) -> None:
        some = favouring(Bounds(shortest=10.0))
        some.restore((Page(0, seen_at=-4.0),), some.state())
        made = World(some, at_once)
        made.send(Tick(0.0))
        made.run(7.0)
        assert times_of(made, 0) == [6.0]

    def test_a_copy_of_the_future_does_not_hold_a_page_back(self) -> None:
        some = favouring(Bounds(shortest=10.0))
        some.restore((Page(0, seen_at=1e6),), None)
        made = World(some, at_once)
        made.send(Tick(0.0))
        made.run(15.0)
        assert times_of(made, 0) == [10.0]


class TestAtLeast:
    def test_an_overdue_page_is_polled_ahead_of_the_policys_choice(self) -> None:
        made = world(favouring(Bounds()), (Page(0), Page(1, longest_interval=10.0), Page(2)))
        made.run(100.0)
        assert gaps(times_of(made, 1)) == [10.0] * 9
        assert times_of(made, 2) == []

    def test_it_holds_for_all_pages(self) -> None:
        made = world(favouring(Bounds(longest=20.0)), pages(4))
        made.run(200.0)
        for page_id in range(4):
            assert max(gaps(times_of(made, page_id))) <= 23.0

    def test_bounds_that_need_more_than_the_budget_are_shared_by_deadline(self) -> None:
        watched = tuple(Page(n, longest_interval=5.0) for n in range(1, 11))
        made = world(favouring(Bounds()), (Page(0), *watched))
        made.run(400.0)
        for page in watched:
            assert set(gaps(times_of(made, page.id))[-30:]) <= {11.0, 12.0}
        # One poll in ten is left to the policy.
        assert set(gaps(times_of(made, 0))[-30:]) == {10.0}

    def test_it_does_not_wait_for_a_policy_that_is_not_ready(self) -> None:
        some = Scheduler(AwaitedPolicy(), Budget(1.0), first_copies=Budget(2.0))
        some.restore((Page(0, seen_at=-9.0, longest_interval=5.0), Page(1, seen_at=-9.0)), None)
        assert started(some.handle(Tick(0.0))) == [0]
        assert started(some.handle(Tick(1.0))) == []

    def test_a_page_of_the_same_host_is_not_starved(self) -> None:
        watched = (Page(0, scope="h", longest_interval=0.1), Page(1, scope="h"))
        made = world(Scheduler(RoundRobin(), Budget(10.0)), watched)
        made.run(60.0)
        assert len(times_of(made, 1)) >= 5

    def test_it_does_not_override_a_rest_after_a_failure(self) -> None:
        def answer(page_id: int, now: float) -> tuple[float, Outcome]:
            return 0.0, FAILED if page_id == 1 else UNCHANGED

        watched = (Page(0), Page(1, longest_interval=10.0))
        made = world(favouring(Bounds(), retry_after=60.0), watched, answer)
        made.run(700.0)
        first, second, third, *_ = gaps(times_of(made, 1))
        assert 54.0 <= first <= 68.0
        assert 108.0 <= second <= 134.0
        assert 216.0 <= third <= 266.0

    def test_it_does_not_override_a_postponement(self) -> None:
        outcomes = itertools.chain([Outcome.POSTPONED] * 2, itertools.repeat(UNCHANGED))

        def answer(page_id: int, now: float) -> tuple[float, Outcome]:
            return 0.0, next(outcomes) if page_id == 1 else UNCHANGED

        watched = (Page(0), Page(1, longest_interval=10.0))
        made = world(favouring(Bounds(), retry_after=60.0), watched, answer)
        made.run(300.0)
        assert times_of(made, 1)[0] == 10.0
        assert 54.0 <= gaps(times_of(made, 1))[0] <= 68.0

    def test_it_waits_for_its_host_and_no_other_page_waits_meanwhile(self) -> None:
        def answer(page_id: int, now: float) -> tuple[float, Outcome]:
            return 7.0 if page_id in (1, 2) else 0.0, UNCHANGED

        watched = (
            Page(0),
            Page(1, scope="slow", longest_interval=5.0),
            Page(2, scope="slow", longest_interval=5.0),
            Page(3, longest_interval=20.0),
        )
        made = world(favouring(Bounds(), crawl_delay=2.0), watched, answer)
        made.run(200.0)
        slow = sorted(times_of(made, 1) + times_of(made, 2))
        assert min(gaps(slow)) >= 9.0
        assert max(gaps(slow)) <= 11.0
        assert abs(len(times_of(made, 1)) - len(times_of(made, 2))) <= 1
        assert max(gaps(times_of(made, 3))) <= 21.0

    def test_it_holds_after_a_restart(self) -> None:
        some = favouring(Bounds())
        some.restore((Page(0, seen_at=0.0), Page(1, seen_at=-8.0, longest_interval=10.0)), None)
        made = World(some, at_once)
        made.send(Tick(0.0))
        made.run(5.0)
        assert times_of(made, 1) == [2.0]

    def test_a_page_removed_while_it_is_overdue_is_not_polled(self) -> None:
        from pollwise.events import HostBlocked

        some = favouring(Bounds())
        made = world(some, (Page(0), Page(1, scope="a", longest_interval=5.0)))
        made.send(HostBlocked(1.0, "a", 50.0))
        made.run(20.0)
        made.send(Removed(20.0, (1,)))
        made.run(100.0)
        assert times_of(made, 1) == []


class TestByDefault:
    def test_no_page_waits_for_more_than_thirty_days_or_ten_rounds(self) -> None:
        assert longest_by_default(round_time=3600.0) == 30 * DAY
        assert longest_by_default(round_time=10 * DAY) == 100 * DAY
        some = favouring(rate=4.0 / DAY)
        made = world(some, pages(3))
        made.run(100 * DAY)
        assert max(gaps(times_of(made, 2))) <= 31 * DAY
        assert some.bounds.intervals(2) == (0.0, 30 * DAY)

    def test_after_a_long_pause_it_takes_a_tenth_of_the_budget(self) -> None:
        some = favouring(rate=1.0)
        some.restore(tuple(Page(n, seen_at=-100 * DAY) for n in range(100)), None)
        made = World(some, at_once)
        made.send(Tick(0.0))
        made.run(500.0)
        late = [page_id for _, page_id in made.polls if page_id > 0]
        assert 45 <= len(late) <= 51
        assert len(set(late)) == len(late)

    def test_first_copies_beside_the_budget_do_not_void_its_shares(self) -> None:
        """Whether pages are overdue by default or as a user wants."""
        for longest, share in ((None, (4, 6)), (1.0, (44, 46))):
            some = favouring(rate=1.0, first_copies=Budget(100.0))
            late = tuple(
                Page(n, seen_at=-100 * DAY, longest_interval=longest) for n in range(1, 101)
            )
            some.restore((Page(0, seen_at=0.0), *late), None)
            made = World(some, at_once)
            made.send(Added(0.0, tuple(Page(n) for n in range(200, 6000))))
            made.run(50.0)
            least, most = share
            assert least <= sum(1 <= page_id <= 100 for _, page_id in made.polls) <= most

    def test_pages_that_always_change_take_no_more(self) -> None:
        """None of these is looked at once more at once."""
        late = tuple(Page(n, seen_at=-100 * DAY, changes_in_a_row=14) for n in range(1, 101))
        some = favouring(rate=1.0)
        some.restore((Page(0, seen_at=0.0), *late), None)
        made = World(some, at_once)
        made.send(Tick(0.0))
        made.run(50.0)
        assert sum(page_id > 0 for _, page_id in made.polls) <= 6

    def test_without_automatic_bounds_there_is_none(self) -> None:
        made = world(favouring(Bounds(), rate=4.0 / DAY), pages(3))
        made.run(100 * DAY)
        assert times_of(made, 2) == []


class TestAlwaysChanged:
    """Page 0 has changed whenever it is polled, and the policy would poll nothing else."""

    @staticmethod
    def clock(page_id: int, now: float) -> tuple[float, Outcome]:
        return 0.0, CHANGED if page_id == 0 else UNCHANGED

    def test_it_is_polled_at_most_once_a_round(self) -> None:
        some = favouring()
        made = world(some, pages(10), self.clock)
        made.run(1000.0)
        # Twelve changes after the first copy, and two looks at once.
        assert gaps(times_of(made, 0))[:15] == [1.0] * 14 + [10.0]
        assert some.bounds.is_slowed(0)
        assert not some.bounds.is_slowed(1)
        # It is looked at twice more after 24, 48 and 96 changes.
        assert sum(gap < 10.0 for gap in gaps(times_of(made, 0))[14:]) == 6

    def test_a_round_is_without_the_pages_that_are_paused(self) -> None:
        some = favouring()
        watched = tuple(Page(n, cost=2.0, paused=n >= 3) for n in range(100))
        made = world(some, watched, self.clock)
        made.run(500.0)
        assert gaps(times_of(made, 0))[14] == 6.0
        made.send(Updated(500.5, (Page(1, cost=2.0, paused=True), Page(3, cost=3.0))))
        assert some.bounds.intervals(0)[0] == 7.0
        made.send(Updated(501.0, (Page(1, cost=2.0, paused=True), Page(3, cost=3.0, paused=True))))
        made.send(Removed(501.5, (1, 3, 4)))
        assert some.bounds.intervals(0)[0] == 4.0

    def test_an_active_page_has_the_budget_if_all_others_are_paused(self) -> None:
        watched = (Page(0), *(Page(n, seen_at=0.0, paused=True) for n in range(1, 100)))
        made = world(favouring(), watched, self.clock)
        made.run(200.0)
        assert len(times_of(made, 0)) == 201

    def test_one_poll_that_finds_no_change_ends_it(self) -> None:
        some = favouring()
        until = 500.0

        def answer(page_id: int, now: float) -> tuple[float, Outcome]:
            return 0.0, CHANGED if page_id == 0 and now < until else UNCHANGED

        made = world(some, pages(10), answer)
        made.run(600.0)
        assert not some.bounds.is_slowed(0)
        assert gaps(times_of(made, 0))[-20:] == [1.0] * 20

    def test_a_page_that_changes_often_but_not_at_every_look_is_free_again(self) -> None:
        """It changes every four seconds, and the policy polls it every five."""
        some = Scheduler(Fifth(), Budget(1.0), bounds=AUTOMATIC)
        copies: dict[int, int] = {}

        def answer(page_id: int, now: float) -> tuple[float, Outcome]:
            version = int(now / 4.0) if page_id == 0 else 0
            changed = copies.get(page_id) != version
            copies[page_id] = version
            return 0.0, CHANGED if changed else UNCHANGED

        made = world(some, pages(40), answer)
        made.run(2000.0)
        assert len(times_of(made, 0)) > 0.2 * len(made.polls)
        assert max(gaps(times_of(made, 0))) < 10.0

    def test_a_bound_of_the_users_goes_first(self) -> None:
        some = favouring()
        watched = (Page(0, shortest_interval=2.0), *pages(10)[1:])
        made = world(some, watched, self.clock)
        made.run(100.0)
        assert set(gaps(times_of(made, 0))) == {2.0}
        some = favouring()
        made = world(some, (Page(0, longest_interval=3.0), *pages(10)[1:]), self.clock)
        made.run(200.0)
        assert gaps(times_of(made, 0))[-10:] == [3.0] * 10

    def test_it_survives_a_restart(self) -> None:
        some = favouring()
        made = world(some, pages(10), self.clock)
        made.run(45.0)
        seen_at = times_of(made, 0)[-1]
        again = favouring()
        changed = Page(0, seen_at=seen_at, changes_in_a_row=len(times_of(made, 0)) - 1)
        again.restore((changed, *pages(10)[1:]), some.state())
        assert again.bounds.is_slowed(0)
        later = World(again, self.clock)
        later.send(Tick(46.0))
        later.run(100.0)
        assert set(gaps([seen_at, *times_of(later, 0)])) == {10.0}


def test_nothing_is_kept_of_pages_without_bounds() -> None:
    some = favouring(Bounds())
    bounded = tuple(Page(n, longest_interval=1e6) for n in range(1000))

    def bytes_for(watched: tuple[Page, ...]) -> int:
        kept = BoundedPages(Bounds(), 1.0)
        tracemalloc.start()
        kept.add(watched, 0.0)
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return size

    assert bytes_for(pages(1000)) < 1000 < 100_000 < bytes_for(bounded)
    made = world(some, pages(3))
    made.run(10.0)
    made.send(Removed(10.0, (0,)))
    assert some.bounds.intervals(1) == (0.0, math.inf)
    assert some.bounds.deadline(1) == math.inf
    assert not some.bounds.is_demanded(1)


def test_a_page_of_which_nothing_is_kept_cannot_be_held() -> None:
    kept = BoundedPages(Bounds(), 1.0)
    kept.add(pages(1), 0.0)
    with pytest.raises(KeyError):
        kept.hold(0, 5.0)
    assert not kept.is_held(0)


def test_what_cannot_be() -> None:
    with pytest.raises(InputError, match="Bounds: longest"):
        Bounds(longest=10.0, shortest=20.0)
    with pytest.raises(InputError, match="Bounds: shortest"):
        Bounds(shortest=-1.0)


def test_it_wakes_for_a_deadline() -> None:
    some = favouring(Bounds())
    commands = some.handle(Added(0.0, (Page(0, longest_interval=10.0, shortest_interval=8.0),)))
    assert started(commands) == [0]
    assert wake_at(commands) < 301.0


def test_a_page_that_is_overdue_by_default_need_not_wait_once_it_is_demanded() -> None:
    kept = BoundedPages(AUTOMATIC, 1.0)
    kept.begin(0.0, ())
    kept.add(pages(50), 0.0)
    now = 1e9
    assert kept.take_overdue(now, lambda scope: 0.0, spare=False) is None  # one poll in ten
    kept.update(replace(pages(50)[30], longest_interval=DAY), now)
    assert kept.take_overdue(now, lambda scope: 0.0, spare=False) == 30
    kept.started(30)
    kept.answered(30, UNCHANGED, now)
    taken = []
    while (page_id := kept.take_overdue(now, lambda scope: 0.0, spare=True)) is not None:
        kept.started(page_id)
        kept.answered(page_id, UNCHANGED, now)
        taken.append(page_id)
    assert sorted(taken) == [n for n in range(50) if n != 30], "each once"


def test_whether_few_pages_come_or_many_does_not_matter(monkeypatch) -> None:
    told = itertools.product((None, 5.0, 40 * DAY), (None, 2.0), (None, 3.0), (0, 12, 14))
    watched = [
        Page(
            n,
            cost=1.0 + n,
            longest_interval=longest,
            shortest_interval=shortest,
            seen_at=seen_at,
            changes_in_a_row=in_a_row,
            paused=n % 7 == 0,
        )
        for n, (longest, shortest, seen_at, in_a_row) in enumerate(told)
    ]

    def planned(few: int) -> tuple[object, ...]:
        monkeypatch.setattr(bounds, "_FEW", few)
        kept = BoundedPages(AUTOMATIC, 1.0)
        kept.begin(4.0, ())
        kept.add(watched, 4.0)
        deadlines = [kept.deadline(page.id) for page in watched]
        first = kept.first_overdue
        taken = [kept.take_overdue(1e9, lambda scope: 0.0, spare=True) for _ in watched]
        return deadlines, first, taken

    assert planned(few=0) == planned(few=100)


def test_whether_few_pages_are_overdue_or_many_does_not_matter(monkeypatch) -> None:
    told = itertools.product((None, 50.0, 400.0), (None, 2.0), (None, 3.0), (0, 12, 14), range(6))
    watched = [
        Page(
            n,
            scope=f"host{host % 4}",
            longest_interval=longest,
            shortest_interval=shortest,
            seen_at=seen_at,
            changes_in_a_row=in_a_row,
            paused=n % 7 == 0,
        )
        for n, (longest, shortest, seen_at, in_a_row, host) in enumerate(told)
    ]

    def taken(kept: BoundedPages, now: float) -> Iterator[tuple[int | None, float]]:
        for turn in range(2 * len(watched)):
            page_id = kept.take_overdue(
                now, lambda scope: now + (scope == "host3"), spare=turn % 3 > 0
            )
            yield page_id, kept.first_overdue
            if page_id is not None:
                kept.started(page_id)
                kept.answered(page_id, CHANGED if page_id % 2 else UNCHANGED, now)

    def polled(few: int) -> list[tuple[int | None, float]]:
        monkeypatch.setattr(time_queue, "_FEW", few)
        kept = BoundedPages(AUTOMATIC, 20.0)
        kept.add(watched[:-100], -math.inf)
        kept.begin(4.0, [(5, 3.5, 9.0), (6, 3.5, 99.0)])
        kept.add(watched[-100:], 4.0)
        for page in watched[::11]:
            kept.remove(page.id)
        kept.add(watched[::22], 4.0)
        for page in watched[1::5]:
            kept.failed(page.id, 4.0, 60.0 + page.id)
        for page in watched[3::7]:
            kept.postponed(page.id, 30.0)
        for page in watched[2::9]:
            kept.update(replace(page, longest_interval=30.0, shortest_interval=None), 4.0)
        return [one for now in (5.0, 60.0, 61.0, 70.0, 500.0, 1e9) for one in taken(kept, now)]

    assert polled(few=1) == polled(few=10**6)


@pytest.mark.parametrize(
    "bounds", [Bounds(), AUTOMATIC, Bounds(3600.0, 20.0), Bounds(3600.0, 20.0, automatic=True)]
)
def test_intervals_of_many_pages_are_those_of_each(bounds):
    own = itertools.product((None, 60.0, 10 * DAY), (None, 0.0, 300.0), (0, 11, 12, 13, 14, 30))
    watched = tuple(
        Page(n, longest_interval=longest, shortest_interval=shortest, changes_in_a_row=changes)
        for n, (longest, shortest, changes) in enumerate(own)
        if longest is None or shortest is None or shortest <= longest
    )
    kept = BoundedPages(bounds, 0.1)
    kept.add(watched, 0.0)
    page_ids = [page.id for page in reversed(watched)] + [10_000, 7]
    under = kept.intervals_of(page_ids)
    for rate in (1e-5, 0.1, 10.0):
        shortest, longest = under(rate)
        each = [kept.intervals(page_id, rate) for page_id in page_ids]
        assert list(zip(shortest, longest, strict=True)) == each
    assert [len(column) for column in kept.intervals_of([])(1.0)] == [0, 0]
