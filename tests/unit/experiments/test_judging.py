"""Judgements say what the numbers say: each held once, and failed once."""

import pytest

from pollwise.experiments.experiment import Measurements, Row
from pollwise.experiments.judging import (
    above,
    alike,
    all_of,
    grows,
    lesser_losses,
    nearer,
    unmoved,
)


def measured(**rows: tuple[tuple[float, float], ...]) -> Measurements:
    """Values and standard errors in the columns x, y, ..."""
    return Measurements(
        [
            Row(name, column, *number)
            for name, numbers in rows.items()
            for column, number in zip("xyz", numbers, strict=False)
        ]
    )


@pytest.mark.parametrize(
    ("judge", "held", "failed"),
    [
        (
            above(["a"], ["b"], ["x", "y"]),
            {"a": ((3.0, 0.3), (3.0, 0.3)), "b": ((2.0, 0.3), (2.0, 0.3))},
            {"a": ((3.0, 0.3), (3.0, 0.3)), "b": ((2.0, 0.3), (2.2, 0.3))},
        ),
        (
            alike("a", "b", ["x"], 0.01),
            {"a": ((102.0, 1.0),), "b": ((100.0, 0.0),)},
            {"a": ((104.0, 1.0),), "b": ((100.0, 0.0),)},
        ),
        (
            unmoved("a", ["x", "y"], 0.01),
            {"a": ((100.0, 1.0), (100.9, 1.0))},
            {"a": ((100.0, 1.0), (101.1, 1.0))},
        ),
        (
            grows(["a", "b"], "y", "x"),
            {"a": ((5.0, 0.1), (4.0, 0.1)), "b": ((5.0, 0.1), (4.5, 0.1))},
            {"a": ((5.0, 0.1), (4.0, 0.1)), "b": ((5.0, 0.1), (4.9, 0.1))},
        ),
        (
            lesser_losses(["a"], "b", "x", "y"),
            {"a": ((5.0, 0.1), (4.9, 0.1)), "b": ((5.0, 0.1), (4.0, 0.1))},
            {"a": ((5.0, 0.1), (4.2, 0.1)), "b": ((5.0, 0.1), (4.0, 0.1))},
        ),
        (
            nearer("a", "b", "x", "y"),
            {"a": ((5.0, 0.1), (5.0, 0.1)), "b": ((5.2, 0.1), (4.0, 0.1))},
            {"a": ((5.0, 0.1), (5.0, 0.1)), "b": ((5.2, 0.1), (4.7, 0.1))},
        ),
        (
            all_of(unmoved("a", ["x"], 0.0), above(["a"], ["b"], ["x"])),
            {"a": ((2.0, 0.0),), "b": ((1.0, 0.0),)},
            {"a": ((1.0, 0.0),), "b": ((2.0, 0.0),)},
        ),
    ],
)
def test_what_holds_and_what_does_not(judge, held, failed):
    assert judge(measured(**held)).holds
    assert not judge(measured(**failed)).holds


def test_the_smallest_lead_is_told():
    numbers = measured(a=((5.0, 0.3),), b=((2.0, 0.4),), c=((4.0, 0.4),))
    assert above(["a"], ["b", "c"], ["x"])(numbers).seen == "x: a +1.00 ± 0.50 to c"


def test_nothing_is_no_lead():
    same = measured(a=((0.0, 0.0), (0.0, 0.0)), b=((0.0, 0.0), (0.0, 0.0)))
    for judge in (above(["a"], ["b"], ["x"]), grows(["a"], "x", "y"), grows(["a"], "y", "x")):
        assert not judge(same).holds
    assert not lesser_losses(["a"], "b", "x", "y")(same).holds
    assert not nearer("a", "b", "x", "y")(same).holds
