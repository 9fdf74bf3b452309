"""How many polls hosts take."""

import math

from pollwise.scheduler.capacity import rate_taken


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
