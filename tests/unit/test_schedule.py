"""A schedule for one's own loop: budget, leases, hosts, what it learns, and what a file keeps."""

import copy
import itertools
import pickle
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import numpy as np
import pytest

from pollwise.errors import InputError, StateError
from pollwise.objectives import Ephemeral, Freshness
from pollwise.policies.deadline.uniform import Uniform
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.schedule import Schedule
from pollwise.scheduler.packing import pack

A, B, C = (f"https://{name}.example/" for name in "abc")
HOUR = 3600.0


def plain(budget: str = "1/second", **options) -> Schedule:
    """One with a policy that is quick to make, and no delays at hosts."""
    return Schedule(budget, **{"policy": "uniform", "crawl_delay": 0.0, **options})


def polled(
    schedule: Schedule, until: float, changes=lambda url, now: False, begin: float = 0.0
) -> list[tuple[float, str]]:
    """What a plain loop polls, with answers that take no time."""
    now, polls = begin, []
    while now < until:
        url = schedule.next(now)
        if url is None:
            wait = schedule.wait(now)
            assert wait > 0, "the loop goes round in circles"
            now += wait
        else:
            polls.append((now, url))
            schedule.record(url, changed=changes(url, now), now=now)
    return polls


def every(period: float, *urls: str) -> Callable[[str, float], bool]:
    """Whether a poll finds a change, of pages that change once in every period."""
    seen: dict[str, float] = {}

    def changes(url: str, now: float) -> bool:
        before, seen[url] = seen.get(url, 0.0), now // period
        return url in urls and seen[url] > before

    return changes


class TestPolls:
    def test_a_url_comes_back_as_it_was_given(self):
        schedule = plain()
        schedule.add("HTTPS://A.example:443/x/../", now=0.0)
        assert schedule.next(now=0.0) == "HTTPS://A.example:443/x/../"
        schedule.record(A, changed=True, now=0.5)
        assert A in schedule
        assert B not in schedule
        assert list(schedule) == ["HTTPS://A.example:443/x/../"]

    def test_the_budget_holds(self):
        schedule = plain("6/minute")
        schedule.add([A, B, C], now=0.0)
        polls = polled(schedule, until=60.0)
        assert [now for now, _ in polls] == pytest.approx(np.arange(0.0, 60.0, 10.0))
        assert [url for _, url in polls] == [A, B, C] * 2

    def test_a_budget_for_each_page_follows_their_number(self):
        schedule = plain("1/minute/page")
        schedule.add([A, B], now=0.0)
        assert len(polled(schedule, until=600.0)) == 20
        schedule.remove(B, now=600.0)
        schedule.next(now=600.0)
        assert schedule.wait(now=600.0) == pytest.approx(60.0)

    def test_another_budget_holds_from_the_next_poll_on(self):
        schedule = plain("1/second")
        schedule.add(A, now=0.0)
        schedule.budget = "1/minute"
        assert schedule.budget == "1/minute"
        assert [now for now, _ in polled(schedule, until=150.0)] == pytest.approx([0, 60, 120])

    def test_many_polls_a_second_are_handed_out_one_by_one(self):
        schedule = plain("10/second")
        schedule.add([A, B, C], now=0.0)
        first = schedule.next(now=0.0)
        assert schedule.wait(now=5.0) == 0.0
        later = [schedule.next(now=5.0) for _ in range(3)]
        assert (first, later) == (A, [B, C, None])

    def test_hosts_are_polled_one_page_at_a_time_with_a_delay(self):
        schedule = plain("10/second", crawl_delay=2.0)
        schedule.add([A, A + "news"], now=0.0)
        assert schedule.next(now=0.0) == A
        assert schedule.next(now=1.0) is None
        schedule.record(A, changed=True, now=1.0)
        assert schedule.next(now=1.0) is None
        assert schedule.wait(now=1.0) == pytest.approx(2.0)
        assert schedule.next(now=3.0) == A + "news"

    def test_a_host_that_asks_for_it_is_left_alone(self):
        for told in (120.0, "120", "Thu, 01 Jan 1970 00:02:00 GMT"):
            schedule = plain("1/second")
            schedule.add([A, A + "news", B], now=0.0)
            assert schedule.next(now=0.0) == A
            schedule.record(A, failed=True, retry_after=told, now=0.0)
            assert {url for _, url in polled(schedule, until=119.0)} == {B}
            assert A + "news" in {url for _, url in polled(schedule, until=121.0)}

    def test_a_page_that_failed_rests(self):
        schedule = plain()
        schedule.add(A, now=0.0)
        schedule.next(now=0.0)
        schedule.record(A, failed=True, now=0.0)
        assert polled(schedule, until=50.0) == []
        assert len(polled(schedule, until=70.0)) > 0

    def test_a_page_that_is_not_recorded_comes_back(self):
        schedule = plain(lease=30.0)
        schedule.add(A, now=0.0)
        assert schedule.next(now=0.0) == A
        assert schedule.next(now=29.0) is None
        # As failed, so it rests first.
        assert schedule.next(now=31.0) is None
        assert schedule.next(now=100.0) == A

    def test_when_several_leases_end_at_once_one_poll_starts(self):
        schedule = plain("10/second", lease=5.0)
        schedule.add([A, B, C, "https://d.example/"], now=0.0)
        assert [schedule.next(now=n / 10) for n in range(3)] == [A, B, C]
        assert schedule.next(now=50.0) == "https://d.example/"
        assert schedule.next(now=50.0) is None

    def test_bounds(self):
        schedule = plain("1/second")
        schedule.add(A, at_most="1/minute", now=0.0)
        assert [now for now, _ in polled(schedule, until=150.0)] == pytest.approx([0, 60, 120])
        schedule = Schedule("1/minute", policy="uniform")
        schedule.add(A, at_least="1/minute", now=0.0)
        schedule.add([f"https://{n}.example/" for n in range(20)], now=0.0)
        assert [url for _, url in polled(schedule, until=1200.0)].count(A) >= 15

    def test_without_pages_there_is_nothing_to_poll(self):
        schedule = plain()
        assert schedule.next(now=0.0) is None
        assert schedule.wait(now=0.0) == 60.0
        schedule.add([], now=0.0)
        assert schedule.wait(now=0.0) == 60.0
        assert len(schedule) == 0

    def test_a_new_page_need_not_be_waited_for(self):
        schedule = plain("1/day")
        schedule.add(A, now=0.0)
        schedule.next(now=0.0)
        schedule.record(A, changed=True, now=0.0)
        assert schedule.next(now=1.0) is None
        schedule.add(B, now=1.0)
        assert schedule.wait(now=1.0) <= 60.0

    def test_it_is_deterministic(self):
        def run() -> list[tuple]:
            schedule = Schedule("1/minute", objective="delay", crawl_delay=5.0)
            schedule.add([A, A + "1", A + "2", B, C], now=0.0)
            return polled(schedule, until=6 * HOUR, changes=lambda url, now: url == B)

        assert run() == run()

    def test_times_may_be_given_in_words(self):
        schedule = plain("1/minute")
        schedule.add(A, now="2024-05-01T12:00:00Z")
        assert schedule.next(now=np.datetime64("2024-05-01T12:00:00")) == A
        assert schedule.wait(now=datetime(2024, 5, 1, 12, 0, 15, tzinfo=UTC)) == pytest.approx(45.0)

    def test_a_time_before_that_of_the_last_call_counts_as_the_same(self):
        schedule = plain("1/minute")
        schedule.add(A, now=100.0)
        assert schedule.next(now=100.0) == A
        schedule.record(A, changed=True, now=99.0)
        assert schedule.wait(now=50.0) == pytest.approx(60.0)
        assert schedule.next(now=160.0) == A

    def test_by_the_clock_of_this_machine_even_if_it_is_set_back(self, monkeypatch):
        schedule = plain("1000/second")
        schedule.add([A, B])
        assert schedule.next() == A
        monkeypatch.setattr(time, "time", lambda: 0.0)
        while (url := schedule.next()) is None:
            time.sleep(schedule.wait())
        assert url == B


def test_threads_share_a_schedule_without_sharing_a_page():
    schedule = plain("2000/second")
    schedule.add([f"https://{n}.example/" for n in range(20)])
    at_work: set[str] = set()
    polls = itertools.count()

    def work() -> None:
        while next(polls) < 400:
            url = schedule.next()
            if url is None:
                time.sleep(schedule.wait())
                continue
            assert url not in at_work
            at_work.add(url)
            time.sleep(0.001)
            at_work.remove(url)
            schedule.record(url, changed=False)

    with ThreadPoolExecutor(8) as workers:
        for done in [workers.submit(work) for _ in range(8)]:
            done.result()


class TestPages:
    def test_one_that_is_there_stays_as_it_is(self):
        schedule = plain()
        schedule.add([A, A], now=0.0)
        schedule.next(now=0.0)
        schedule.record(A, changed=True, now=0.0)
        schedule.add(["https://A.example", B], now=1.0)
        assert len(schedule) == 2
        assert schedule.next(now=1.0) == B

    def test_one_that_was_removed_is_not_polled_and_its_poll_may_still_be_recorded(self):
        schedule = plain("10/second", crawl_delay=1.0)
        schedule.add([A, A + "news"], now=0.0)
        assert schedule.next(now=0.0) == A
        schedule.remove([A, C], now=0.0)
        assert len(schedule) == 1
        schedule.record(A, changed=True, now=0.5)
        assert schedule.next(now=1.5) == A + "news"
        with pytest.raises(InputError, match=r"record: .* is not in the schedule: add it first"):
            schedule.record(A, changed=True, now=2.0)

    def test_nothing_is_removed_at_a_time_that_is_none(self):
        schedule = plain()
        schedule.add(A, now=0.0)
        with pytest.raises(InputError, match="must be a time"):
            schedule.remove(A, now="soon")
        assert schedule.next(now=0.0) == A

    def test_one_that_was_removed_can_be_added_again(self):
        schedule = plain()
        schedule.add(A, now=0.0)
        schedule.next(now=0.0)
        schedule.record(A, changed=True, now=0.0)
        schedule.remove(A, now=1.0)
        schedule.add(A, now=1.0)
        assert schedule.next(now=1.0) == A

    def test_heavier_pages_are_polled_more_often(self):
        schedule = Schedule("1/hour", objective="delay", crawl_delay=0.0)
        schedule.add(A, now=0.0)
        schedule.add(B, weight=20.0, now=0.0)
        polls = polled(schedule, 200 * HOUR, changes=every(6 * HOUR, A, B))
        urls = [url for _, url in polls]
        assert urls.count(B) > 1.5 * urls.count(A)

    def test_dear_polls_take_more_of_the_budget(self):
        schedule = plain("1/second")
        schedule.add(A, cost=10.0, now=0.0)
        assert schedule.next(now=0.0) == A
        assert schedule.wait(now=0.0) == pytest.approx(10.0)


class TestLearning:
    def test_pages_that_change_are_polled_more_often(self):
        schedule = Schedule("1/hour", crawl_delay=0.0)
        schedule.add([A, B, C], now=0.0)
        polls = polled(schedule, until=200 * HOUR, changes=every(4 * HOUR, B))
        late = [url for now, url in polls if now > 100 * HOUR]
        assert late.count(B) > 2 * late.count(A)
        frequent, quiet = (schedule.estimate(url, now=200 * HOUR) for url in (B, A))
        assert frequent.change_rate > 10 * quiet.change_rate
        assert frequent.rate_low < frequent.change_rate < frequent.rate_high

    def test_a_poll_that_nobody_asked_for_counts_too(self):
        schedule = Schedule("1/day")
        schedule.add(A, now=0.0)
        for hour in range(5):
            schedule.record(A, changed=hour % 2 == 0, now=hour * HOUR)
        assert schedule.estimate(A, now=5 * HOUR).polls == 4  # the first brought the first copy

    def test_the_time_of_a_change_is_used_if_it_can_be_read(self):
        def rate(told) -> float:
            schedule = Schedule("1/day")
            schedule.add(A, now=0.0)
            schedule.record(A, changed=True, now=0.0)
            schedule.record(A, changed=True, last_changed_at=told, now=100 * HOUR)
            return schedule.estimate(A, now=100 * HOUR).change_rate

        header = "Thu, 01 Jan 1970 01:00:00 GMT"
        assert rate(header) == rate(HOUR) == rate("1970-01-01T01:00:00Z") != rate(None)
        assert rate("no date") == rate("") == rate("Fri, 31 Dec 9999 23:59:59 GMT") == rate(None)

    def test_estimates_are_of_the_learning_policy_only(self):
        schedule = plain()
        schedule.add(A, now=0.0)
        with pytest.raises(InputError, match="only the policy bayes-index has estimates"):
            schedule.estimate(A, now=0.0)
        with pytest.raises(InputError, match=r"estimate: .* is not in the schedule"):
            schedule.estimate(B, now=0.0)

    def test_policies_by_name_with_options_or_as_objects(self):
        for policy in (
            "ucb1-raw",
            "fixed",
            "bayes-index:revert_worth=0.5",
            BayesianIndex(objective="age"),
        ):
            schedule = Schedule("1/second", policy=policy)
            schedule.add(A, now=0.0)
            assert schedule.next(now=0.0) == A


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"budget": 500}, r"budget 500: expected a number above 0"),
            ({"budget": "500"}, r"budget '500': expected"),
            ({"objective": "news"}, r"no such objective: 'news'"),
            ({"objective": Freshness}, r"Freshness is a class; give an object"),
            ({"policy": "best"}, r"no such policy: 'best'"),
            ({"policy": BayesianIndex}, r"the class BayesianIndex; give an object"),
            ({"policy": 5}, r"policy=5 must be the name of a policy"),
            ({"policy": Uniform(), "objective": "age"}, r"both an objective and a policy object"),
            ({"crawl_delay": "2"}, r"crawl_delay='2' must be a number of seconds"),
            ({"lease": 0}, r"lease=0 must be"),
            ({"seed": None}, r"seed=None must be a whole number"),
        ],
    )
    def test_of_what_makes_no_schedule(self, options, words):
        with pytest.raises(InputError, match=words):
            Schedule(**{"budget": "1/hour", **options})

    @pytest.mark.parametrize(
        ("urls", "options", "words"),
        [
            ("a.example", {}, "begin it with http:// or https://"),
            ([A, "ftp://a.example/"], {}, "ftp is not fetched"),
            ([A, None], {}, "None is no URL"),
            (5, {}, "urls=5 must be a URL, or several"),
            (A, {"weight": 0}, "weight=0 must be a finite number above 0"),
            (A, {"cost": "1"}, "cost='1' must be"),
            (A, {"at_least": "often"}, "at-least 'often'"),
            (A, {"now": "soon"}, "now='soon' must be a time"),
        ],
    )
    def test_of_what_cannot_be_added(self, urls, options, words):
        schedule = plain()
        with pytest.raises(InputError, match=words):
            schedule.add(urls, **{"now": 0.0, **options})
        assert len(schedule) == 0

    @pytest.mark.parametrize(
        ("found", "words"),
        [
            ({}, "give one of changed=True"),
            ({"changed": True, "failed": True}, "give one of changed=True"),
            ({"failed": True, "gone": True}, "give one of changed=True"),
            ({"changed": "yes"}, "changed='yes' must be True or False"),
            ({"failed": True, "retry_after": -1.0}, r"retry_after=-1.0 must be"),
            ({"changed": True, "last_changed_at": 1e12}, "divide milliseconds by 1000"),
            ({"changed": True, "now": 1e18}, "divide nanoseconds by 1e9"),
        ],
    )
    def test_of_what_no_poll_finds(self, found, words):
        schedule = plain()
        schedule.add(A, now=0.0)
        assert schedule.next(now=0.0) == A
        with pytest.raises(InputError, match=words):
            schedule.record(A, **{"now": 0.0, **found})
        schedule.record(A, changed=np.True_, now=0.0)  # the refused ones left nothing behind


class TestFile:
    def test_all_but_leases_is_kept(self, tmp_path):
        schedule = Schedule("4/hour", objective="delay", crawl_delay=0.0)
        schedule.add([A, B], now=0.0)
        schedule.add(C, weight=2.0, at_most="1/day", now=0.0)
        schedule.remove(A, now=0.0)
        polled(schedule, until=50 * HOUR, changes=every(4 * HOUR, B))
        schedule.save(tmp_path / "schedule")
        again = Schedule.load(tmp_path / "schedule", now=50 * HOUR)
        assert repr(again) == repr(schedule) == "<Schedule: 2 pages, 4/hour>"
        for url in (B, C):
            known, loaded = (each.estimate(url, now=50 * HOUR) for each in (schedule, again))
            assert loaded.polls == known.polls > 0
            assert loaded.price == known.price
            assert loaded.change_rate == pytest.approx(known.change_rate, rel=0.1)
        later = [polled(each, 80 * HOUR, begin=50 * HOUR) for each in (schedule, again)]
        assert later[0] == later[1]
        assert {url for _, url in later[0]} == {B, C}
        again.add(A, now=80 * HOUR)
        assert len(again) == 3

    def test_a_poll_that_was_under_way_may_be_made_again(self, tmp_path):
        schedule = plain()
        schedule.add(A, now=0.0)
        assert schedule.next(now=0.0) == A
        schedule.save(tmp_path / "schedule")
        again = Schedule.load(tmp_path / "schedule", now=1.0)
        assert again.next(now=1.0) == A

    def test_the_budget_and_rests_survive(self, tmp_path):
        schedule = plain("1/minute")
        schedule.add([A, B], now=0.0)
        assert schedule.next(now=0.0) == A
        schedule.record(A, failed=True, retry_after=600.0, now=0.0)
        schedule.save(tmp_path / "schedule")
        again = Schedule.load(tmp_path / "schedule", now=1.0)
        assert again.next(now=1.0) is None
        assert again.next(now=61.0) == B
        assert again.next(now=122.0) is None

    def test_one_without_pages(self, tmp_path):
        Schedule("1/hour", objective=Ephemeral(decay=0.1)).save(tmp_path / "empty")
        again = Schedule.load(str(tmp_path / "empty"))
        assert (len(again), again.budget) == (0, "1/hour")

    def test_a_policy_of_ones_own_is_given_again(self, tmp_path):
        schedule = Schedule("1/second", policy=Uniform())
        schedule.add(A, now=0.0)
        schedule.save(tmp_path / "own")
        with pytest.raises(
            InputError, match=r"is an object: give it one: load\(path, policy=...\)"
        ):
            Schedule.load(tmp_path / "own")
        assert Schedule.load(tmp_path / "own", policy=Uniform(), now=0.0).next(now=0.0) == A
        with pytest.raises(StateError, match=r"own: the learned state lacks"):
            Schedule.load(tmp_path / "own", policy=BayesianIndex(), now=0.0)
        plain().save(tmp_path / "named")
        with pytest.raises(InputError, match=r"is 'uniform': give load no policy"):
            Schedule.load(tmp_path / "named", policy=Uniform())

    def test_an_objective_that_cannot_be_made_again_is_not_saved(self, tmp_path):
        class Mine(Freshness):
            name = "mine"

        with pytest.raises(InputError, match="no such objective: 'mine'"):
            Schedule("1/hour", objective=Mine()).save(tmp_path / "mine")
        assert not (tmp_path / "mine").exists()

    @pytest.mark.parametrize(
        ("damage", "words"),
        [
            (lambda data: b"", "was not written by Schedule.save"),
            (lambda data: b"PK\3\4" + data, "was not written by Schedule.save"),
            (lambda data: data[:-1], "is damaged: go back to a copy"),
            (lambda data: data[:200] + b"x" + data[201:], "is damaged: go back to a copy"),
            (lambda data: data.replace(b" 2 ", b" 3 ", 1), "a later version of pollwise"),
        ],
    )
    def test_other_and_damaged_files_are_refused_in_one_line(self, tmp_path, damage, words):
        schedule = plain()
        schedule.add(A, now=0.0)
        path = tmp_path / "schedule"
        schedule.save(path)
        path.write_bytes(damage(path.read_bytes()))
        with pytest.raises(StateError, match=words) as error:
            Schedule.load(path)
        assert "\n" not in str(error.value)
        assert str(path) in str(error.value)

    def test_a_file_of_the_version_before_can_be_read(self, tmp_path):
        path = tmp_path / "schedule"
        schedule = plain()
        schedule.add(A, now=0.0)
        schedule.save(path)
        path.write_bytes(path.read_bytes().replace(b" 2 ", b" 1 ", 1))
        assert list(Schedule.load(path)) == [A]

    def test_a_file_that_is_not_there(self, tmp_path):
        with pytest.raises(InputError, match=r"none: the schedule cannot be read \(No such file"):
            Schedule.load(tmp_path / "none")
        with pytest.raises(InputError, match="cannot be written"):
            plain().save(tmp_path / "no" / "folder")

    def test_the_file_begins_with_what_it_is(self, tmp_path):
        plain().save(tmp_path / "schedule")
        first, _, body = (tmp_path / "schedule").read_bytes().partition(b"\n")
        assert first == b"pollwise schedule 2 %08x" % zlib.crc32(body)


def test_pages_that_the_policy_refuses_leave_all_as_it_was():
    schedule = Schedule("1/second", policy="ts", crawl_delay=0.0)
    schedule.add(["http://a.example/", "http://b.example/"], now=0.0)
    with pytest.raises(InputError):
        schedule.add("http://c.example/", now=1.0)
    assert len(schedule) == 2
    schedule.remove("http://a.example/", now=2.0)
    schedule.add("http://d.example/", now=3.0)
    given = set()
    for second in range(10, 200):
        url = schedule.next(now=float(second))
        if url is not None:
            given.add(url)
            schedule.record(url, changed=second % 2 == 0, now=float(second))
    assert given == {"http://b.example/", "http://d.example/"}


def test_a_policy_is_made_for_the_pages_that_were_told(tmp_path):
    urls = [f"http://h{n}.example/" for n in range(150)]
    schedule = Schedule("100/hour", policy="gpoks", pages=150)
    for url in urls:
        schedule.add(url, now=0.0)
    assert len(schedule) == 150
    schedule.save(tmp_path / "kept")
    assert len(Schedule.load(tmp_path / "kept", now=1.0)) == 150


@pytest.mark.parametrize("other", ["x", "", None, 3, "ftp://a.example/"])
def test_what_is_no_url_is_not_in_it(other):
    assert other not in Schedule("1/second")


def test_a_poll_from_before_a_page_was_removed_tells_of_the_page_added_again():
    schedule = Schedule("1/second", crawl_delay=0.0, lease=10.0)
    schedule.add("http://a.example/", now=0.0)
    assert schedule.next(now=0.0) == "http://a.example/"
    schedule.remove("http://a.example/", now=1.0)
    schedule.add("http://a.example/", now=2.0)
    schedule.record("http://a.example/", changed=True, now=3.0)
    # The first copy is known, so the next poll tells of a change.
    schedule.record("http://a.example/", changed=True, now=1000.0)
    assert schedule.estimate("http://a.example/", now=1000.0).polls == 1


def test_an_outcome_is_true_or_false():
    schedule = Schedule("1/second")
    schedule.add("http://a.example/", now=0.0)
    with pytest.raises(InputError, match="record: failed='no' must be True or False"):
        schedule.record("http://a.example/", failed="no", now=1.0)


def test_a_raised_budget_holds_from_now_on():
    schedule = plain("1/day")
    schedule.add([A, B, C], now=0.0)
    assert schedule.next(now=0.0) == A
    assert schedule.next(now=1.0) is None
    schedule.budget = "1/second"
    assert schedule.wait(now=1.0) <= 1.0
    assert schedule.next(now=2.1) == B
    assert schedule.next(now=2.9) is None
    assert schedule.next(now=3.2) == C


def test_after_a_poll_that_nobody_asked_for_the_host_is_left_alone():
    schedule = plain("10/second", crawl_delay=60.0)
    schedule.add([f"{A}1", f"{A}2"], now=0.0)
    schedule.record(f"{A}1", changed=True, now=5.0)
    assert schedule.next(now=64.0) is None
    assert schedule.next(now=65.0) is not None


@pytest.mark.parametrize("found", [{"failed": True}, {"gone": True}])
def test_a_page_that_failed_without_being_asked_for_rests_ever_longer(found):
    schedule = plain("1/second")
    schedule.add(A, now=0.0)
    schedule.record(A, **found, now=5.0)
    assert schedule.next(now=55.0) is None
    schedule.record(A, **found, now=100.0)
    assert schedule.next(now=200.0) is None
    assert schedule.next(now=240.0) == A


def test_a_page_that_failed_while_it_waited_for_its_host_rests():
    schedule = plain("10/second", crawl_delay=10.0)
    schedule.add([f"{A}1", f"{A}2"], now=0.0)
    assert schedule.next(now=0.0) == f"{A}1"
    assert schedule.next(now=1.0) is None  # the other page is in the line now
    schedule.record(f"{A}2", failed=True, now=2.0)
    schedule.record(f"{A}1", changed=True, now=3.0)
    assert schedule.next(now=20.0) == f"{A}1"


@pytest.mark.parametrize("path", ["", "a\0b", ".", "\ud800"])
def test_a_path_that_names_no_file(path):
    for call in (plain().save, Schedule.load):
        with pytest.raises(InputError, match=r"path=.* must be the name of a file"):
            call(path)


@pytest.mark.parametrize(
    "body", [b"", b"PK\3\4", b"x" * 100, pack({}, {}), pack([], {}), pack({"policy": None}, {})]
)
def test_a_file_with_the_right_checksum_and_another_body(tmp_path, body):
    path = tmp_path / "foreign"
    path.write_bytes(b"pollwise schedule 2 %08x\n%s" % (zlib.crc32(body), body))
    with pytest.raises((InputError, StateError), match="foreign") as error:
        Schedule.load(path)
    assert "\n" not in str(error.value)


def test_a_version_that_is_none_is_no_later_one(tmp_path):
    path = tmp_path / "odd"
    path.write_bytes(b"pollwise schedule abc 00000000\n")
    with pytest.raises(StateError, match="odd is damaged"):
        Schedule.load(path)


def test_numbers_that_no_float_can_hold():
    with pytest.raises(InputError, match="crawl_delay="):
        plain(crawl_delay=10**400)
    schedule = plain()
    for name in ("weight", "cost"):
        with pytest.raises(InputError, match=f"add: {name}="):
            schedule.add(A, **{name: 10**400}, now=0.0)
    schedule.add(A, now=0.0)
    for huge in (10**400, 10**5000):
        with pytest.raises(InputError, match="record: retry_after="):
            schedule.record(A, changed=True, retry_after=huge, now=0.0)
        with pytest.raises(InputError, match="now="):
            schedule.next(now=huge)


@pytest.mark.filterwarnings("error")
def test_a_small_float_of_numpy_is_a_number_like_others():
    schedule = plain()
    schedule.add("http://a.example/", weight=np.float32(2.0), cost=np.float16(1.5), now=0.0)
    assert len(schedule) == 1


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_schedule_is_saved_and_not_pickled(duplicate):
    with pytest.raises(TypeError, match=r"use save, and Schedule.load"):
        duplicate(plain())


def test_one_whose_calls_were_given_times_goes_on_at_the_latest(tmp_path):
    schedule = plain("1/minute")
    schedule.add([A, B], now=0.0)
    assert schedule.next(now=100.0) == A
    schedule.save(tmp_path / "told")
    again = Schedule.load(tmp_path / "told")
    assert again.next(now=0.0) is None  # it counts as 100
    assert again.wait(now=100.0) == pytest.approx(60.0)
    assert again.next(now=160.0) is not None


def test_a_schedule_is_listed_while_another_thread_adds_to_it():
    schedule = plain()
    schedule.add("https://0.example/")

    def add() -> None:
        for number in range(1, 300):
            schedule.add(f"https://{number}.example/")

    with ThreadPoolExecutor(1) as thread:
        adding = thread.submit(add)
        while not adding.done():
            assert "https://0.example/" in list(schedule)
        adding.result()
    assert len(list(schedule)) == 300


@pytest.mark.parametrize("told", [4e9, "Fri, 01 Jan 2100 00:00:00 GMT"])
def test_a_last_change_in_the_future_counts_as_none(told):
    estimates = []
    for last_changed_at in (None, told):
        schedule = Schedule("10/day")
        schedule.add(A, now=0.0)
        for day in range(3):
            schedule.record(A, changed=True, last_changed_at=last_changed_at, now=day * 86_400.0)
        estimates.append(schedule.estimate(A, now=3 * 86_400.0))
    assert estimates[0] == estimates[1]
