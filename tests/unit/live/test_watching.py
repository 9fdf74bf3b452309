"""What a watch says of the poll to come."""

from pollwise.events import HostBlocked, Poll, Polled, Tick
from pollwise.live.watching import Ahead, NextPoll, ahead
from pollwise.policies.awaited import AwaitedPolicy
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.scheduler.scheduler import Scheduler
from pollwise.types import Budget, Observation, Outcome, Page


def test_it_names_the_host_and_the_wait_for_the_budget_or_for_the_host():
    scheduler = Scheduler(BayesianIndex(), Budget(0.1), crawl_delay=0.0)
    scheduler.restore([Page(0, "http://a.example/", "a.example")], None)
    scheduler.begin(100.0)
    assert ahead(scheduler, 100.0) == Ahead(NextPoll(0, 0.0))
    assert Poll(0) in scheduler.handle(Tick(100.0))
    assert ahead(scheduler, 100.0).next_poll is None  # it is under way
    scheduler.handle(Polled(101.0, (Observation(0, 101.0, Outcome.CHANGED),)))
    assert ahead(scheduler, 101.0) == Ahead(NextPoll(0, 9.0))
    scheduler.handle(HostBlocked(102.0, "a.example", 150.0))
    assert ahead(scheduler, 102.0) == Ahead(NextPoll(0, 48.0))


def test_a_page_in_line_for_its_host_comes_first():
    scheduler = Scheduler(BayesianIndex(), Budget(1.0, burst=2.0), crawl_delay=10.0)
    scheduler.restore([Page(i, f"http://a.example/{i}", "a.example") for i in range(2)], None)
    scheduler.handle(Tick(100.0))
    scheduler.handle(Tick(101.0))
    assert scheduler.next_in_line() is not None
    scheduler.handle(Polled(102.0, (Observation(0, 102.0, Outcome.CHANGED),)))
    assert ahead(scheduler, 103.0) == Ahead(NextPoll(1, 9.0))


def test_while_it_is_compiled_first_copies_are_ahead():
    scheduler = Scheduler(AwaitedPolicy(), Budget(0.1), first_copies=Budget(1.0))
    scheduler.restore([Page(i, f"http://{i}.example/", f"{i}.example") for i in range(3)], None)
    scheduler.handle(Tick(100.0))
    assert ahead(scheduler, 100.0) == Ahead(None, first_copies=3, compiling=True)
    scheduler.handle(Polled(101.0, (Observation(0, 101.0, Outcome.CHANGED),)))
    assert ahead(scheduler, 101.0) == Ahead(None, first_copies=2, compiling=True)
