"""What people see of `pollwise reproduce`."""

from types import SimpleNamespace

import pytest

from pollwise.console import experiments
from pollwise.experiments.experiment import Experiment, Measurements
from pollwise.experiments.reproduction import Reproduction


@pytest.mark.parametrize(("trials", "told"), [(1, "1 trial,"), (1_000, "1,000 trials,")])
def test_trials_are_counted(capsys, monkeypatch, trials, told):
    monkeypatch.setattr(experiments, "told_agreement", lambda summary: "agrees")
    one = SimpleNamespace(title="A table", source="Section 2")
    experiments.print_experiments({"x": one}, {"x": {"trials": trials, "seconds": 2.0}})
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    ("trials", "seconds", "told"),
    [(1_000, 0.0, "1,000 trials, shared with an item above:"), (1, 0.0, "1 trial, 0 s:")],
)
def test_an_item_that_shares_its_trials_is_not_said_to_take_no_time(
    capsys, monkeypatch, trials, seconds, told
):
    monkeypatch.setattr(experiments, "told_agreement", lambda summary: "agrees")
    one = SimpleNamespace(title="A table", source="Section 2")
    experiments.print_experiments({"x": one}, {"x": {"trials": trials, "seconds": seconds}})
    assert told in capsys.readouterr().out


@pytest.mark.parametrize("trials", [3, 1_000])
def test_few_trials_are_said_to_prove_nothing(capsys, trials):
    experiment = Experiment(
        title="A table", source="Section 2", trials=1_000, play=lambda effort: Measurements([])
    )
    result = Reproduction("x", experiment, Measurements([]), [], [], trials, 1.0, 1, None)
    experiments.print_reproduction(result)
    assert ("3 trials prove nothing" in capsys.readouterr().out) is (trials == 3)
