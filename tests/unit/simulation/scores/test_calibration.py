"""What a policy predicts is held against what happens."""

import math

import numpy as np
import pytest
from tests.unit.simulation.poisson_pages import PoissonPages

from pollwise.errors import InputError
from pollwise.metrics import Changes, Polls
from pollwise.objectives import Detection, Freshness
from pollwise.policies.catalogue import WATCHING
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.simulation.loop import BudgetPerPage, simulate
from pollwise.simulation.scores.calibration import (
    CalibrationReport,
    Decile,
    _reliability,
    calibration_of,
    waits,
)
from pollwise.simulation.scores.witness import WITNESSED, Witness
from pollwise.simulation.worlds.zipf import Zipf
from pollwise.types import Budget

DAY = 86_400.0


@pytest.fixture(scope="module")
def reports() -> list[CalibrationReport]:
    policy = WATCHING.choose("bayes-index")
    return [
        calibration_of(
            PoissonPages(150, 400.0, seed),
            policy,
            objective=Freshness(),
            budget=BudgetPerPage(0.2 / DAY),
            warm_up=0.15,
        )
        for seed in (4, 5, 6, 7)
    ]


@pytest.fixture(scope="module")
def report(reports: list[CalibrationReport]) -> CalibrationReport:
    return reports[0]


def test_poisson_pages_are_predicted_well(report):
    assert report.worst < 0.04
    assert len(report.deciles) == 10
    assert [d.predicted for d in report.deciles] == sorted(d.predicted for d in report.deciles)


@pytest.mark.parametrize("figure", ["found_per_day", "freshness", "delay"])
def test_intervals_cover_in_a_poisson_world(report, figure):
    coverage = report.coverage(figure)
    assert coverage.forecasts == 48
    assert 0.6 <= coverage.covered <= 0.98
    assert abs(coverage.bias) < 0.15


@pytest.mark.parametrize("figure", ["found_per_day", "freshness", "delay"])
def test_intervals_cover_in_several_poisson_worlds(reports, figure):
    # Of four worlds one may well be unlucky for all of its weeks: the pages are the same.
    covered = np.mean([report.coverage(figure).covered for report in reports])
    assert 0.68 <= covered <= 0.92


def test_the_document(report):
    document = report.document()
    assert document["forecasts"] == 48
    assert document["horizon_days"] == 7.0
    assert document["coverage"].keys() == {"found_per_day", "freshness", "delay"}
    polls = sum(decile["polls"] for decile in document["deciles"])
    assert polls == pytest.approx(0.85 * 400 * 0.2 * 150, rel=0.01)


def test_a_history_too_short_for_a_forecast():
    policy = WATCHING.choose("bayes-index")
    report = calibration_of(
        PoissonPages(20, 1.5),
        policy,
        objective=Detection(),
        budget=BudgetPerPage(5.0 / DAY),
        warm_up=0.1,
    )
    assert len(report.deciles) == 10
    assert (report.periods, report.coverage("delay").forecasts) == ((), 0)
    assert math.isnan(report.document()["coverage"]["freshness"])


def test_policies_that_predict_nothing():
    policy = WATCHING.choose("uniform")
    with pytest.raises(InputError, match="uniform predicts no chances"):
        calibration_of(
            PoissonPages(5, 10.0),
            policy,
            objective=Detection(),
            budget=Budget(1 / DAY),
            warm_up=0.1,
        )


def test_deciles_and_brier_score():
    polls = np.zeros(41, WITNESSED)
    polls["time"] = np.arange(41)
    polls["chance"][:40] = np.repeat([0.1, 0.9], 20)
    polls["changed"][:40] = np.arange(40) % 10 == 0
    polls["chance"][40] = math.nan
    deciles, brier = _reliability(polls, begin=0.0)
    assert deciles[0] == Decile(pytest.approx(0.1), 0.25, 4)
    assert sum(decile.polls for decile in deciles) == 40
    assert brier == pytest.approx((0.1**2 * 18 + 0.9**2 * 2 + 0.9**2 * 18 + 0.1**2 * 2) / 40)
    assert _reliability(polls, begin=99.0) == ((), pytest.approx(math.nan, nan_ok=True))


def test_changes_wait_for_the_next_poll_or_the_end():
    changes = Changes.of(
        [np.array([1.0, 5.0, 6.0]), np.array([2.0])], np.zeros(2), np.array([math.inf, 7.0])
    )
    polls = Polls(np.array([0, 0]), np.array([3.0, 5.0]))
    assert waits(changes, polls, end=10.0).tolist() == [2.0, 0.0, 4.0, 5.0]


def test_a_witness_polls_as_its_policy_does():
    world = Zipf(pages=30, alpha=0.5, beta=1.0)
    plain = simulate(BayesianIndex(), world, polls=500, seed=3)
    witness = Witness(BayesianIndex(), most=400)
    watched = simulate(witness, world, polls=500, seed=3)
    assert np.array_equal(plain.page_ids, watched.page_ids)
    assert len(witness.polls) == 400
    assert np.array_equal(witness.polls["page"], plain.page_ids[:400])
    assert np.array_equal(witness.polls["time"], plain.times[:400])
    for poll in witness.polls:
        own = world.changes.of_page(poll["page"])
        assert poll["changed"] == bool(((own > poll["seen_at"]) & (own <= poll["time"])).any())
        assert 0 <= poll["chance"] <= 1


def test_pauses_leave_the_polls_as_they_are():
    world = Zipf(pages=10, alpha=0.5, beta=1.0)
    seen: list[float] = []
    paused = simulate(
        BayesianIndex(), world, polls=50, seed=3, pauses=[3.5, 20.0, 999.0], on_pause=seen.append
    )
    assert seen == [3.5, 20.0]
    assert np.array_equal(
        paused.page_ids, simulate(BayesianIndex(), world, polls=50, seed=3).page_ids
    )
