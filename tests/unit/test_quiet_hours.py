"""Hours of the day in which nothing is polled."""

import time
from datetime import UTC, datetime

import pytest

from pollwise.errors import InputError
from pollwise.quiet_hours import QuietHours


@pytest.fixture
def zone(monkeypatch):
    """Sets the time zone of the process."""

    def set_to(name):
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield set_to
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("minute", "end"),
    [(0, 390), (389, 390), (390, None), (720, 780), (1319, None), (1320, 1440 + 390)],
)
def test_stretches_go_round_midnight(zone, minute, end):
    zone("UTC")
    until = QuietHours(["22:00-6:30", "12:00-13:00"]).end(minute * 60.0 + 30.0)
    assert until == (None if end is None else end * 60.0)


def test_stretches_that_meet_end_together(zone):
    zone("UTC")
    quiet = QuietHours(["05:00-06:30", "22:00-00:00", "00:00-05:00"])
    assert quiet.end(23 * 3600.0) == (24 + 6.5) * 3600.0
    assert QuietHours(["00:00-12:00", "12:00-00:00"]).end(0.0) is not None


def test_it_is_quiet_for_as_long_as_the_clock_of_the_zone_says(zone):
    zone("CET-1CEST,M3.5.0,M10.5.0/3")
    quiet = QuietHours(["02:00-02:30", "22:00-06:00"])
    summer = datetime(2026, 3, 28, 21, 30, tzinfo=UTC).timestamp()
    assert quiet.end(summer) == datetime(2026, 3, 29, 4, 0, tzinfo=UTC).timestamp()
    twice = datetime(2026, 10, 25, 1, 10, tzinfo=UTC).timestamp()  # 02:10 for the second time
    assert QuietHours(["02:00-02:30"]).end(twice) == twice + 20 * 60.0


@pytest.mark.parametrize(
    "clock", ["CET-1CEST,M3.5.0,M10.5.0/3", "<+00>0<+02>-2,M3.5.0/1,M10.5.0/3"]
)
@pytest.mark.parametrize(
    "text", ["22:00-02:30", "01:30-02:00", "02:15-02:45", "01:00-03:00", "12:00-11:59"]
)
def test_it_ends_at_the_first_minute_that_is_not_in_it_when_the_clock_is_set(zone, clock, text):
    zone(clock)
    begin, end = text.split("-")
    for day in (datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 10, 24, tzinfo=UTC)):
        first = None
        for minute in reversed(range(3 * 1440)):
            at = day.timestamp() + minute * 60.0
            told = time.strftime("%H:%M", time.localtime(at))
            is_in = begin <= told < end if begin < end else not end <= told < begin
            first = first if is_in else at
            if first is not None:  # else the days that are looked at end before
                assert QuietHours([text]).end(at + 0.5) == (first if is_in else None)


def test_none_is_never_quiet():
    assert QuietHours([]).end(0.0) is None


def test_the_hours_are_those_of_the_time_zone(zone):
    zone("XYZ-5")  # five hours ahead of UTC
    quiet = QuietHours(["05:00-05:10"])
    assert quiet.end(0.0) == 600.0
    assert quiet.end(600.0) is None


@pytest.mark.parametrize(
    "text", ["", "night", "22-6", "22:00", "24:00-06:00", "22:60-06:00", "06:00-06:00"]
)
def test_what_is_no_stretch_is_refused(text):
    with pytest.raises(InputError, match="expected times of the day such as"):
        QuietHours([text])


@pytest.mark.parametrize(
    "name", ["UTC", "Europe/Berlin", ":Europe/Berlin", "Africa/Abidjan", "CET-1CEST", "XYZ0", ""]
)
def test_a_time_zone_that_is_known_is_in_no_doubt(zone, name):
    zone(name)
    assert QuietHours(["22:00-06:00"]).doubt is None


def test_a_time_zone_that_is_not_known_is_said_to_be_utc(zone):
    zone("Europe/Nowhere")
    told = QuietHours(["22:00-06:00"]).doubt
    assert told is not None
    assert told.startswith("TZ=Europe/Nowhere is no time zone that is known here")
    assert QuietHours([]).doubt is None
