"""Hours of the day in which nothing is polled."""

import time

import pytest

from pollwise.errors import InputError
from pollwise.quiet_hours import QuietHours


@pytest.mark.parametrize(
    ("minute", "end"),
    [(0, "06:30"), (389, "06:30"), (390, None), (720, "13:00"), (1319, None), (1320, "06:30")],
)
def test_stretches_go_round_midnight(minute, end):
    assert QuietHours(["22:00-6:30", "12:00-13:00"]).end_at_minute(minute) == end


def test_none_is_never_quiet():
    assert QuietHours([]).end(0.0) is None


def test_the_hours_are_those_of_the_time_zone(monkeypatch):
    monkeypatch.setenv("TZ", "XYZ-5")  # five hours ahead of UTC
    time.tzset()
    try:
        quiet = QuietHours(["05:00-05:10"])
        assert quiet.end(0.0) == "05:10"
        assert quiet.end(600.0) is None
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    "text", ["", "night", "22-6", "22:00", "24:00-06:00", "22:60-06:00", "06:00-06:00"]
)
def test_what_is_no_stretch_is_refused(text):
    with pytest.raises(InputError, match="expected times of the day such as"):
        QuietHours([text])
