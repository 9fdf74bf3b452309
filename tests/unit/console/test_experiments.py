"""What people see of `pollwise reproduce`."""

from types import SimpleNamespace

import pytest

from pollwise.console import experiments


@pytest.mark.parametrize(("trials", "told"), [(1, "1 trial,"), (1_000, "1,000 trials,")])
def test_trials_are_counted(capsys, monkeypatch, trials, told):
    monkeypatch.setattr(experiments, "told_agreement", lambda summary: "agrees")
    one = SimpleNamespace(title="A table", source="Section 2")
    experiments.print_experiments({"x": one}, {"x": {"trials": trials, "seconds": 2.0}})
    assert told in capsys.readouterr().out
