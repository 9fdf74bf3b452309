"""What a scheduler does for a policy that discovers pages."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.events import Added, Aimed, Linked, Polled, Removed, Rescored, Staffed, Tick, Together
from pollwise.scheduler.scheduler import Scheduler
from pollwise.types import Budget, Links, Observation, Outcome, Page

from .round_robin import RoundRobin, observed, pages, policy_of, polled, scheduler, started, wake_at


class Collecting(RoundRobin):
    """Takes links too."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[tuple[int, list[int], Sequence[str], Sequence[str]]] = []
        self.rescored: list[tuple[int, float]] = []

    def link(self, page_id: int, links: Links) -> None:
        self.links.append((page_id, links.targets.tolist(), links.anchors, links.places))

    def rescore(self, page_ids: Sequence[int], relevances: Sequence[float]) -> None:
        self.rescored = list(zip(page_ids, relevances, strict=True))

    def aim(self, weights: Mapping[str, float]) -> None:
        self.aimed = weights

    def begin_traversal(self) -> None:
        raise AssertionError("a scheduler never begins a traversal")


class TestCollecting:
    def test_no_more_polls_are_under_way_than_the_staff_allows(self):
        some = scheduler(rate=100.0, burst=10.0)
        some.handle(Staffed(0.0, 2))
        commands = some.handle(Added(1.0, pages(5)))
        assert started(commands) == [0, 1]
        assert wake_at(commands) > 100.0, "only the end of a poll or of a lease makes room"
        assert started(some.handle(polled(3.0, 0))) == [2]
        assert started(some.handle(Staffed(4.0, 4))) == [3, 4]

    def test_a_smaller_staff_ends_no_poll(self):
        some = scheduler(rate=100.0, burst=10.0)
        some.handle(Added(0.0, pages(5)))
        some.handle(Tick(1.0))
        some.handle(Staffed(1.0, 1))
        assert some.in_flight == 5
        assert started(some.handle(polled(2.0, 0))) == []

    def test_links_go_to_a_policy_that_takes_them(self):
        some = Scheduler(Collecting(), Budget(1.0))
        some.handle(Added(0.0, pages(3)))
        some.handle(Linked(1.0, 0, Links(np.array([1, 2]), ("next", "up"), ("body/a", "body/a"))))
        assert some.policy.links == [(0, [1, 2], ("next", "up"), ("body/a", "body/a"))]

    def test_new_scores_go_to_the_policy(self):
        some = Scheduler(Collecting(), Budget(1.0))
        some.handle(Rescored(1.0, (0, 2), (0.5, 0.0)))
        assert some.policy.rescored == [(0, 0.5), (2, 0.0)]

    @pytest.mark.parametrize("relevance", [math.nan, math.inf, -0.1, 1.1])
    def test_a_relevance_that_is_none_is_refused_before_the_policy_learns_of_it(self, relevance):
        some = Scheduler(Collecting(), Budget(1.0))
        some.handle(Added(0.0, pages(3)))
        found = Observation(0, 1.0, Outcome.CHANGED, relevance=relevance)
        with pytest.raises(InputError, match=r"^Polled: page 0: relevance=.+ from 0 to 1$"):
            some.handle(Polled(1.0, (found,)))
        with pytest.raises(InputError, match=r"^Rescored: page 2: relevance=.+ from 0 to 1$"):
            some.handle(Together(1.0, (Rescored(1.0, (0, 2), (0.5, relevance)),)))
        assert some.policy.told == []
        assert some.policy.rescored == []

    def test_the_topic_goes_to_the_policy(self):
        some = Scheduler(Collecting(), Budget(1.0))
        some.handle(Aimed(1.0, (("whale", 0.8), ("sea", 0.6))))
        assert some.policy.aimed == {"whale": 0.8, "sea": 0.6}

    def test_nothing_starts_before_all_that_happened_together_is_known(self):
        some = Scheduler(Collecting(), Budget(1e6))
        (first, *later) = pages(3)
        assert started(some.handle(Added(0.0, (first,)))) == [0]
        together = Together(
            1.0,
            (
                polled(1.0, 0),
                Added(1.0, tuple(later)),
                Linked(1.0, 0, Links(np.array([1, 2]), ("a", "b"))),
            ),
        )
        assert started(some.handle(together))[0] == 0, "the first in turn"
        assert some.policy.links[0][1] == [1, 2]
        assert len(some.policy.leased) == some.in_flight

    def test_what_is_wrong_in_one_of_them_is_told(self):
        with pytest.raises(InputError, match="Staffed: polls"):
            scheduler().handle(Together(0.0, (Tick(0.0), Staffed(0.0, -1))))

    def test_links_for_another_policy_are_refused(self):
        with pytest.raises(InputError, match="RoundRobin discovers no pages"):
            scheduler().handle(Linked(0.0, 0, Links(np.array([1]), ("next",))))

    def test_the_line_before_a_host_can_be_short(self):
        some = scheduler(rate=1e6, line=1)
        some.handle(Added(0.0, pages(1, scope="h")))
        some.handle(Added(0.001, tuple(Page(n, scope="h") for n in range(1, 5))))
        assert policy_of(some).deferred == 3

    def test_a_line_of_a_negative_length_is_refused(self):
        with pytest.raises(InputError, match="line=-1 must be at least 0"):
            scheduler(line=-1)

    def test_a_negative_staff_is_refused(self):
        with pytest.raises(InputError, match="polls=-1 must be at least 0"):
            scheduler().handle(Staffed(0.0, -1))

    def test_pages_that_are_left_out_are_not_polled_and_still_rest_in_a_later_run(self):
        first = Scheduler(Collecting(), Budget(1.0))
        first.handle(Added(0.0, pages(2)))
        first.handle(polled(1.0, 0, Outcome.FAILED))
        rests_until = first.rests_until(0)
        assert rests_until is not None
        some = Scheduler(Collecting(), Budget(1.0))
        some.restore(pages(2), first.state())
        some.leave_out([0, 7])
        assert started(some.handle(Tick(2.0))) == [1]
        some.handle(polled(2.5, 1))
        assert started(some.handle(Tick(rests_until + 1.0))) == [1]
        later = Scheduler(Collecting(), Budget(1.0))
        later.restore(pages(2), some.state())
        assert later.rests_until(0) == rests_until

    def test_pages_that_are_named_come_first_in_their_order(self):
        some = scheduler(rate=1.0)
        some.restore(pages(5), None)
        some.poll_first([3, 9, 2])
        polled_ids = []
        for second in range(6):
            (page_id,) = started(some.handle(Tick(float(second))))
            polled_ids.append(page_id)
            assert started(some.handle(polled(second + 0.5, page_id))) == []
        assert polled_ids == [3, 2, 0, 1, 2, 3], "each once, and those of the policy in turn"

    def test_a_named_page_waits_for_its_host_and_holds_up_no_other(self):
        some = scheduler(rate=10.0, crawl_delay=5.0)
        some.restore([Page(0), Page(1, scope="h"), Page(2, scope="h"), Page(3, scope="h")], None)
        some.poll_first([3, 2])
        assert started(some.handle(Tick(0.0))) == [3]
        assert started(some.handle(Tick(0.1))) == [0]
        some.handle(Polled(1.0, (observed(0, 1.0), observed(3, 1.0))))
        some.handle(Removed(2.0, (0,)))
        assert wake_at(some.handle(Tick(3.0))) == 6.0
        assert started(some.handle(Tick(6.0))) == [2], "before the page in line for its host"
        some.handle(polled(7.0, 2))
        assert started(some.handle(Tick(12.0))) == [1]

    def test_a_named_page_that_rests_or_is_gone_from_the_list_is_left_alone(self):
        first = scheduler()
        first.handle(Added(0.0, pages(1)))
        first.handle(polled(1.0, 0, Outcome.FAILED))
        some = scheduler()
        some.restore(pages(3), first.state())
        some.poll_first([0, 2])
        assert started(some.handle(Removed(2.0, (2,)))) == [1]
        assert started(some.handle(Tick(10.0))) == []
