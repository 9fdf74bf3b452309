"""How long learning and adapting take by number of pages."""

import math

import pytest

from pollwise.experiments.experiment import Effort, Measurements, Row
from pollwise.experiments.scaling_figure import (
    GROWTH,
    ScalingFigure,
    exponent_of_growth,
    grows_with_pages,
    much_sooner,
)
from pollwise.experiments.scenario import ConfiguredPolicy


def test_a_curve_for_each_number_of_pages_and_the_times():
    told: list[str] = []
    figure = ScalingFigure(
        lambda pages: ConfiguredPolicy("tree", "htraa", {"resolution": 40}), {8: 2_000, 64: 3_000}
    )
    measured = figure(Effort(trials=4, cores=1, report=told.append))
    assert [curve.label for curve in measured.curves] == ["tree, 8 pages", "tree, 64 pages"]
    for curve, polls in zip(measured.curves, (2_000, 3_000), strict=True):
        assert curve.x[-1] == 2 * polls
        assert {polls, polls + 1} < set(curve.x)
    few, more = (
        measured.value("tree, initial learning", column) for column in ("8 pages", "64 pages")
    )
    assert 50 < few < more < 3_000
    assert 0 < measured.value("tree, adaptation", "8 pages") < 2_000
    for what in ("tree, initial learning", "tree, adaptation"):
        times = {pages: measured.cell(what, f"{pages} pages").value for pages in (8, 64)}
        assert measured.cell(what, GROWTH).value == exponent_of_growth(times)
    assert measured.value("tree, initial learning", GROWTH) == pytest.approx(
        math.log(more / few, 8)
    )
    assert told[-1] == "tree, 64 pages: 4 of 4 trials"


def test_the_exponent_of_growth_is_a_slope_in_logarithms():
    assert exponent_of_growth({64: 100.0, 4096: 800.0}) == pytest.approx(0.5)
    assert exponent_of_growth({4096: 50.0, 8: 100.0, 512: 7.0}) == pytest.approx(-1 / 9)


@pytest.mark.parametrize(
    "by_size",
    [
        {64: None, 512: 200.0, 4096: 800.0},
        {64: 100.0, 512: None, 4096: 800.0},
        {64: 100.0, 512: 200.0, 4096: None},
        {64: 100.0, 512: 0.0, 4096: 800.0},
        {64: 0.0, 512: 200.0},
        {64: 100.0},
    ],
)
def test_no_exponent_unless_all_sizes_have_a_number_above_0(by_size):
    assert exponent_of_growth(by_size) is None


@pytest.mark.parametrize(
    ("judge", "holds"),
    [
        (grows_with_pages("slow", least=0.9), True),
        (grows_with_pages("slow", least=0.91), False),
        (grows_with_pages("slow", most=0.9), True),
        (grows_with_pages("slow", most=0.89), False),
        (grows_with_pages("never"), False),
        (much_sooner("quick", "slow", 4_096, 100.0), True),
        (much_sooner("quick", "slow", 4_096, 101.0), False),
        (much_sooner("slow", "quick", 4_096, 1.0), False),
        (much_sooner("never", "slow", 4_096, 1.0), False),
        (much_sooner("quick", "never", 4_096, 1.0), False),
    ],
)
def test_judgements(judge, holds):
    table = Measurements(
        [
            Row(name, column, number)
            for name, (exponent, polls) in {
                "slow": (0.9, 5_000),
                "quick": (0.1, 50),
                "never": (None, None),
            }.items()
            for column, number in ((GROWTH, exponent), ("4,096 pages", polls))
        ]
    )
    assert judge(table).holds == holds


def test_who_never_gets_there_is_told():
    table = Measurements(
        [
            Row("quick", "64 pages", 50),
            Row("never", "64 pages", None),
            Row("never", GROWTH, None),
        ]
    )
    seen = much_sooner("quick", "never", 64, 100.0)(table).seen
    assert seen == "64 pages: quick 50, never never, 0 times as fast"
    assert grows_with_pages("never")(table).seen == "never: pages to the power of -"
