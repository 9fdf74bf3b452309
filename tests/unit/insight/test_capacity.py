"""What hosts take, as people are told."""

import pytest

from pollwise.insight.capacity import host_delays, taken_words
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
