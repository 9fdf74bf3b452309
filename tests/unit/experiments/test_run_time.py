"""The regular regression of GPOKS against that on the values themselves; what is said of times."""

import numpy as np
import pytest

from pollwise.experiments import run_time as module
from pollwise.experiments.experiment import Effort, Measurements, Row
from pollwise.experiments.run_time import regressed_root, run_time, same_results, saves_time
from pollwise.rates.gaussian_process import SquaredExponential, low_rank_basis, regress


@pytest.mark.parametrize("count", [1, 7, 150])
def test_the_regression_on_weights_is_that_on_values(count):
    rng = np.random.default_rng(count)
    points = np.arange(1, 101) / 100
    at, rewards = rng.integers(0, 100, count), rng.integers(0, 2, count).astype(float)
    mean, covariance = regress(SquaredExponential(), 0.1, points[at], rewards, points)
    basis = low_rank_basis(SquaredExponential(), points)
    root = regressed_root(basis, at, rewards)
    known, right = root[:, :-1], root[:, -1]
    assert np.array_equal(known, np.triu(known))
    assert basis @ np.linalg.solve(known, right) == pytest.approx(mean, abs=1e-9)
    draws = basis @ np.linalg.inv(known)
    assert draws @ draws.T == pytest.approx(covariance, abs=1e-9)


def test_both_versions_are_run_side_by_side(monkeypatch):
    """Where REGULAR stops there are no times, and as far as it goes the results are the same."""
    monkeypatch.setattr(module, "_COLUMNS", (10, 60, 80))
    monkeypatch.setattr(module, "_REGULAR", 60)
    said: list[str] = []
    table = run_time(Effort(trials=2, cores=1, report=said.append))
    assert said == ["1 of 2 trials", "2 of 2 trials"]
    for row in ("REGULAR-GPOKS", "difference"):
        assert table.cell(row, "t=60").value is not None
        assert table.cell(row, "t=80").value is None
    assert 0.0 < table.value("FAST-GPOKS", "t=10") < table.value("FAST-GPOKS", "t=80")
    assert same_results(table).holds


def measured(polls: float, known: float, fast: float, regular: float) -> Measurements:
    return Measurements(
        [
            Row("FAST-GPOKS", "t=100", 1.0),
            Row("FAST-GPOKS", "t=1000", fast),
            Row("REGULAR-GPOKS", "t=100", 1.0),
            Row("REGULAR-GPOKS", "t=1000", regular),
            Row("difference", "t=1000", regular - fast, 0.3),
            Row("difference of results", "polls, t=1000", polls),
            Row("difference of results", "means and deviations, t=1000", known),
        ]
    )


@pytest.mark.parametrize(
    ("polls", "known", "holds"),
    [(0, 1e-12, True), (1, 1e-12, False), (0, 1e-7, False), (0, np.nan, False)],
)
def test_the_same_results_are_the_same_polls_and_beliefs(polls, known, holds):
    verdict = same_results(measured(polls, known, 10.0, 100.0))
    assert verdict.holds is bool(holds)
    assert verdict.seen.startswith(f"{polls} polls differ")


@pytest.mark.parametrize(
    ("fast", "regular", "holds"),
    [(10.0, 100.0, True), (10.0, 10.0, False), (100.0, 20.0, False), (10.0, 10.4, False)],
)
def test_time_is_saved_if_regular_is_slower_and_ever_more_so(fast, regular, holds):
    """Both took a second for 100 polls; the difference of 0.4 is less than two errors."""
    verdict = saves_time(measured(0, 0.0, fast, regular))
    assert verdict.holds is holds
    assert f"{regular / fast:.1f} times as long as FAST" in verdict.seen
