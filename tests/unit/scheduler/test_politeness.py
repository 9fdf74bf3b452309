"""When a host may be polled again."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.scheduler.politeness import (
    Host,
    blocked,
    free_at,
    leaves_time,
    look_begun,
    look_ended,
    paced,
    poll_begun,
    poll_ended,
    poll_lost,
    turn_of,
    turned_away,
)

steady = settings(derandomize=True, deadline=None)
times = st.floats(-1e9, 4e9)
delays = st.floats(0, 1e5)


def test_a_new_host_is_free_at_any_time():
    assert free_at(Host(), 0.0, 1.0) == -math.inf


def test_a_host_rests_after_the_end_of_a_poll_not_after_its_start():
    host = poll_ended(poll_begun(Host(), 100.0), 130.0)
    assert free_at(host, 130.0, 1.0) == 131.0


def test_the_longer_delay_holds_that_of_all_or_its_own():
    host = poll_ended(Host(), 100.0)
    assert free_at(paced(host, 5.0), 100.0, 1.0) == 105.0
    assert free_at(paced(host, 5.0), 100.0, 20.0) == 120.0
    assert free_at(paced(paced(host, 5.0), 0.0), 100.0, 1.0) == 101.0


def test_a_delay_that_makes_no_sense_is_none():
    for delay in (math.nan, -math.inf, -5.0):
        assert free_at(paced(poll_ended(Host(), 100.0), delay), 100.0, 1.0) == 101.0


def test_a_block_holds_until_the_latest_time_named():
    host = blocked(blocked(Host(), 500.0), 300.0)
    assert free_at(host, 100.0, 1.0) == 500.0
    assert free_at(blocked(poll_begun(Host(), 90.0), 500.0), 100.0, 1.0) == 500.0


def test_waiting_for_the_end_of_a_poll_takes_few_questions_however_long_it_lasts():
    for duration in (1.0, 1e3, 1e6, 1e9):
        host, now, asked = poll_begun(Host(), 0.0), 0.0, 0
        while now < duration:
            now = free_at(host, now, 1.0)
            asked += 1
        assert asked <= 2 + math.log2(duration)


def test_a_poll_is_expected_to_take_as_long_as_the_one_before_that_was_answered():
    host = poll_ended(poll_begun(Host(), 100.0), 104.0)
    assert free_at(poll_begun(host, 110.0), 110.0, 1.0) == 115.0
    host = poll_lost(poll_begun(host, 110.0), 410.0)
    assert free_at(host, 410.0, 1.0) == 411.0
    assert free_at(poll_begun(host, 420.0), 420.0, 1.0) == 425.0


def test_each_page_turned_away_gets_a_turn_of_its_own():
    host, untils = poll_ended(poll_begun(Host(), 90.0), 100.0), []
    for _ in range(4):
        host, until = turned_away(host, 100.5, 5.0)
        untils.append(until)
    assert untils == [105.0, 120.0, 135.0, 150.0]
    assert turned_away(poll_begun(host, 105.0), 105.0, 5.0)[1] == 120.0


def test_one_slow_answer_does_not_send_all_others_away_for_as_long():
    host, now, untils = Host(), 100.0, []
    for took in (1.0, 1.0, 1.0, 30.0):
        host = poll_ended(poll_begun(host, now), now + took)
        now += took + 1.0
    for _ in range(10):
        host, until = turned_away(host, now - 1.0, 1.0)
        untils.append(until)
    assert untils[-1] - untils[0] < 60.0


def test_coming_back_while_a_poll_is_late_costs_no_turns():
    host = poll_begun(Host(), 100.0)
    for now in (110.0, 150.0, 150.0):
        host, until = turned_away(host, now, 5.0)
        assert until == free_at(host, now, 5.0)
    assert turned_away(poll_ended(host, 160.0), 160.0, 5.0)[1] == 165.0


@steady
@given(started=times, passed=delays, delay=delays, pace=delays)
def test_a_host_with_a_poll_under_way_is_never_free(started, passed, delay, pace):
    now = started + passed
    host = paced(poll_begun(Host(), started), pace)
    assert free_at(host, now, delay) > now


@steady
@given(ended=times, passed=delays, delay=delays, pace=delays, until=times)
def test_once_no_poll_is_under_way_the_time_no_longer_moves(ended, passed, delay, pace, until):
    host = blocked(paced(poll_ended(Host(), ended), pace), until)
    free = free_at(host, ended, delay)
    assert free_at(host, ended + passed, delay) == free
    assert free >= max(ended + delay, until)


def test_what_answers_take_is_a_mean_of_the_latest_but_for_the_first():
    """The first poll reads robots.txt as well."""
    host = poll_ended(poll_begun(Host(), 0.0), 9.0)
    assert turn_of(host, 1.0) == (1.0, 0.0)
    host = poll_ended(poll_begun(host, 10.0), 12.0)
    assert turn_of(host, 1.0) == (1.0, 2.0)
    for begun_at in range(20, 1000, 10):
        host = poll_ended(poll_begun(host, begun_at), begun_at + 4.0)
    assert turn_of(host, 1.0).answers_in == pytest.approx(4.0, rel=1e-3)
    assert turn_of(host, 1.0).most_polls == pytest.approx(1 / 5, rel=1e-3)


def test_a_poll_that_was_given_up_tells_nothing_of_answers():
    host = poll_ended(poll_begun(Host(ended_at=0.0), 1.0), 3.0)
    assert turn_of(poll_lost(poll_begun(host, 10.0), 310.0), 1.0) == (1.0, 2.0)


def test_a_poll_that_fetched_its_page_again_tells_nothing_of_answers():
    host = poll_ended(poll_begun(Host(ended_at=0.0), 1.0), 9.0, is_timed=False)
    assert turn_of(host, 1.0) == (1.0, 0.0)
    host = poll_ended(poll_begun(host, 10.0), 12.0)
    assert turn_of(poll_ended(poll_begun(host, 20.0), 29.0, is_timed=False), 1.0) == (1.0, 2.0)


def test_a_host_without_a_pause_takes_any_number_of_polls():
    assert turn_of(Host(), 0.0).most_polls == math.inf


def test_while_a_poll_looks_for_noise_its_host_is_free_after_the_delay():
    host = look_begun(poll_begun(Host(), 100.0), 103.0)
    assert free_at(host, 103.0, 2.0) == 105.0
    assert free_at(look_ended(host, 106.0), 106.0, 2.0) == 108.0


def test_a_look_that_ends_beside_a_poll_does_not_end_it():
    host = poll_begun(look_begun(poll_begun(Host(), 100.0), 101.0), 103.0)
    assert look_ended(host, 104.0).polling_since == 103.0


def test_looks_take_a_turn_of_the_host_each():
    host = Host(answers_in=0.25)
    for looks, leaves in ((1, True), (2, True), (3, False)):
        assert leaves_time(host._replace(looks=looks), 1.0, crawl_delay=0.25) is leaves
    assert not leaves_time(Host(looks=1), 1.1, crawl_delay=2.0)


def test_a_poll_that_may_have_waited_for_a_look_tells_nothing_of_answers():
    host = look_begun(poll_begun(Host(ended_at=0.0), 1.0), 3.0)
    assert turn_of(host, 1.0) == (1.0, 2.0)
    host = look_ended(poll_begun(host, 10.0), 18.0)
    host = poll_ended(host, 19.0)
    assert turn_of(host, 1.0) == (1.0, 2.0)
    assert turn_of(poll_ended(poll_begun(host, 30.0), 40.0), 1.0) == (1.0, 3.0)
