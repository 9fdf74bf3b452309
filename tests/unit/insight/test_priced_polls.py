"""Shares of a budget: each group is polled as if it had its share alone."""

from weakref import WeakSet

import numpy as np
import pytest

from pollwise.insight.forecaster import Forecaster
from pollwise.insight.priced_polls import PricedPolls
from pollwise.objectives import Detection, Freshness

RATES = np.geomspace(1e-6, 1e-2, 9)


def forecaster(pages, **options):
    rng = np.random.default_rng(3)
    beliefs = rng.dirichlet(np.ones(len(RATES)), 12)[pages]
    costs = np.linspace(1.0, 2.0, 12)[pages]
    return Forecaster(Freshness(), RATES, beliefs, 1.0, costs, **options), costs


def test_each_group_is_polled_as_if_alone():
    groups = np.array([0, 1, 2] * 4)
    shares = np.array([0.2, 0.5, 0.3])
    together, costs = forecaster(np.arange(12), groups=(groups, shares))
    frequencies = together.frequencies(0.01)
    assert costs @ frequencies == pytest.approx(0.01, rel=1e-3)
    for group, share in enumerate(shares):
        own = np.flatnonzero(groups == group)
        alone, _ = forecaster(own)
        assert frequencies[own] == pytest.approx(alone.frequencies(0.01 * share))


def test_what_a_group_cannot_use_goes_to_the_others():
    groups = np.array([0] * 6 + [1] * 6)

    def intervals(budget):
        return np.where(groups == 0, 10_000.0, 0.0), np.full(12, np.inf)

    together, costs = forecaster(
        np.arange(12), groups=(groups, np.array([0.9, 0.1])), intervals=intervals
    )
    frequencies = together.frequencies(0.01)
    assert frequencies[:6] == pytest.approx(1e-4)
    assert costs @ frequencies == pytest.approx(0.01, rel=1e-3)


def test_pages_to_which_nothing_is_left_are_hardly_polled():
    groups = np.array([0] * 6 + [1] * 6)
    together, costs = forecaster(np.arange(12), groups=(groups, np.array([0.0, 1.0])))
    frequencies = together.frequencies(0.01)
    assert costs[:6] @ frequencies[:6] < 1e-7


def test_no_more_is_held_of_a_group_than_its_latest_prices(monkeypatch):
    held, most = WeakSet(), []
    under = PricedPolls.under

    def noted(polls, *budgets):
        most.append(len(held))
        made = under(polls, *budgets)
        held.add(made)
        return made

    def intervals(budget):
        return 8e3 / 2.0 ** np.arange(12), np.full(12, np.inf)

    monkeypatch.setattr(PricedPolls, "under", noted)
    together, _ = forecaster(
        np.arange(12), groups=(np.arange(12), np.ones(12) / 12), intervals=intervals
    )
    together.frequencies(0.01)
    assert len(most) > 12  # what some groups leave is shared out again
    assert max(most) < 12


def test_with_groups_that_share_nothing_all_is_as_without():
    belief = np.eye(2)
    alike = Forecaster(Detection(), [1.0, 2.0], belief, groups=(np.array([0, 0]), np.ones(1)))
    assert alike.frequencies(3.0) == pytest.approx([1.0, 2.0])
