"""The hosts of a watch, and how they are sorted."""

import time

import pytest
from tests.unit.insight.a_watch import make_watch

from pollwise.insight.hosts import HostColumn, HostTable
from pollwise.insight.snapshot import read_snapshot
from pollwise.store import Store
from pollwise.store.records import NewPage


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


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, "ab"),
        ({"descending": True}, "ba"),
        ({"order": HostColumn.failing}, "ab"),
        ({"order": HostColumn.failing, "descending": False}, "ba"),
        ({"order": HostColumn.price, "descending": True}, "ab"),
        ({"text": "B.EX"}, "b"),
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
