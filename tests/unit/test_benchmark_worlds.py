"""What benchmarks/worlds.py refuses."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def worlds(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield import_module("worlds")
    for name in ("worlds", "results"):
        sys.modules.pop(name)


def test_no_other_tree_is_measured_than_the_one_that_is_named(
    worlds, monkeypatch, tmp_path, capsys
):
    missing = str(tmp_path / "none" / "src")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{missing}")
    monkeypatch.setattr(sys, "argv", ["worlds.py", str(tmp_path), "--runs", str(tmp_path / "runs")])
    with pytest.raises(SystemExit, match="2"):
        worlds.main()
    assert f"PYTHONPATH names {missing}, which does not exist" in capsys.readouterr().err
