"""The hosts of a watch, and how they are sorted."""

import json
import time

import pytest
from tests.unit.insight.a_watch import URLS, make_watch

from pollwise.insight.explanation import read_explanation
from pollwise.insight.hosts import HostColumn, HostTable
from pollwise.insight.snapshot import read_snapshot
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory


@pytest.fixture(scope="module")
def hosts(tmp_path_factory) -> HostTable:
    path = tmp_path_factory.mktemp("hosts") / "x.db"
    make_watch(path, time.time())
    return read_snapshot(path).hosts


def test_what_is_known_of_a_host(hosts):
    host, other = hosts.host("a.example"), hosts.host("b.example")
    assert (host.pages, host.polls, host.changes, host.failing) == (3, 83, 40, 1)
    assert (host.error, host.delay, host.asked_delay, host.limit) == ("status 500", 9.0, 9.0, None)
    assert host.error_at < host.polled_at <= host.next_poll_at
    assert (other.delay, other.asked_delay, other.limit, other.error) == (
        *(1.0, None),
        *("200/day", None),
    )
    assert (other.price, other.free_at, other.blocked_until, other.limited_until) == (None,) * 4
    assert hosts.host("c.example") is None


def test_a_host_that_cannot_keep_up_has_a_price_of_its_own(tmp_path):
    db = tmp_path / "busy.db"
    make_watch(db, time.time())
    with Store.open(db) as store:
        state = json.loads(store.scheduler_state()) | {"host_prices": {"a.example": 2.0}}
        store.commit(Batch(scheduler=json.dumps(state)))
    hosts = read_snapshot(db).hosts
    assert (hosts.host("a.example").price, hosts.host("b.example").price) == (2.0, None)
    assert hosts.rows(order=HostColumn.price).results[0].host == "a.example"
    page = read_explanation(db, URLS[1])
    assert page.host_price == 2.0
    assert read_explanation(db, URLS[3]).host_price is None


@pytest.mark.parametrize(
    ("polled_before", "error", "is_asked"),
    [
        (60.0, "status 503", True),
        (60.0, "status 500", False),
        (2 * 86_400.0, "status 503", False),  # it was polled since: that rest was over
    ],
)
def test_only_a_rest_that_a_host_asked_for_is_said_to_be_one(
    tmp_path, polled_before, error, is_asked
):
    """Else it is left alone for its delay, after a poll or after a run that was killed."""
    db, now = tmp_path / "rests.db", time.time()
    make_watch(db, now)
    with Store.open(db) as store:
        state = json.loads(store.scheduler_state()) | {"hosts": [["a.example", 9.0, now + 99.0]]}
        seen = Observation(2, now - polled_before, Outcome.FAILED)
        failed = PollResult(seen, PageMemory(), error=error)
        store.commit(Batch(polls=(failed,), scheduler=json.dumps(state)))
    host = read_snapshot(db).hosts.host("a.example")
    assert host.free_at == now + 99.0
    assert host.blocked_until == (now + 99.0 if is_asked else None)
    blocked_by = read_explanation(db, URLS[1]).host_blocked_by
    assert (None if blocked_by is None else blocked_by.url) == (URLS[2] if is_asked else None)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, "ab"),
        ({"descending": True}, "ba"),
        ({"order": HostColumn.failing}, "ab"),
        ({"order": HostColumn.failing, "descending": False}, "ba"),
        ({"order": HostColumn.price, "descending": True}, "ab"),
        ({"text": "B.EX"}, "b"),
        ({"text": '"B.EX"'}, "b"),
        ({"text": "status 500"}, "a"),
        ({"offset": 1, "limit": 1}, "b"),
    ],
)
def test_filters_and_orders(hosts, asked, expected):
    assert "".join(host.host[0] for host in hosts.rows(**asked).results) == expected


def test_without_a_run_only_the_pages_are_known(tmp_path):
    db = tmp_path / "new.db"
    with Store.open(db) as store:
        store.add_pages([NewPage("http://a.example/", "a.example")], now=1.0)
    answer = read_snapshot(db).hosts.rows()
    assert (answer.hosts, answer.found) == (1, 1)
    assert (answer.results[0].next_poll_at, answer.results[0].delay) == (None, None)
