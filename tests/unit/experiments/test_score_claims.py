"""Judgements of figures say what the numbers say: each held once, and failed once."""

from dataclasses import replace
from typing import Any

import pytest

from pollwise.experiments.experiment import POLLS_TO_SHARE, Curve, Measurements, Row
from pollwise.experiments.score_claims import (
    below_the_optimum,
    half_recovery,
    in_order,
    near_the_optimum,
    never_at_the_optimum,
    recovers,
    sooner,
)


def measured(**rows: tuple[float, ...]) -> Measurements:
    """Values with a standard error of 0.01 in the columns x and y; the optimum is 1."""
    return Measurements(
        [
            Row(name, column, value, 0.01)
            for name, values in rows.items()
            for column, value in zip("xy", values, strict=False)
        ],
        [Curve(name, (1.0, 2.0)[: len(values)], values) for name, values in rows.items()],
        {"optimal": 1.0},
    )


@pytest.mark.parametrize(
    ("judge", "held", "failed"),
    [
        (
            in_order(["a", "b", "c"], ["x"]),
            {"a": (0.9,), "b": (0.8,), "c": (0.7,)},
            {"a": (0.9,), "b": (0.8,), "c": (0.79,)},
        ),
        (
            in_order(["a", "b"], ["x", "y"]),
            {"a": (0.9, 0.8), "b": (0.8, 0.7)},
            {"a": (0.9, 0.8), "b": (0.8, 0.9)},
        ),
        (
            near_the_optimum(["a"], ["x", "y"], 0.97),
            {"a": (0.96, 0.99)},
            {"a": (0.94, 0.99)},
        ),
        (
            near_the_optimum(["a", "b"], ["y"], 0.97),
            {"a": (0.1, 0.96), "b": (0.1, 0.96)},
            {"a": (0.1, 0.96), "b": (0.1, 0.94)},
        ),
        (below_the_optimum(["a"], ["x"], 0.97), {"a": (0.94,)}, {"a": (0.96,)}),
        (
            below_the_optimum(["a", "b"], ["x"], 0.97),
            {"a": (0.94,), "b": (0.94,)},
            {"a": (0.94,), "b": (0.96,)},
        ),
        (never_at_the_optimum(["a"], 0.97), {"a": (0.96, 0.9)}, {"a": (0.98, 0.9)}),
        (
            never_at_the_optimum(["a", "b"], 0.97),
            {"a": (0.9, 0.96), "b": (0.9, 0.96)},
            {"a": (0.9, 0.96), "b": (0.9, 0.98)},
        ),
    ],
)
def test_judgements(judge, held, failed):
    assert judge(measured(**held)).holds
    assert not judge(measured(**failed)).holds


def test_a_tie_is_no_lead():
    tie = Measurements([Row(name, "x", 0.5) for name in "ab"])
    assert not in_order(["a", "b"], ["x"])(tie).holds


def test_shares_are_those_of_the_optimum():
    low = replace(measured(a=(0.48, 0.42)), levels={"optimal": 0.5})
    assert near_the_optimum(["a"], ["x"], 0.97)(low).holds  # 0.96, with an error of 0.02
    assert not near_the_optimum(["a"], ["y"], 0.97)(low).holds
    assert below_the_optimum(["a"], ["y"], 0.97)(low).holds
    assert not below_the_optimum(["a"], ["x"], 0.97)(low).holds
    assert never_at_the_optimum(["a"], 0.97)(low).holds
    assert not never_at_the_optimum(["a"], 0.96)(low).holds
    assert near_the_optimum(["a"], ["x"], 0.97)(low).seen == "of the optimum: a 96.0% ± 2.0%"


def learning(**polls: float | None) -> Measurements:
    """Polls to 90 % of the optimum; runs end after 500."""
    return Measurements(
        [Row(name, POLLS_TO_SHARE, number) for name, number in polls.items()],
        [Curve(name, (100.0, 500.0), (0.5, 0.8)) for name in polls],
    )


@pytest.mark.parametrize(
    ("polls", "holds"),
    [
        ({"a": 100, "b": 201, "c": 300}, True),
        ({"a": 100, "b": 200, "c": 300}, False),
        ({"a": 100, "b": 300, "c": 200}, False),
        ({"a": 249, "b": 500, "c": None}, True),  # who never gets there does so at the end
        ({"a": 250, "b": None, "c": None}, False),
        ({"a": None, "b": None, "c": None}, False),
    ],
)
def test_who_learns_twice_as_soon_as_others(polls, holds):
    assert sooner("a", ["b", "c"], 2.0)(learning(**polls)).holds == holds


def test_sooner_is_told_with_those_who_never_get_there():
    verdict = sooner("a", ["b"])(learning(a=499, b=None))
    assert verdict.holds
    assert verdict.seen == "polls to 90 % of the optimum: a 499, b never"
    assert not sooner("a", ["b"])(learning(a=500, b=500)).holds
    assert not sooner("a", ["b"])(learning(a=500, b=None)).holds


def recovering(name: str, *, half_time: float, end: float = 360.0) -> Curve:
    """Each change, after 100, 200 and 300 polls, costs 0.4, half of it for so many polls."""
    points = [(50.0, 0.8), (100.0, 0.8)]
    for change in (100.0, 200.0, 300.0):
        for n in (1.0, 11.0, 31.0, 51.0, 100.0):
            loss = 0.4 * max(0.0, 1.0 - (n - 1.0) / (2.0 * (half_time - 1.0)))
            if change + n <= end:
                points.append((change + n, 0.8 - loss))
    return Curve(name, *(tuple(each) for each in zip(*points, strict=True)))


def test_half_of_a_loss_is_made_good():
    assert half_recovery(recovering("a", half_time=21.0, end=400.0), 100) == pytest.approx(21.0)
    assert half_recovery(recovering("a", half_time=41.0, end=400.0), 100) == pytest.approx(41.0)
    assert half_recovery(recovering("a", half_time=1e9, end=400.0), 100) is None
    unharmed = Curve("a", (100.0, 101.0, 150.0, 200.0), (0.5, 0.5, 0.6, 0.6))
    assert half_recovery(unharmed, 100) == 0.0


def test_who_recovers_when():
    figure = Measurements(
        [],
        [
            recovering("quick", half_time=21.0, end=400.0),
            recovering("slow", half_time=41.0, end=400.0),
            recovering("slow too", half_time=41.0, end=400.0),
            recovering("never", half_time=1e9, end=400.0),
            Curve("unharmed", (100.0, 101.0, 200.0), (0.5, 0.5, 0.6)),
        ],
    )

    def holds(*args: Any) -> bool:
        return recovers(*args)(figure).holds

    assert holds("quick", 100, 22.0)
    assert not holds("quick", 100, 20.0)
    assert holds("quick", 100, 50.0, ["slow", "never"])
    assert not holds("slow", 100, 50.0, ["quick"])
    assert not holds("slow", 100, 50.0, ["never", "quick"])
    assert not holds("slow", 100, 50.0, ["slow too"])
    assert not holds("never", 100, 100.0)
    assert not holds("never", 100, 100.0, ["never"])
    assert not holds("unharmed", 100, 50.0)
    assert not holds("quick", 100, 50.0, ["unharmed"])
    assert recovers("quick", 100, 50.0, ["never"])(figure).seen == (
        "polls to half of what a change costs: quick 21, never never"
    )
