import math

from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.scheduler.host_queues import HostQueues


def test_pages_leave_in_the_order_in_which_they_came():
    queues = HostQueues(places=3)
    for page_id in (5, 3, 4):
        assert queues.join("h", page_id, free_at=1.0)
    assert [queues.next_page(1.0, lambda host: 0.0) for _ in range(4)] == [5, 3, 4, None]
    assert queues.first_free == math.inf


def test_a_host_that_is_still_busy_is_asked_again_at_its_new_time():
    queues = HostQueues(places=1)
    queues.join("h", 1, free_at=1.0)
    assert queues.next_page(1.0, lambda host: 9.0) is None
    assert queues.first_free == 9.0
    assert 1 in queues
    assert queues.next_page(9.0, lambda host: 9.0) == 1
    assert 1 not in queues


def test_a_host_that_is_always_busy_takes_no_more_memory_with_time():
    queues = HostQueues(places=2)
    for now in range(1000):
        queues.join("h", now, free_at=now + 1.0)
        queues.expect("h", now + 1.0)
        queues.next_page(float(now), lambda host, now=now: now + 0.5)
    assert len(queues._free) < 10


@settings(deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 10)), max_size=30))
def test_no_page_is_lost_or_given_twice(visits):
    queues = HostQueues(places=2)
    waiting = {n for n, (host, free) in enumerate(visits) if queues.join(host, n, free)}
    given_out = []
    while (page_id := queues.next_page(10.0, lambda host: 0.0)) is not None:
        given_out.append(page_id)
    assert sorted(given_out) == sorted(waiting)
    for host in "abc":
        own = [n for n in given_out if visits[n][0] == host]
        assert own == sorted(own)
