"""What users want otherwise while pages are polled: pauses, weights, bounds, another budget."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError, StateError
from pollwise.events import (
    Added,
    Budgeted,
    PolicyReady,
    Polled,
    Removed,
    SavedUp,
    Signalled,
    Tick,
    Updated,
)
from pollwise.policies.awaited import AwaitedPolicy
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.scheduler import dispatch
from pollwise.scheduler.bounds import ALWAYS, Bounds
from pollwise.scheduler.scheduler import Scheduler
from pollwise.types import Budget, Observation, Outcome, Page

from .round_robin import (
    World,
    at_once,
    pages,
    policy_of,
    scheduler,
    started,
    steady,
    times_of,
    wake_at,
)

BOUNDED = Bounds(longest=20.0, automatic=True)


class TestPause:
    @pytest.mark.parametrize("options", [{}, {"bounds": BOUNDED}], ids=["free", "bounded"])
    @pytest.mark.parametrize("scope", ["", "a"], ids=["without a host", "in line for a host"])
    @pytest.mark.parametrize("copy", [None, 0.0], ids=["first copy", "known"])
    def test_a_paused_page_is_not_polled_until_it_goes_on(self, options, scope, copy):
        some = scheduler(rate=1.0, first_copies=Budget(2.0), **options)
        world = World(some, at_once)
        watched = [Page(n, scope=scope, seen_at=copy) for n in range(3)]
        world.send(Added(0.0, watched))
        world.run(until=10.0)
        world.send(Updated(10.5, [Page(1, scope=scope, seen_at=copy, paused=True)]))
        world.run(until=100.0)
        assert [time for time in times_of(world, 1) if time > 10.5] == []
        assert len(world.polls) > 90
        world.send(Updated(100.5, [Page(1, scope=scope, seen_at=copy)]))
        world.run(until=130.0)
        assert len([time for time in times_of(world, 1) if time > 100.5]) > 5

    def test_a_page_may_be_paused_from_the_beginning(self):
        for copy in (None, 0.0):
            world = World(scheduler(rate=1.0, first_copies=Budget(2.0)), at_once)
            world.send(Added(0.0, [Page(0, seen_at=0.0), Page(1, seen_at=copy, paused=True)]))
            world.run(until=50.0)
            assert times_of(world, 1) == []
            world.send(Updated(50.0, [Page(1, seen_at=copy)]))
            world.run(until=60.0)
            assert times_of(world, 1) != []

    def test_a_poll_under_way_is_still_taken_in(self):
        some = scheduler(rate=1.0)
        assert started(some.handle(Added(0.0, pages(1)))) == [0]
        some.handle(Updated(0.5, [Page(0, paused=True)]))
        some.handle(Polled(1.0, (Observation(0, 1.0, Outcome.CHANGED),)))
        assert [one.outcome for one in policy_of(some).told] == [Outcome.CHANGED]
        assert started(some.handle(Tick(50.0))) == []

    @pytest.mark.parametrize("outcome", [Outcome.CHANGED, Outcome.UNCHANGED, Outcome.FAILED])
    def test_all_pages_may_be_paused_while_one_is_polled(self, outcome):
        some = Scheduler(BayesianIndex(objective="detection"), Budget(1.0))
        page = Page(0, seen_at=-10.0)
        assert started(some.handle(Added(0.0, (page,)))) == [0]
        some.handle(Updated(0.5, (replace(page, paused=True),)))
        some.handle(Polled(1.0, (Observation(0, 1.0, outcome),)))
        resumed = started(some.handle(Updated(2.0, (page,))))
        assert [*resumed, *started(some.handle(Tick(1e6)))] == [0]

    def test_one_that_was_postponed_waits_as_well(self):
        some = scheduler(rate=1.0, first_copies=Budget(2.0))
        assert started(some.handle(Added(0.0, pages(1)))) == [0]
        some.handle(Updated(0.5, [Page(0, paused=True)]))
        some.handle(Polled(1.0, (Observation(0, 1.0, Outcome.POSTPONED),)))
        assert started(some.handle(Tick(9_000.0))) == []
        assert started(some.handle(Updated(9_001.0, pages(1)))) == [0]

    def test_a_first_copy_that_was_postponed_keeps_waiting_with_another_weight(self):
        some = scheduler(rate=1.0, first_copies=Budget(2.0))
        assert started(some.handle(Added(0.0, pages(1)))) == [0]
        at = wake_at(some.handle(Polled(1.0, (Observation(0, 1.0, Outcome.POSTPONED),))))
        assert at > 50.0
        for now in (2.0, 3.0):
            commands = some.handle(Updated(now, [Page(0, weight=now)]))
            assert (started(commands), wake_at(commands)) == ([], at)
        assert started(some.handle(Tick(at))) == [0]

    def test_a_first_copy_that_is_worth_more_comes_sooner_and_a_paused_one_not(self):
        some = scheduler(rate=1.0, first_copies=Budget(1.0))
        assert started(some.handle(Added(0.0, pages(5)))) == [0]
        some.handle(Updated(0.1, [Page(3, weight=2.0), Page(1, paused=True)]))
        some.handle(Updated(0.2, [Page(1, weight=3.0, paused=True)]))
        assert [started(some.handle(Tick(now)))[0] for now in (1.0, 2.0, 3.0)] == [3, 2, 4]

    @pytest.mark.parametrize("is_awaited", [False, True])
    def test_the_rounds_of_the_policy_are_of_pages_that_are_not_paused(self, is_awaited):
        """Whatever becomes of pages that are paused."""
        policy = BayesianIndex()
        awaited = AwaitedPolicy(policy) if is_awaited else policy
        some = Scheduler(awaited, Budget(1.0), first_copies=Budget(1e-3))
        seen = [Page(n, seen_at=0.0, paused=n >= 6, tags=("x",) * (n % 2)) for n in range(10)]
        some.restore(seen, None)

        def counted(**fields) -> tuple[int, list[int]]:
            """The pages of a round, and those of the two groups, after an update of two pages."""
            some.handle(
                Updated(1.0, [replace(seen[n], **fields) for n in (0, 7)] if fields else [])
            )
            if is_awaited:
                awaited.prepare(policy)
            common = policy.state.shared[0]
            return int(common["pages"]), common["group_pages"][:2].tolist()

        assert counted() == (6, [6, 0])
        assert counted(paused=True) == (5, [5, 0])
        assert counted(paused=True, weight=2.0) == (5, [5, 0])
        assert counted(paused=False, weight=3.0) == (7, [7, 0])
        some.handle(Budgeted(1.0, 1.0, 1.0, (("x", 0.5),)))
        assert counted() == (7, [3, 4])
        assert counted(paused=True) == (5, [2, 3])
        assert counted(paused=True, tags=("x",)) == (5, [2, 3])
        assert counted(paused=False, tags=()) == (7, [4, 3])
        some.handle(Removed(1.0, (0, 8, 8)))
        assert counted() == (6, [3, 3])
        some.handle(Added(1.0, [Page(8, seen_at=0.0), Page(20, paused=True)]))
        assert counted() == (7, [4, 3])

    def test_of_a_page_that_is_told_twice_at_once_the_last_word_holds(self):
        some = scheduler(rate=1.0)
        some.handle(Added(0.0, pages(2)))
        twice = [Page(0, weight=2.0), Page(0, weight=3.0, paused=True)]
        some.handle(Updated(0.5, twice))
        assert some.bounds.is_paused(0)

    @pytest.mark.parametrize("options", [{}, {"bounds": BOUNDED}], ids=["free", "bounded"])
    def test_one_with_a_copy_that_was_postponed_while_paused_goes_on(self, options):
        some = scheduler(rate=1.0, first_copies=Budget(2.0), **options)
        page = Page(0, seen_at=0.0)
        assert started(some.handle(Added(0.0, [page]))) == [0]
        some.handle(Updated(0.5, [replace(page, paused=True)]))
        some.handle(Polled(1.0, (Observation(0, 1.0, Outcome.POSTPONED),)))
        assert started(some.handle(Tick(9_000.0))) == []
        polls = started(some.handle(Updated(9_001.0, [page])))
        assert polls or started(some.handle(Tick(9_100.0))) == [0]


class TestTerms:
    def test_a_policy_keeps_what_it_learned_of_a_page_with_another_weight(self):
        some = Scheduler(BayesianIndex(objective="delay"), Budget(1.0))
        world = World(some, lambda page, now: (0.0, Outcome(page == 0 and int(now) % 7 < 3)))
        world.send(Added(0.0, pages(4)))
        world.run(until=200.0)
        before = some.policy.state_dict([0])
        polled = len(times_of(world, 0))
        world.send(Updated(200.0, [Page(0, weight=1e-6)]))
        after = some.policy.state_dict([0])
        for name, array in before.items():
            if "weight" not in name:
                np.testing.assert_array_equal(array, after[name], err_msg=name)
        world.run(until=400.0)
        assert len(times_of(world, 0)) - polled < polled / 2

    def test_another_cost_counts_from_the_next_poll_on(self):
        some = scheduler(rate=1.0)
        assert started(some.handle(Added(0.0, pages(2)))) == [0]
        some.handle(Updated(0.5, [Page(1, cost=5.0)]))
        commands = some.handle(Tick(1.0))
        assert (started(commands), wake_at(commands)) == ([1], 6.0)

    def test_another_bound_holds_at_once(self):
        world = World(scheduler(rate=1.0, bounds=BOUNDED), at_once)
        world.send(Added(0.0, pages(2)))
        world.run(until=10.0)
        world.send(Updated(10.0, [Page(0, shortest_interval=15.0, seen_at=9.0)]))
        world.run(until=60.0)
        assert np.diff([time for time in times_of(world, 0) if time > 9.0]).min() >= 15.0

    def test_unknown_pages_are_ignored_and_free_ones_refused(self):
        some = scheduler()
        assert started(some.handle(Updated(0.0, [Page(7, paused=True)]))) == []
        some.handle(Added(0.0, pages(1)))
        with pytest.raises(ValueError, match="Updated: page 0: cost"):
            some.handle(Updated(1.0, [Page(0, cost=0.0)]))


def test_what_was_saved_up_is_spent_on_each_page_once():
    world = World(scheduler(rate=0.1, bounds=BOUNDED), at_once)
    world.send(Added(0.0, [Page(n, seen_at=0.0) for n in range(3)]))
    world.run(until=30.0)
    world.send(SavedUp(30.5, 100.0))
    world.run(until=100.0)
    assert sorted(page for time, page in world.polls if time >= 30.5) == [0, 1, 2]


class TestBudgeted:
    @steady
    @given(st.floats(0.01, 10.0), st.floats(0.01, 10.0))
    def test_a_budget_holds_from_the_event_on(self, before, after):
        world = World(scheduler(rate=before), at_once)
        world.send(Added(0.0, pages(3)))
        world.run(until=100.0)
        world.send(Budgeted(100.0, after, 1.0))
        world.run(until=300.0)
        later = [time for time, _ in world.polls if time > 100.0]
        owed = 0.0 if after > before else 1.0 / before  # the last poll is paid at the old rate
        assert len(later) == pytest.approx((200.0 - owed) * after, abs=2.0)

    def test_none_is_no_budget(self):
        with pytest.raises(ValueError, match="Budget: rate"):
            scheduler().handle(Budgeted(0.0, math.nan, 1.0))


class TestShares:
    def test_shares_come_with_the_budget_and_hold_for_the_tags_that_pages_have_by_then(self):
        policy = BayesianIndex()
        some = Scheduler(policy, Budget(1.0))
        watched = [Page(n, seen_at=0.0, tags=("shop",) * (n < 2)) for n in range(4)]
        some.handle(Added(0.0, watched))
        some.handle(Updated(0.0, [replace(watched[3], tags=("news",))]))
        some.handle(Budgeted(1.0, 2.0, 1.0, (("news", 0.1), ("shop", 0.4))))
        groups, shares = policy.group_shares([0, 1, 2, 3])
        assert groups.tolist() == [2, 2, 0, 1]
        assert shares.tolist() == pytest.approx([0.5, 0.1, 0.4])
        some.handle(Budgeted(2.0, 2.0, 1.0))
        assert policy.group_shares([0, 3])[0].tolist() == [0, 0]

    def test_a_policy_without_shares_says_so(self):
        some = scheduler()
        with pytest.raises(InputError, match="RoundRobin gives no shares"):
            some.handle(Budgeted(0.0, 1.0, 1.0, (("shop", 0.5),)))

    @pytest.mark.parametrize("failing", [False, True], ids=["dear", "failing"])
    def test_a_share_is_one_of_what_polls_really_took(self, failing):
        """Those with the tag take three times as much as planned, or fail every other time."""
        spent = {True: 0.0, False: 0.0}

        def answer(page_id, now):
            is_tagged = page_id < 10
            cost = 3.0 if is_tagged and not failing else 1.0
            spent[is_tagged] += cost
            if failing and is_tagged and dice.random() < 0.5:
                return cost, Outcome.FAILED
            return cost, Outcome.CHANGED if dice.random() < 0.3 else Outcome.UNCHANGED

        dice = np.random.default_rng(3)
        policy = BayesianIndex()
        policy.share_out({"shop": 0.3}, {})
        some = Scheduler(policy, Budget(1.0), retry_after=5.0, retry_ceiling=5.0, crawl_delay=0.0)
        now, wake = 0.0, 0.0
        events = [Added(0.0, [Page(n, seen_at=0.0, tags=("shop",) * (n < 10)) for n in range(40)])]
        while now < 12_000.0:
            if now > 4_000.0 > now - 2.0:
                spent.update({True: 0.0, False: 0.0})
            polls = []
            for event in events:
                *polls, wake = some.handle(event)
            told = tuple(
                Observation(poll.page_id, now, outcome, cost=cost)
                for poll in polls
                for cost, outcome in [answer(poll.page_id, now)]
            )
            if not told:
                now = max(wake.time, now + 1e-3)
            events = [Polled(now, told)] if told else [Tick(now)]
        assert spent[True] / sum(spent.values()) == pytest.approx(0.3, abs=0.03)

    def test_prices_survive_a_restart_by_the_tags_of_their_groups(self):
        policy = BayesianIndex()
        policy.share_out({"shop": 0.3}, {})
        some = Scheduler(policy, Budget(1.0))
        some.handle(Added(0.0, [Page(0, tags=("shop",), seen_at=0.0), Page(1, seen_at=0.0)]))
        policy.load_group_prices({"": 0.5, "shop": 5.0})
        again = BayesianIndex()
        again.share_out({"news": 0.2, "shop": 0.3}, {})
        Scheduler(again, Budget(1.0)).restore([], some.state())
        assert again.group_prices() == {"": 0.5, "news": 1.0, "shop": 5.0}

    def test_prices_of_hosts_that_cannot_keep_up_survive_a_restart(self):
        policy = BayesianIndex()
        pages = [Page(n, f"http://h/{n}", "h" if n else "other", seen_at=0.0) for n in range(9)]
        some = Scheduler(policy, Budget(1.0), crawl_delay=1e3, line=1)
        some.handle(Added(0.0, pages))
        for now in range(1, 50):
            some.handle(Tick(float(now)))
        assert policy.host_price("h") > 1.0
        assert policy.host_price("other") is None
        again, awaited = BayesianIndex(), AwaitedPolicy()
        restarted = Scheduler(again, Budget(1.0))
        restarted.restore(pages, some.state())
        assert again.host_prices() == {"h": policy.host_price("h")}
        waiting = Scheduler(awaited, Budget(1.0))
        waiting.restore(pages, restarted.state())
        assert json.loads(waiting.state())["host_prices"] == again.host_prices()
        late = BayesianIndex()
        awaited.prepare(late)
        assert late.host_prices() == again.host_prices()

    @pytest.mark.parametrize("price", [0.5, "much", None])
    def test_what_is_no_price_of_a_host_is_refused(self, price):
        some = Scheduler(BayesianIndex(), Budget(1.0))
        state = json.loads(some.state()) | {"host_prices": {"h": price}}
        with pytest.raises(StateError, match="not a scheduler's state"):
            some.load_state(json.dumps(state))

    def test_an_awaited_policy_loses_neither_prices_nor_pages(self):
        awaited = AwaitedPolicy()
        some = Scheduler(awaited, Budget(1.0))
        state = json.loads(some.state()) | {"group_prices": {"shop": 5.0}}
        some.restore([Page(0, seen_at=0.0, tags=("shop",))], json.dumps(state))
        some.handle(Updated(1.0, [Page(0, seen_at=0.0, tags=("news",), weight=2.0)]))
        some.handle(Budgeted(1.0, 1.0, 1.0, (("shop", 0.3), ("news", 0.2))))
        assert json.loads(some.state())["group_prices"] == {"shop": 5.0}
        policy = BayesianIndex()
        policy.share_out({"shop": 0.3}, {})
        awaited.prepare(policy)
        some.handle(PolicyReady(2.0))
        assert policy.group_prices()["shop"] == 5.0
        assert policy.group_shares([0])[0].tolist() == [2]
        assert policy.state.pages["weight"][0] == 2.0


class TestSignals:
    def test_the_policy_hears_of_them(self):
        policy = BayesianIndex()
        some = Scheduler(policy, Budget(1e-9), crawl_delay=0.0)
        some.handle(Added(0.0, [Page(n, seen_at=0.0) for n in range(3)]))
        some.handle(Signalled(5.0, (1, 99), 4.0))
        assert policy.state.apart["signalled_at"][:3].tolist() == [0.0, 4.0, 0.0]

    @pytest.mark.parametrize("signalled", [False, True])
    def test_a_page_that_changes_as_signalled_does_not_change_all_the_time(self, signalled):
        some = scheduler(rate=1.0, bounds=Bounds(automatic=True))
        some.handle(Added(0.0, [Page(0, seen_at=0.0)]))
        for n in range(1, 40):
            if signalled:
                some.handle(Signalled(10.0 * n, (0,), 10.0 * n))
            some.handle(Polled(10.0 * n + 1.0, (Observation(0, 10.0 * n + 1.0, Outcome.CHANGED),)))
        assert some.bounds.is_slowed(0) is not signalled

    @pytest.mark.parametrize("signalled", [False, True])
    @pytest.mark.parametrize("ahead", [0.0, 1e9])
    def test_that_holds_for_signals_before_a_restart_too(self, ahead, signalled):
        page = Page(0, seen_at=0.0, changes_in_a_row=ALWAYS - 1)
        before = scheduler(rate=1.0, bounds=Bounds(automatic=True))
        before.restore([page], None)
        before.handle(Signalled(5.0 + ahead, (0, 99) if signalled else (), 5.0 + ahead))
        some = scheduler(rate=1.0, bounds=Bounds(automatic=True))
        some.restore([page], before.state())
        some.handle(Tick(10.0))
        assert (json.loads(some.state())["signalled"] != []) == signalled
        some.handle(Polled(11.0, (Observation(0, 11.0, Outcome.CHANGED),)))
        assert some.bounds.is_slowed(0) is not signalled
        assert json.loads(some.state())["signalled"] == []
        removed = scheduler(rate=1.0)
        removed.restore([], before.state())
        assert json.loads(removed.state())["signalled"] == []

    def test_signals_outlast_a_run_that_leaves_their_pages_out(self):
        some = scheduler(rate=1.0)
        some.restore(pages(2), None)
        some.handle(Signalled(1.0, (0, 1), 1.0))
        apart = scheduler(rate=1.0)
        apart.restore(pages(2), some.state())
        apart.leave_out([0])
        apart.handle(Removed(2.0, (1,)))
        assert json.loads(apart.state())["signalled"] == [[0, 1.0]]

    def test_the_latest_signals_outlast_restarts(self, monkeypatch):
        monkeypatch.setattr(dispatch, "_MOST_SIGNALS_TOLD", 2)
        state = None
        for at, page_ids, told in [
            (1.0, (0, 1, 2), [1, 2]),
            (2.0, (1,), [2, 1]),
            (3.0, (0,), [1, 0]),
        ]:
            some = scheduler(rate=1.0)
            some.restore(pages(3), state)
            some.handle(Signalled(at, page_ids, at))
            state = some.state()
            assert [one for one, _ in json.loads(state)["signalled"]] == told
