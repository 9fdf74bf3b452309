"""What benchmarks/plan.py tells of forecasts, by pages whose changes are known to be Poisson."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from tests.unit.simulation.poisson_pages import PoissonPages

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def plan(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield import_module("plan")
    for name in ("plan", "worlds", "results"):
        sys.modules.pop(name)


@pytest.mark.parametrize("aim", ["freshness", "delay", "detection"])
def test_what_is_told_of_other_budgets_comes_true(plan, aim):
    found = plan.outlook(PoissonPages(100, 300.0), "poisson", aim, 0.5)
    assert np.allclose(found.told_factors, found.came_factors, rtol=0.15)
    more = found.came_factors if aim == "detection" else found.came_factors[::-1]
    assert sorted(more) == list(more), "a larger budget brings more"
    row = plan.table([found]).splitlines()[2]
    assert row.startswith(f"| poisson | {plan.OBJECTIVES[aim]} | {found.told:.3g} / ")
