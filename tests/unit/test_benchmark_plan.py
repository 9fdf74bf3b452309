"""What benchmarks/plan.py tells of forecasts, by pages whose changes are known to be Poisson."""

import numpy as np
import pytest
from tests.unit.simulation.poisson_pages import PoissonPages


@pytest.fixture
def plan(import_benchmark):
    return import_benchmark("plan")


@pytest.mark.parametrize("aim", ["freshness", "delay", "detection"])
def test_what_is_told_of_other_budgets_comes_true(plan, aim):
    found = plan.outlook(PoissonPages(100, 300.0), "poisson", aim, 0.5)
    assert np.allclose(found.told_factors, found.came_factors, rtol=0.15)
    more = found.came_factors if aim == "detection" else found.came_factors[::-1]
    assert sorted(more) == list(more), "a larger budget brings more"
    row = plan.table([found]).splitlines()[2]
    assert row.startswith(f"| poisson | {plan.OBJECTIVES[aim]} | {found.told:.3g} / ")
