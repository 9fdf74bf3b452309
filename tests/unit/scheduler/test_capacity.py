"""How many polls hosts take."""

import math

import pytest

from pollwise.events import HostPaced, Updated
from pollwise.scheduler.capacity import WantedPage, rate_taken, shortfall_of
from pollwise.scheduler.politeness import Turn
from pollwise.types import Page

from .round_robin import scheduler


def test_delays_bound_what_hosts_take():
    delays = {"a.example": 1.0, "b.example": 4.0}
    assert rate_taken(delays, delays.__getitem__, 50.0) == 1.25
    assert rate_taken(delays, delays.__getitem__, 1.1) == 1.1
    assert rate_taken([], delays.__getitem__, 50.0) == 0.0


def test_hosts_without_a_delay_take_everything():
    assert rate_taken(["a.example"], lambda scope: 0.0, 50.0) == 50.0


def test_no_more_hosts_are_asked_than_needed():
    asked = []

    def delay_of(scope: str) -> float:
        asked.append(scope)
        return 1.0

    rate_taken(map(str, range(1000)), delay_of, 3.0)
    assert len(asked) == math.ceil(3.0)


def turns(**by_scope: Turn):
    return lambda scope: by_scope.get(scope, Turn(0.0, 0.0))


def test_a_slow_host_is_named_with_what_it_takes():
    pages = [WantedPage("slow", 1.0, 0.0)] * 3 + [WantedPage("dear", 2.0, 0.0)]
    short = shortfall_of(pages, turns(slow=Turn(4.0, 1.0), dear=Turn(9.0, 1.0)), 2.0)
    assert short.share == pytest.approx((0.2 + 2 * 0.1) / 2.0)
    assert short.polls_per_day == pytest.approx(0.3 * 86_400)
    assert [(host.host, host.pages) for host in short.hosts] == [("slow", 3), ("dear", 1)]
    assert (short.hosts[0].pause, short.hosts[0].answers_in) == (4.0, 1.0)


def test_a_host_without_a_pause_takes_everything():
    pages = [WantedPage("slow", 1.0, 0.0), WantedPage("", 1.0, 0.0)]
    assert shortfall_of(pages, turns(slow=Turn(4.0, 1.0)), 2.0) is None


def test_a_twentieth_is_not_told():
    pages = [WantedPage("slow", 1.0, 0.0)]
    assert shortfall_of(pages, turns(slow=Turn(1.0, 0.0)), 1.05) is None
    assert shortfall_of(pages, turns(slow=Turn(1.0, 0.0)), 1.06) is not None


def test_no_host_is_blamed_for_what_bounds_hold_back():
    pages = [WantedPage("slow", 1.0, 100.0)] * 2
    assert shortfall_of(pages, turns(slow=Turn(4.0, 1.0)), 2.0) is None
    both = [*pages, WantedPage("slower", 1.0, 0.0)]
    short = shortfall_of(both, turns(slow=Turn(4.0, 1.0), slower=Turn(10.0, 0.0)), 2.0)
    assert short.polls_per_day == pytest.approx(0.12 * 86_400)
    assert [host.host for host in short.hosts] == ["slower"]


def test_few_of_many_are_named():
    pages = [WantedPage(f"h{n}", 1.0, 0.0) for n in range(25)]
    short = shortfall_of(pages, lambda scope: Turn(100.0, 0.0), 2.0)
    assert (short.slow, len(short.hosts)) == (25, 10)


def test_no_pages_no_shortfall():
    assert shortfall_of([], turns(), 2.0) is None


def test_a_scheduler_tells_what_its_hosts_take():
    limited = scheduler(rate=1.0, crawl_delay=2.0, limits={"limited": 0.1})
    limited.restore([Page(0, scope="limited"), Page(1, scope="paced")], None)
    limited.handle(HostPaced(0.0, "paced", 4.0))
    assert limited.host_turn("limited") == (10.0, 0.0)
    assert limited.shortfall().share == pytest.approx(0.1 + 0.25)
    assert limited.shortfall(0.3) is None
    limited.handle(Updated(1.0, (Page(1, scope="paced", paused=True),)))
    assert [host.host for host in limited.shortfall().hosts] == ["limited"]


def test_of_very_many_hosts_it_finds_the_slowest():
    pages = [WantedPage(f"h{n % 2500:04}", 1.0, 0.0) for n in range(3999)]
    slowest = {f"h{n:04}": Turn(2000.0 + n, 0.0) for n in (1700, 2499)}
    short = shortfall_of(pages, lambda scope: slowest.get(scope, Turn(1000.0, 0.0)), 5.0)
    assert short.slow == 2500
    names = [host.host for host in short.hosts]
    assert names == ["h2499", "h1700", *(f"h{n:04}" for n in range(8))]
