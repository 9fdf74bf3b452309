import math

from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.scheduler.hosts import Hosts


def hosts(line: int) -> Hosts:
    return Hosts(crawl_delay=0.0, longest_pace=60.0, line=line)


def test_pages_leave_in_the_order_in_which_they_came():
    some = hosts(line=3)
    for page_id in (5, 3, 4):
        assert some.join("h", page_id, free_at=1.0)
    assert [some.next_page(1.0) for _ in range(4)] == [5, 3, 4, None]
    assert some.first_free == math.inf


def test_somebody_may_choose_among_the_pages_of_a_line():
    hosts = Hosts(crawl_delay=1.0, longest_pace=60.0, line=3, choose=lambda pages, now: max(pages))
    hosts.block("a", 5.0)
    assert all(hosts.join("a", page, 5.0) for page in (2, 9, 4))
    hosts.leave("a", 4)
    assert not hosts.waits(4)
    assert [hosts.next_page(5.0) for _ in range(3)] == [9, 2, None]
    assert hosts.join("a", 4, 6.0)


def test_a_host_that_is_still_busy_is_asked_again_at_its_new_time():
    some = hosts(line=1)
    some.block("h", 9.0)
    some.join("h", 1, free_at=1.0)
    assert some.next_page(1.0) is None
    assert some.first_free == 9.0
    assert some.waits(1)
    assert some.next_page(9.0) == 1
    assert not some.waits(1)


def test_a_host_that_is_always_busy_takes_no_more_memory_with_time():
    some = hosts(line=2)
    for now in range(1000):
        some.poll_begun("h", float(now))
        some.join("h", now, free_at=now + 1.0)
        assert some.next_page(float(now)) is None
    assert len(some._free) < 10


@settings(deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 10)), max_size=30))
def test_no_page_is_lost_or_given_twice(visits):
    some = hosts(line=2)
    waiting = {n for n, (host, free) in enumerate(visits) if some.join(host, n, free)}
    given_out = []
    while (page_id := some.next_page(10.0)) is not None:
        given_out.append(page_id)
    assert sorted(given_out) == sorted(waiting)
    for host in "abc":
        own = [n for n in given_out if visits[n][0] == host]
        assert own == sorted(own)
