"""Hosts of whose new pages nearly all are copies."""

import numpy as np

from pollwise.collecting.hosts_of_copies import ROUND, HostsOfCopies


def test_a_host_is_found_once_and_by_its_latest_pages() -> None:
    hosts = HostsOfCopies()
    good = [hosts.note("a.example", is_copy=n >= 89) for n in range(ROUND)]
    bad = [hosts.note("a.example", is_copy=n >= 10) for n in range(ROUND)]
    assert [told for told in good + bad if told is not None] == [90]
    assert bad[-1] == 90
    assert all(hosts.note("a.example", is_copy=True) is None for _ in range(3 * ROUND))


def test_hosts_are_told_apart() -> None:
    hosts = HostsOfCopies()
    names = np.random.default_rng(1).permutation(["a", "b"] * ROUND).tolist()
    told = [(name, copies) for name in names if (copies := hosts.note(name, is_copy=name == "a"))]
    assert told == [("a", ROUND)]
