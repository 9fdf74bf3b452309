"""Experiments by their names, and the files and documents they become."""

import json
from pathlib import Path

import pytest

from pollwise.errors import InputError
from pollwise.experiments import reproduction, run_time
from pollwise.experiments.drawing import draw
from pollwise.experiments.experiment import (
    Claim,
    Curve,
    Effort,
    Experiment,
    Measurements,
    Row,
    Verdict,
)
from pollwise.experiments.printed import Printed
from pollwise.experiments.registry import experiment_named, experiments
from pollwise.experiments.reproduction import reproduce

PNG = b"\x89PNG\r\n\x1a\n"


def half(effort):
    effort.report("half done")
    return Measurements([Row("a", "x", 1.0, 0.1), Row("b", "x", None)], levels={"t": effort.trials})


def judge(measured):
    trials = measured.levels["t"]
    return Verdict(trials == 5, f"{trials} of 5")


QUICK = Experiment(
    title="Two rows",
    source="Nobody 2000, table 1",
    claims=[Claim(quote="1 is less than 2", line=12, test="It is counted.", judge=judge)],
    trials=5,
    play=half,
    published={("a", "x"): Printed("1.1", 1.1, 0.1, "table 1", "A", "X", line=14)},
)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(reproduction, "experiment_named", lambda name: QUICK)


def test_a_document(quick, tmp_path):
    told: list[str] = []
    result = reproduce("quick", trials=None, folder=tmp_path, report=told.append)
    assert told == ["half done"]
    document = json.loads(json.dumps(result.document()))
    first, second = document["results"]
    assert first == {
        "row": "a", "column": "x", "value": 1.0, "stderr": 0.1, "published": 1.1,
        "printed": {"text": "1.1", "item": "table 1", "row": "A", "column": "X", "line": 14},
        "nearness": "2 standard errors", "reason": None,
    }  # fmt: skip
    assert second["published"] is None
    assert document["findings"] == [
        {"quote": "1 is less than 2", "line": 12, "test": "It is counted.", "holds": True,
         "seen": "5 of 5"}
    ]  # fmt: skip
    assert (document["claims"], document["claims_hold"]) == (1, 1)
    assert document["numbers"]["2 standard errors"] == 1
    assert (document["trials"], document["seeds"]) == (5, [0, 4])
    assert Path(document["figure"]).read_bytes().startswith(PNG)


def test_fewer_trials_and_no_figure(quick, tmp_path):
    result = reproduce("quick", trials=2, folder=None, report=print)
    ((_, verdict),) = result.findings
    assert verdict == Verdict(False, "2 of 5")
    assert result.figure is None
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named_before_the_work(quick, tmp_path):
    with pytest.raises(InputError, match=r"nowhere/quick\.png cannot be written"):
        reproduce("quick", trials=2, folder=tmp_path / "nowhere", report=pytest.fail)
    (tmp_path / "quick.png").mkdir()
    with pytest.raises(InputError, match=r"quick\.png cannot be written"):
        reproduce("quick", trials=2, folder=tmp_path, report=pytest.fail)
    for trials in (1, 100_001):
        with pytest.raises(InputError, match=f"trials={trials} must be"):
            reproduce("quick", trials=trials, folder=None, report=pytest.fail)


def test_without_matplotlib_it_says_so_before_the_work(quick, tmp_path, monkeypatch):
    monkeypatch.setattr("pollwise.extras.find_spec", lambda name: None)
    with pytest.raises(InputError, match="matplotlib"):
        reproduce("quick", trials=2, folder=tmp_path, report=pytest.fail)
    assert reproduce("quick", trials=2, folder=None, report=print).figure is None


def test_curves_are_drawn(tmp_path):
    curve = Curve("a", (10.0, 100.0), (0.1, 0.5), (0.01, 0.02))
    draw(
        tmp_path / "c.png",
        "T",
        Measurements([], [curve, Curve("b", (10.0,), (0.2,))], {"best": 1.0}),
    )
    assert (tmp_path / "c.png").read_bytes().startswith(PNG)


def test_every_experiment_says_what_it_is():
    for name, experiment in experiments().items():
        assert experiment_named(name) is experiment
        assert experiment.trials >= 1
        for text in (experiment.title, experiment.source):
            assert text.strip()
            assert "\n" not in text
        _, *kind, number = name.split("-")
        assert f"{', '.join(kind)} {number}" in experiment.source.lower()


PRINTED = [name for name, each in experiments().items() if each.published]


@pytest.mark.parametrize("name", [each for each in PRINTED if not each.startswith("robot-")])
def test_every_printed_value_stands_beside_one_of_ours(name, monkeypatch):
    """Those of the robot, whose trials take long: see `test_robot_traversals`."""
    # The time of REGULAR grows with the fourth power of its polls.
    monkeypatch.setattr(run_time, "_REGULAR", 100)
    experiment = experiment_named(name)
    measured = experiment.measure(Effort(trials=1, cores=1, report=lambda text: None))
    published = {(row.row, row.column): row.published for row in measured.rows}
    assert experiment.published.items() <= published.items()


def test_names_that_are_none():
    with pytest.raises(InputError, match="no such experiment: 'lakg-figure-1'; choose one of"):
        experiment_named("lakg-figure-1")
