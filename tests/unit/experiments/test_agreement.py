"""How near numbers are to printed ones."""

import pytest

from pollwise.experiments.agreement import comparisons, counts
from pollwise.experiments.experiment import Experiment, Measurements, Row
from pollwise.experiments.printed import Printed

PRINTED = Printed("100.0", 100.0, 0.1, "table 1", "A", "t=10", line=7)


def experiment(**further) -> Experiment:
    return Experiment(
        title="",
        source="",
        play=lambda effort: Measurements([]),
        published={("a", "x"): PRINTED},
        **further,
    )


@pytest.mark.parametrize(
    ("value", "stderr", "nearness"),
    [
        (100.1, None, "2 standard errors"),
        (100.2, None, "1 %"),
        (103.0, 1.5, "2 standard errors"),
        (102.4, 0.1, "2.5 %"),
        (103.0, 0.1, "beyond 2.5 %"),
        (97.0, 0.1, "beyond 2.5 %"),
        (None, None, "beyond 2.5 %"),
    ],
)
def test_nearness(value, stderr, nearness):
    measured = Measurements([Row("a", "x", value, stderr, PRINTED), Row("b", "x", 1.0)])
    (compared,) = comparisons(experiment(), measured, trials=100)
    assert compared.nearness == nearness
    assert compared.reason == ("not found" if nearness == "beyond 2.5 %" else "")
    assert counts([compared])[nearness] == 1


def test_the_paper_has_errors_too():
    """1,000 trials of theirs scatter as 1,000 of ours: the error is the root of two times ours."""
    row = Row("a", "x", 102.5, 1.0)
    assert experiment().joint_error(row, trials=1000) == 1.0
    joint = experiment(printed_trials=1000).joint_error(row, trials=1000)
    assert joint == pytest.approx(2**0.5)
    assert experiment(printed_trials=1000).joint_error(row, trials=10) == pytest.approx(1.01**0.5)


def test_reasons_by_row_or_by_place():
    told = experiment(reasons={"a": "the row", ("a", "y"): "the place"})
    assert told.reason(Row("a", "x", 1.0)) == "the row"
    assert told.reason(Row("a", "y", 1.0)) == "the place"
    assert told.reason(Row("b", "y", 1.0)) == "not found"
