"""What the scheduler keeps over a restart."""

import json

import pytest

from pollwise.errors import InputError, StateError
from pollwise.events import Added, HostBlocked, HostPaced, Tick
from pollwise.types import Outcome, Page

from .round_robin import (
    FAILED,
    UNCHANGED,
    World,
    at_once,
    pages,
    policy_of,
    polled,
    scheduler,
    started,
    times_of,
)


class TestState:
    def test_the_position_in_the_budget_survives(self):
        before = scheduler(rate=0.01)
        before.handle(Added(0.0, pages(1)))
        after = scheduler(rate=0.01)
        after.load_state(before.state())
        assert started(after.handle(Added(5.0, pages(1)))) == []
        assert started(after.handle(Tick(100.0))) == [0]

    def test_the_budget_of_the_time_in_between_is_not_saved_up(self):
        before = scheduler(rate=1.0, burst=10.0)
        before.handle(Added(0.0, pages(1)))
        after = scheduler(rate=1.0, burst=10.0)
        after.load_state(before.state())
        assert len(started(after.handle(Added(1e6, pages(20))))) == 1

    def test_a_new_rate_starts_afresh(self):
        before = scheduler(rate=1e-6)
        before.handle(Added(0.0, pages(1)))
        after = scheduler(rate=1.0)
        after.load_state(before.state())
        assert started(after.handle(Added(5.0, pages(1)))) == [0]

    def test_rests_of_pages_that_were_removed_meanwhile_are_dropped(self):
        before = scheduler(rate=1.0)
        before.handle(Added(0.0, pages(3)))
        for page_id in range(3):
            before.handle(polled(page_id + 0.5, page_id, FAILED))
        after = scheduler(rate=1.0)
        after.restore(pages(2), before.state())
        after.leave_out([0])
        after.handle(Tick(5.0))
        kept = json.loads(after.state())["back_offs"]
        assert [failure[0] for failure, *_ in kept] == [0, 1], "what is left out rests on"

    def test_hosts_keep_their_delays_and_blocks(self):
        before = scheduler(rate=100.0)
        before.handle(Tick(0.0))
        before.handle(HostPaced(0.0, "paced", 30.0))
        before.handle(HostBlocked(0.0, "blocked", 50.0))
        before.handle(Added(0.0, (Page(0, scope="paced"),)))
        before.handle(polled(1.0, 0))
        world = World(scheduler(rate=100.0), at_once)
        world.scheduler.load_state(before.state())
        world.send(Added(2.0, (Page(0, scope="paced"), Page(1, scope="blocked"))))
        world.run(until=70.0)
        # At 61 s page 1 may be polled too, and the budget allows one poll every 0.01 s.
        assert times_of(world, 0) == [31.0, pytest.approx(61.0, abs=0.02)]
        assert times_of(world, 1)[0] == 50.0

    def test_after_a_kill_each_host_is_due_its_delay(self):
        """What was polled after the state was saved is not known, nor which hosts were new then."""
        before = scheduler(rate=100.0, crawl_delay=2.0)
        before.handle(Tick(0.0))
        before.handle(HostPaced(0.0, "paced", 30.0))
        before.handle(HostBlocked(0.0, "blocked", 50.0))
        killed = scheduler(rate=100.0, crawl_delay=2.0)
        killed.load_state(before.state())
        killed.leave_hosts_alone(5.0)
        again = scheduler(rate=100.0, crawl_delay=2.0)
        again.load_state(killed.state())
        scopes = ("", "new", "paced", "blocked")
        for one in (killed, again):
            world = World(one, at_once)
            world.send(Added(5.5, tuple(Page(n, scope=scope) for n, scope in enumerate(scopes))))
            world.run(until=70.0)
            # The budget allows one poll every 0.01 s.
            first = [times_of(world, n)[0] for n in range(4)]
            assert first == pytest.approx([5.5, 7.0, 35.0, 50.0], abs=0.02)
        killed.handle(Tick(1e4))
        assert json.loads(killed.state())["asked_until"] is None, "no host rests for it any more"

    def test_a_host_that_rests_is_not_put_off_by_each_kill(self):
        """Or it would never be polled, if runs are killed more often than it wants polls."""
        some = scheduler(rate=100.0)
        some.handle(Tick(0.0))
        some.handle(HostPaced(0.0, "slow", 3000.0))
        some.handle(Added(0.0, (Page(0, scope="slow"),)))
        some.handle(polled(1.0, 0))
        for kill in range(1, 5):
            state = some.state()
            some = scheduler(rate=100.0)
            some.load_state(state)
            some.leave_hosts_alone(kill * 600.0)
            some.handle(Tick(kill * 600.0))
        assert some.host_free_at("slow", 2500.0) == 3001.0

    def test_after_a_kill_hosts_do_not_rest_for_a_clock_that_was_ahead(self):
        before = scheduler(rate=100.0)
        before.handle(Tick(1e6))
        before.leave_hosts_alone(1e6)
        after = scheduler(rate=100.0)
        after.load_state(before.state())
        after.begin(10.0)
        assert after.host_free_at("h", 10.0) == 11.0

    def test_what_a_clock_saved_that_was_ahead_is_set_back(self):
        """As if no time had passed since."""
        ahead = 30 * 86400.0
        before = scheduler(rate=0.01)
        before.handle(Added(ahead, (*pages(2), Page(2, scope="h"))))
        before.handle(polled(ahead + 1.0, 0, FAILED))
        before.handle(HostBlocked(ahead + 2.0, "h", ahead + 302.0))
        after = scheduler(rate=0.01)
        after.restore((*pages(2), Page(2, scope="h")), before.state())
        assert started(after.handle(Tick(0.0))) == []
        assert after.rests_until(0) == pytest.approx(59.0, abs=7.0)
        assert after.host_free_at("h", 0.0) == 300.0
        assert len(started(after.handle(Tick(98.0)))) == 1

    def test_what_an_earlier_version_saved_is_set_back_as_well(self):
        before = scheduler(rate=0.01)
        before.handle(Added(1e9, pages(1)))
        state = json.loads(before.state())
        del state["now"]
        after = scheduler(rate=0.01)
        after.load_state(json.dumps(state))
        assert started(after.handle(Added(5.0, pages(1)))) == []
        assert started(after.handle(Tick(105.1))) == [0]

    def test_a_run_that_begins_later_sets_nothing_back(self):
        before = scheduler(rate=0.01)
        before.handle(Added(0.0, pages(1)))
        before.handle(polled(0.0, 0, FAILED))
        after = scheduler(rate=0.01)
        after.restore(pages(1), before.state())
        after.begin(10.0)
        assert after.rests_until(0) == before.rests_until(0)

    def test_hosts_that_are_free_are_not_kept(self):
        some = scheduler(rate=100.0)
        some.handle(Added(0.0, pages(1, scope="h")))
        some.handle(polled(1.0, 0, FAILED))
        assert len(json.loads(some.state())["hosts"]) == 1
        some.handle(Tick(3.0))
        assert json.loads(some.state())["hosts"] == []

    def test_what_answers_take_survives(self):
        before = World(scheduler(rate=1.0), lambda page_id, now: (3.0, UNCHANGED))
        before.send(Added(0.0, pages(1, scope="h")))
        before.run(until=30.0)
        assert before.scheduler.host_turn("h").answers_in == pytest.approx(3.0)
        after = scheduler(rate=1.0)
        after.load_state(before.scheduler.state())
        assert after.host_turn("h") == before.scheduler.host_turn("h")

    def test_resting_pages_go_on_resting(self):
        def failing_until_100(page_id: int, now: float) -> tuple[float, Outcome]:
            return 0.0, FAILED if page_id < 40 and now < 100.0 else UNCHANGED

        before = World(scheduler(rate=10.0), failing_until_100)
        before.send(Added(0.0, pages(40)))
        before.run(until=30.0)
        assert len(before.polls) == 40
        after = World(scheduler(rate=10.0), failing_until_100)
        after.scheduler.load_state(before.scheduler.state())
        after.send(Added(31.0, pages(41)))
        after.run(until=53.0)
        assert {page_id for _, page_id in after.polls} == {40}
        after.run(until=75.0)
        assert {page_id for _, page_id in after.polls} == set(range(41))
        # The second failure in a row: the rest is twice as long, as without the restart.
        rows = json.loads(after.scheduler.state())["back_offs"]
        assert [pause for _, _, pause, _ in rows] == [120.0] * 40
        after.run(until=300.0)
        assert json.loads(after.scheduler.state())["back_offs"] == []

    def test_restored_pages_are_not_polled_before_the_first_event(self):
        before = scheduler()
        before.handle(Added(0.0, pages(2)))
        before.handle(polled(0.5, 0, FAILED))
        after = scheduler()
        after.restore(pages(2), before.state())
        assert policy_of(after).asked == after.in_flight == 0
        assert started(after.handle(Tick(0.9))) == []
        assert started(after.handle(Tick(1.0))) == [1]

    def test_pages_can_be_restored_without_a_state(self):
        some = scheduler()
        some.restore(pages(1), None)
        assert started(some.handle(Tick(7.0))) == [0]
        with pytest.raises(InputError, match=r"page 1: cost=0\.0 must be finite and above 0"):
            some.restore((Page(1, cost=0.0),), None)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "[]",
            "[" * 100_000,
            "{}",
            "7",
            '{"rate": 1.0, "next_at": "soon", "hosts": [], "back_offs": []}',
            '{"rate": 1.0, "next_at": NaN, "hosts": [], "back_offs": []}',
            '{"rate": 1.0, "now": 1e999, "next_at": 0.0, "hosts": [], "back_offs": []}',
            '{"rate": 1.0, "now": [1], "next_at": 0.0, "hosts": [], "back_offs": []}',
            '{"rate": 1.0, "next_at": 0.0, "hosts": [["h", 1.0]], "back_offs": []}',
            '{"rate": 1.0, "next_at": 0.0, "hosts": [], "back_offs": [[[0, 1.0, 9], 1, 60, 70]]}',
            '{"rate": 1.0, "next_at": 0.0, "hosts": [], "back_offs": [[[[]], 1, 60, 70]]}',
            '{"rate": 1.0, "next_at": 0.0, "hosts": 7, "back_offs": [[[0, 1.0, 3], 1, 60, 70]]}',
        ],
    )
    def test_what_is_no_state_is_refused_and_changes_nothing(self, text):
        some = scheduler()
        some.handle(HostPaced(0.0, "h", 30.0))
        before = some.state()
        with pytest.raises(StateError, match=r"^not a scheduler's state: .+; load what .+$"):
            some.load_state(text)
        assert some.state() == before

    def test_the_state_before_the_first_event_is_no_state_at_all(self):
        some = scheduler()
        some.load_state(scheduler().state())
        assert some.state() == scheduler().state()
        assert started(some.handle(Added(-5.0, pages(1)))) == [0]
