"""What people see of results."""

from pollwise.console.simulations import SIMULATION_COLUMNS, print_results


def test_results_have_standard_errors_where_there_are_several_seeds(capsys):
    row = {"policy": "uniform", "polls": 1e4, "found_per_poll": 0.5}
    row |= {"tail_found_per_poll": 0.25, "of_ideal": float("nan")}
    several = row | {"policy": "fixed", "stderr": {"found_per_poll": 0.0125, "polls": 0.0}}
    print_results([row, several], SIMULATION_COLUMNS, "500 pages, zipf, one poll a step")
    out = capsys.readouterr().out
    assert "500 pages, zipf, one poll a step" in out
    assert "10,000" in out
    assert "0.5000 ± 0.0125" in out
