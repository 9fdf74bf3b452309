"""Hosts that take only so many polls: their pages have a price of their own."""

import numpy as np
import pytest
from scipy.optimize import minimize

from pollwise.insight.forecaster import Forecaster
from pollwise.objectives import Freshness

RATES = np.array([1e-4, 3e-4, 1e-3, 2e-3, 5e-3, 1e-2])
WEIGHTS = np.array([1.0, 3.0, 1.0, 2.0, 1.0, 0.5])
HOSTS = np.array([0, 0, 0, 1, 1, 1])


def forecaster(takes, **options):
    hosts = HOSTS, np.array(takes)
    return Forecaster(Freshness(), RATES, np.eye(6), WEIGHTS, hosts=hosts, **options)


def fresh(frequencies):
    """The freshness of pages whose rates are known, by weight."""
    expected = RATES / np.maximum(frequencies, 1e-12)
    return float(WEIGHTS @ (-np.expm1(-expected) / expected)) / WEIGHTS.sum()


def best(budget, takes):
    """What an optimiser that knows of no prices finds."""
    constraints = [{"type": "ineq", "fun": lambda x: budget - np.exp(x).sum()}] + [
        {"type": "ineq", "fun": lambda x, host=host: takes[host] - np.exp(x)[host == HOSTS].sum()}
        for host in (0, 1)
    ]
    start = np.log(np.full(6, min(budget, *takes) / 6))
    found = minimize(
        lambda x: -fresh(np.exp(x)),
        start,
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-13},
    )
    assert found.success
    return np.exp(found.x)


@pytest.mark.parametrize(
    ("budget", "takes"),
    [(6.0, (10.0, 1.0)), (6.0, (1.0, 10.0)), (3.0, (10.0, 10.0)), (6.0, (2.0, 3.0))],
)
def test_it_is_what_an_optimiser_finds(budget, takes):
    budget, takes = budget * 1e-3, np.array(takes) * 1e-3
    frequencies = forecaster(takes).frequencies(budget)
    given = np.bincount(HOSTS, frequencies)
    assert np.all(given <= takes * (1 + 1e-6))
    assert given.sum() == pytest.approx(min(budget, takes.sum()), rel=1e-4)
    expected = best(budget, takes)
    assert fresh(frequencies) == pytest.approx(fresh(expected), abs=1e-4)
    assert given == pytest.approx(np.bincount(HOSTS, expected), rel=0.02)


def test_hosts_that_take_everything_change_nothing():
    plain = Forecaster(Freshness(), RATES, np.eye(6), WEIGHTS).frequencies(5e-3)
    assert forecaster([1.0, np.inf]).frequencies(5e-3).tolist() == plain.tolist()


def test_a_larger_budget_than_hosts_take_brings_nothing():
    known = forecaster([1e-3, 2e-3])
    enough, more = known.expect(3.1e-3), known.expect(30e-3)
    assert more.polls_per_day == pytest.approx(3e-3 * 86_400)
    assert more.freshness == pytest.approx(enough.freshness, abs=1e-6)
    assert more.marginal_freshness == pytest.approx(0.0, abs=1e-9)


def test_what_bounds_demand_gives_way_to_what_the_host_takes():
    def intervals(budget):
        return np.zeros(6), np.full(6, 100.0)

    frequencies = forecaster([1e-3, 1.0], intervals=intervals).frequencies(0.1)
    assert frequencies[:3] == pytest.approx(1e-3 / 3)
    assert frequencies.sum() == pytest.approx(0.1, rel=1e-3)


def test_polls_and_not_costs_count_for_a_host():
    costs = np.array([1.0, 2.0, 4.0, 1.0, 1.0, 1.0])
    known = Forecaster(
        Freshness(), RATES, np.eye(6), WEIGHTS, costs, hosts=(HOSTS, np.array([1e-3, 1e-3]))
    )
    assert np.bincount(HOSTS, known.frequencies(1.0)) == pytest.approx([1e-3, 1e-3])


def test_groups_with_shares_keep_within_what_hosts_take():
    groups = np.array([0, 1, 0, 1, 0, 1]), np.array([0.5, 0.5])
    known = forecaster([1e-3, 1.0], groups=groups)
    frequencies = known.frequencies(8e-3)
    assert frequencies[:3].sum() <= 1e-3 * (1 + 1e-9)
    assert frequencies.sum() == pytest.approx(8e-3, rel=1e-3)


def test_pages_of_no_weight_are_polled_as_far_as_hosts_take():
    hosts = HOSTS, np.array([3e-3, 1.0])
    known = Forecaster(Freshness(), RATES, np.eye(6), 0.0, hosts=hosts)
    assert known.frequencies(0.6) == pytest.approx([1e-3] * 3 + [0.1] * 3)


@pytest.mark.parametrize("groups", [None, (np.array([0, 1, 0, 1, 0, 1]), np.array([0.3, 0.7]))])
def test_prices_and_bounds_of_a_budget_are_worked_out_once(groups):
    asked = []

    def hope(round_time):
        asked.append(round_time)
        return np.ones((1, 6))

    def intervals(budget):
        return np.zeros(6), np.full(6, 1e6)

    takes = np.array([1e-3, 1e-2])
    hosted = forecaster(takes, hope=hope, intervals=intervals, groups=groups)
    given = np.bincount(HOSTS, hosted.frequencies(6e-3))
    assert given[0] == pytest.approx(1e-3)  # so pages were priced by hosts, too
    assert len(asked) == (1 if groups is None else 3)  # of each group, and of all pages
