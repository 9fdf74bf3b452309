"""Times as people and tables give them."""

import math
import warnings
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal

import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.times import parse_time, require_seconds, seconds_of_dates, time_of, times_of

NOON = 1_714_564_800.0
BERLIN = timezone(timedelta(hours=2))


class Timestamp(datetime):
    """As a timestamp of pandas: without a time zone, it is one of UTC."""

    def to_datetime64(self) -> np.datetime64:
        return np.datetime64(self)


class Column:
    """A column of a table that numpy can read, as all libraries of tables have."""

    def __init__(self, values) -> None:
        self._values = values

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.array(self._values, dtype)


@pytest.mark.parametrize(
    "told",
    [
        NOON,
        int(NOON),
        np.float64(NOON),
        np.int64(NOON),
        "2024-05-01T12:00:00Z",
        "2024-05-01 14:00+02:00",
        "2024-05-01T12:00",
        datetime(2024, 5, 1, 12, tzinfo=UTC),
        datetime(2024, 5, 1, 14, tzinfo=BERLIN),
        np.datetime64("2024-05-01T12"),
        np.datetime64("2024-05-01T12:00:00", "ns"),
        Timestamp(2024, 5, 1, 12),
    ],
    ids=repr,
)
def test_one_moment_in_many_words(told):
    assert time_of("now", told) == NOON


@pytest.mark.parametrize(
    "told",
    ["soon", "", None, True, math.nan, math.inf, date(2024, 5, 1), np.datetime64("NaT"), [NOON]],
    ids=repr,
)
def test_what_is_no_time(told):
    with pytest.raises(InputError, match=r"^now=.* must be a time: UTC seconds, .*ISO 8601"):
        time_of("now", told)


@pytest.mark.parametrize(
    ("scale", "mend"),
    [
        (10**3, "divide milliseconds by 1000"),
        (10**6, "divide microseconds by 1e6"),
        (10**9, "divide nanoseconds by 1e9"),
    ],
)
def test_other_units_than_seconds_are_named(scale, mend):
    for check in (time_of, require_seconds):
        with pytest.raises(InputError, match=f"^now=.* is too large for UTC seconds: {mend}$"):
            check("now", int(NOON) * scale)
    with pytest.raises(InputError, match=mend):
        times_of("now", np.array([NOON, NOON * scale]))


def test_a_datetime_without_a_time_zone_is_local_time_and_refused():
    with pytest.raises(InputError, match=r"^now=2024-05-01T12:00:00 has no time zone: give one"):
        time_of("now", datetime(2024, 5, 1, 12))


@pytest.mark.parametrize(
    "told",
    [
        [NOON, NOON + 86_400],
        np.array([NOON, NOON + 86_400]),
        ("2024-05-01T12:00Z", "2024-05-02T12:00"),
        np.array(["2024-05-01T12:00", "2024-05-02T12:00"], "datetime64[ns]"),
        np.array(["2024-05-01T12:00Z", "2024-05-02T12:00Z"]),
        Column(np.array(["2024-05-01T12:00", "2024-05-02T12:00"], "datetime64[us]")),
        Column(np.array([datetime(2024, 5, d, 14, tzinfo=BERLIN) for d in (1, 2)], object)),
        [NOON, "2024-05-02T12:00Z"],
        [datetime(2024, 5, 1, 12, tzinfo=UTC), np.datetime64("2024-05-02T12")],
    ],
    ids=lambda told: type(told).__name__,
)
def test_many_times(told):
    times = times_of("times", told)
    assert times.dtype == np.float64
    assert times.tolist() == [NOON, NOON + 86_400]


def test_no_times_at_all():
    assert times_of("times", []).tolist() == []


@pytest.mark.parametrize(
    "told",
    [5.0, "2024-05-01", [[1.0]], [1.0, None], [1.0, math.nan], np.array(["NaT"], "datetime64[s]")],
    ids=repr,
)
def test_what_is_no_list_of_times(told):
    with pytest.raises(InputError, match=r"^times=.* must be a (list of times|time)"):
        times_of("times", told)


def test_only_what_may_be_endless_is():
    assert times_of("died", [1.0, math.inf], endless=True).tolist() == [1.0, math.inf]
    assert times_of("died", ["1970-01-02", math.inf], endless=True).tolist() == [86_400, math.inf]
    for bad in ([math.inf], np.array([math.inf])):
        with pytest.raises(InputError, match="must be a time"):
            times_of("died", bad)


def test_text_that_is_no_time_is_not_a_number():
    assert parse_time(" 2024-05-01T12:00:00Z ") == NOON
    assert math.isnan(parse_time("yesterday"))


def test_where_only_seconds_are_understood():
    for fine in (NOON, 5, np.float64(-1.0)):
        require_seconds("now", fine)
    for bad in ("2024-05-01", None, math.nan, math.inf, datetime(2024, 5, 1, tzinfo=UTC)):
        with pytest.raises(InputError, match=r"^now=.* must be finite, a number of UTC seconds$"):
            require_seconds("now", bad)


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms"])
@pytest.mark.parametrize("number", [2**60, -(2**60)])
def test_dates_that_numpy_would_wrap(unit, number):
    for call, told in ((time_of, np.datetime64(number, unit)), (times_of, None)):
        with pytest.raises(InputError, match=r"^t=.* must be a time"):
            call("t", np.array([number], f"datetime64[{unit}]") if told is None else told)


class Undecided(tzinfo):
    """A time zone that does not say how far it is from UTC."""

    def utcoffset(self, moment: datetime | None) -> None:
        return None


@pytest.mark.parametrize(
    "told",
    [
        np.timedelta64(5, "s"),
        timedelta(seconds=5),
        10**400,
        10**5000,
        Decimal("sNaN"),
        np.array([1.0]),
        datetime(2024, 5, 1, tzinfo=Undecided()),
    ],
    ids=type,
)
def test_what_looks_like_a_time(told):
    with pytest.raises(InputError, match=r"^t=") as error:
        time_of("t", told)
    assert "\n" not in str(error.value)
    for endless in (False, True):
        with pytest.raises(InputError, match=r"^t="):
            times_of("t", [told], endless=endless)


@pytest.mark.parametrize("told", [np.array([5], "m8[s]"), np.array([5], "m8[ns]"), [[1], [1, 2]]])
def test_lists_that_hold_no_times(told):
    with pytest.raises(InputError, match=r"^t="):
        times_of("t", told)


def test_a_date_without_a_unit_needs_nothing_that_numpy_gives_up():
    dates = np.empty(1, "datetime64")
    dates[:] = "NaT"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        [seconds] = seconds_of_dates(dates)
    assert math.isnan(seconds)
