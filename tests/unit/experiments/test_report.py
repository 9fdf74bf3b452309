"""One page of all experiments, and what is recorded of the last one."""

import json

import pytest

from pollwise.errors import InputError
from pollwise.experiments import report, reproduction
from pollwise.experiments.experiment import Claim, Experiment, Measurements, Row, Verdict
from pollwise.experiments.printed import Printed
from pollwise.experiments.registry import experiments
from pollwise.experiments.report import recorded, reproduce_all, told_agreement

PRINTED = Printed("2.0", 2.0, 0.1, "table 1", "A", "X", line=14)


def experiment(value: float, **further) -> Experiment:
    return Experiment(
        title="Much of it",
        source="Nobody 2000, table 1",
        play=lambda effort: Measurements([Row("a", "x", value, 0.01), Row("b", "y", 0.5)]),
        published={("a", "x"): PRINTED},
        **further,
    )


CLAIM = Claim(
    quote="much of it", line=3, test="It is counted.", judge=lambda each: Verdict(False, "little")
)
TWO = {
    "near": experiment(2.0),
    "far": experiment(3.0, claims=[CLAIM], reasons={"a": "a misprint"}, remark="Odd."),
}


@pytest.fixture
def two(monkeypatch):
    monkeypatch.setattr(report, "experiments", lambda: TWO)
    monkeypatch.setattr(reproduction, "experiment_named", TWO.__getitem__)


def test_the_page(two, tmp_path):
    told: list[str] = []
    done = reproduce_all(tmp_path, trials=3, report=told.append)
    assert [each.name for each in done] == ["near", "far"]
    text = (tmp_path / "reproduction.md").read_text(encoding="utf-8")
    assert "2 of 2 items" in text
    assert "1 2 standard errors, 0 1 %, 0 2.5 %, 1 beyond 2.5 %." in text
    assert "| a | 3.000 ± 0.010 [2.0] |  |" in text
    assert "“much of it” (line 3) | It is counted. | **does not hold**: little |" in text
    assert "- a, x: 3.000 ± 0.010 [2.0]: a misprint" in text
    assert text.endswith("\n\nOdd.\n")
    assert "![far](far.png)" in text
    assert (tmp_path / "far.png").exists()


def test_what_is_done_stays_when_a_run_is_ended(two, tmp_path, monkeypatch):
    def interrupted(effort):
        raise KeyboardInterrupt

    ended = TWO | {"far": Experiment(title="", source="", play=interrupted)}
    monkeypatch.setattr(reproduction, "experiment_named", ended.__getitem__)
    with pytest.raises(KeyboardInterrupt):
        reproduce_all(tmp_path, trials=2, report=print)
    assert "1 of 2 items" in (tmp_path / "reproduction.md").read_text(encoding="utf-8")
    summaries = json.loads((tmp_path / "reproduction.json").read_text(encoding="utf-8"))
    assert [each["name"] for each in summaries] == ["near"]


def test_a_folder_that_is_not_there(two, tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        reproduce_all(tmp_path / "nowhere", trials=2, report=print)


def test_in_a_few_words(two, tmp_path):
    near, far = (
        told_agreement(each.summary()) for each in reproduce_all(tmp_path, trials=2, report=print)
    )
    assert near == "1 of 1 numbers within 2.5 % or two standard errors"
    assert far == "0 of 1 claims hold; 0 of 1 numbers within 2.5 % or two standard errors"
    assert told_agreement({"claims": 0, "numbers": {}}) == "the paper says nothing of it"


def test_the_record_is_of_all_experiments_as_they_are():
    """If this fails: `pollwise reproduce --all`, and put its reproduction.json into the package."""
    expected = {
        name: (each.trials, len(each.claims), 0 if each.copied else len(each.published))
        for name, each in experiments().items()
    }
    assert {
        name: (each["trials"], each["claims"], sum(each["numbers"].values()))
        for name, each in recorded().items()
    } == expected
