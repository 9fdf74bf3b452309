"""What hosts take, as people are told."""

import pytest

from pollwise.insight.capacity import host_delays, shortfall_words, taken_words
from pollwise.scheduler.capacity import Shortfall, SlowHost
from pollwise.settings import CollectSettings


def test_the_longest_delay_holds():
    settings = CollectSettings(crawl_delay=2.0, host_limits=("a.example=6/minute",))
    delay_of = host_delays(settings, lambda scope: 5.0 if scope == "b.example" else 0.0)
    assert [delay_of(f"{name}.example") for name in "abc"] == [10.0, 5.0, 2.0]


@pytest.mark.parametrize(
    ("hosts", "taken", "allowed", "words"),
    [
        (6, 6.0, 50.0, "6 hosts take 6 requests a second of the 50"),
        (1, 1.0, 2.0, "1 host takes 1 request a second of the 2"),
        (2, 0.01, 1.0, "2 hosts take 36 requests an hour of the 3,600"),
        (0, 0.0, 1.0, "0 hosts take 0 requests a day of the 86,400"),
    ],
)
def test_it_is_told_in_a_unit_that_fits(hosts, taken, allowed, words):
    assert taken_words(hosts, taken, allowed) == words


def test_a_few_slow_hosts_are_named():
    hosts = tuple(
        SlowHost(f"{name}.example", 1, 8_640.0, pause=10.0, answers_in=0.0) for name in "abcd"
    )
    short = Shortfall(86_400.0, 34_560.0, 34_560.0, 0.4, slow=4, hosts=hosts)
    assert shortfall_words(short, "1/second", 86_400.0) == (
        "all hosts can take 1,440 polls an hour, of which a.example 360 polls an hour (a pause of"
        " 10 s), b.example 360 polls an hour (a pause of 10 s), c.example 360 polls an hour (a"
        " pause of 10 s) and 1 more: 40 % of the budget of 1/second; a larger budget brings nothing"
        " there. See docs/limits.md"
    )
