import json
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


def test_hosts_are_told_of_while_they_are_busy():
    some = hosts(line=1)
    for scope in "abc":
        some.poll_begun(scope, 0.0)
    some.pace("b", 5.0, 0.0)
    some.poll_ended("a", 1.0)
    assert [row[0] for row in some.state(1.0)] == ["b", "c"]
    some.poll_ended("b", 2.0)
    some.poll_ended("c", 2.0)
    assert some.state(100.0) == [("b", 5.0, 7.0)]  # its pace has to be known
    some.poll_begun("a", 100.0)
    assert {row[0] for row in some.state(100.0)} == {"a", "b"}


def test_answering_times_are_told_again_where_there_are_many_hosts():
    some = hosts(line=1)

    def answer(number: int, now: float) -> None:
        some.poll_begun(f"h{number}", now)
        some.poll_ended(f"h{number}", now + 0.5)

    for now in (0.0, 10.0):  # the first poll of a host is not measured
        for number in range(200):
            answer(number, now)
    told = json.loads(some.answers_text(20.0))
    assert told == {f"h{number}": 0.5 for number in range(200)}
    answer(200, 20.0)
    answer(200, 21.0)
    assert json.loads(some.answers_text(21.9)) == told
    assert json.loads(some.answers_text(22.1)) == {**told, "h200": 0.5}


def test_of_thousands_of_hosts_the_answering_times_of_the_slowest_are_told():
    some = hosts(line=1)
    answered_in = {f"h{number}": 0.1 + number / 1e3 for number in range(5000)}

    def answer(now: float) -> dict[str, float]:
        for scope, seconds in answered_in.items():
            some.poll_begun(scope, now)
            some.poll_ended(scope, now + seconds)
        return json.loads(some.answers_text(now + 99.0))

    def slowest() -> set[str]:
        return set(sorted(answered_in, key=answered_in.__getitem__)[-1000:])

    answer(0.0)  # the first poll of a host is not measured
    assert answer(100.0).keys() == slowest()
    # The slowest ones are fast from now on; what answers take is an average.
    answered_in |= dict.fromkeys(slowest(), 0.001)
    for now in range(200, 10_000, 100):
        told = answer(float(now))
    assert told.keys() == slowest()


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
